//! Many failovers, and a counter that is read and written in two steps by whoever holds the lock.

use super::Watched;
use cotter::Client;
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::resource::Resource;
use cotter_testkit::timing::{Stopwatch, eventually};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const TIMES: usize = 20;
const CLIENTS: u64 = 6;
const TTL: Duration = Duration::from_secs(2);
/// What one failover may take: the sentinels wait for twice their `failover-timeout` between two, and a lease may have to end.
const BACK: Duration = Duration::from_secs(12);

#[derive(Clone)]
struct Counting {
    resource: Arc<Resource>,
    written: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
}

impl Counting {
    async fn run(self, client: Client, process: u64) {
        while !self.stop.load(Ordering::SeqCst) {
            let Ok(Some(guard)) = client.mutex("counter").try_lock_for(10 * TTL).await else {
                tokio::time::sleep(TTL / 20).await;
                continue;
            };
            let token = guard.token().into();
            if let Ok(Some(value)) = self.resource.read(token, process) {
                tokio::time::sleep(TTL / 200).await;
                let accepted = guard.is_valid() && self.resource.write(token, value + 1).unwrap();
                self.written.fetch_add(u64::from(accepted), Ordering::SeqCst);
            }
            let _ = guard.finish().await;
        }
    }

    async fn goes_on(&self, what: &str) {
        let (before, start) = (self.written.load(Ordering::SeqCst), Stopwatch::start());
        eventually(what, || self.written.load(Ordering::SeqCst) > before + 2 * CLIENTS).await;
        start.at_most(BACK, what);
    }
}

/// With a replica that has each grant, no write is lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn a_counter_is_exact_over_many_failovers() {
    let (mut watched, folder) = (Watched::start(), tempfile::tempdir().unwrap());
    let resource = Arc::new(Resource::open(&folder.path().join("counter"), true).unwrap());
    let counting = Counting { resource: resource.clone(), written: Arc::default(), stop: Arc::default() };
    let mut tasks = Vec::new();
    for process in 0..CLIENTS {
        let client = watched.connect_for(TTL, "replicas=1&timeout=1s").await;
        tasks.push(tokio::spawn(counting.clone().run(client, process)));
    }
    for time in 0..TIMES {
        let old = watched.master();
        match time % 3 {
            0 => watched.servers[old].stop(),
            1 => watched.servers[old].kill(),
            _ => eventually("they obey", || watched.sentinels.fail_over()).await,
        }
        watched.replaced(old).await;
        counting.goes_on(&format!("failover {time}")).await;
        match time % 3 {
            0 => watched.servers[old].go_on(),
            1 => {
                watched.servers[old].restart();
                super::allow(&watched.servers[old]);
            }
            _ => {}
        }
        watched.follows(old).await;
    }
    counting.stop.store(true, Ordering::SeqCst);
    for task in tasks {
        task.await.unwrap();
    }
    let state = resource.state().unwrap();
    demand(state.lost() == 0, Kind::LostWrite, format!("{state:?}"));
}
