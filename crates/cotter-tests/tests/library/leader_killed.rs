//! Several clients that want one name, while the leader of their cluster is killed.

use cotter::Client;
use cotter_testkit::bare::client;
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::timing::Stopwatch;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Longer than it takes to choose a leader, so that no lock is lost.
const TTL: Duration = Duration::from_secs(12);
const CLIENTS: usize = 4;
const HOLDS: usize = 40;
const PATIENCE: Duration = Duration::from_secs(60);

/// What the clients of one URL have done.
#[derive(Clone, Default)]
pub(crate) struct Contended {
    is_held: Arc<AtomicBool>,
    holds: Arc<AtomicUsize>,
}

impl Contended {
    /// Completes when the leader is to be killed: some have held by then, and all want more.
    pub(crate) async fn until_under_way(&self) {
        while self.holds.load(Ordering::SeqCst) < CLIENTS * HOLDS / 4 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Each of the clients holds the name so many times, and never two of them at once.
    pub(crate) async fn go(self, url: String) {
        let mut clients = Vec::new();
        for _ in 0..CLIENTS {
            clients.push(tokio::spawn(self.clone().holds(client(&url, TTL).await)));
        }
        for client in clients {
            let done = tokio::time::timeout(PATIENCE, client).await;
            demand(done.is_ok(), Kind::StuckWaiter, format!("{url}: {:?} holds", self.holds));
            done.expect("demanded").unwrap();
        }
    }

    async fn holds(self, client: Client) {
        let mutex = client.mutex("contended");
        for _ in 0..HOLDS {
            let guard = mutex.lock().await.unwrap();
            demand(!self.is_held.swap(true, Ordering::SeqCst), Kind::Overlap, "two hold the name");
            tokio::time::sleep(Duration::from_millis(1)).await;
            demand(guard.is_valid(), Kind::NeedlessLoss, format!("lost: {:?}", guard.check()));
            self.is_held.store(false, Ordering::SeqCst);
            self.holds.fetch_add(1, Ordering::SeqCst);
            // It is repeated until the cluster answers; the next one waits for that.
            drop(guard);
        }
        let start = Stopwatch::start();
        client.close(PATIENCE).await.unwrap();
        start.at_most(PATIENCE / 4, "nothing holds up the close");
    }
}
