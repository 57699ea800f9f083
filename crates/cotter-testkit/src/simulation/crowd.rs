//! Many clients that want one name, over slow links.

use super::in_virtual_time;
use super::member::Server;
use super::world::MemberClock;
use crate::faulty::{self, Faults, Faulty};
use cotter::{Client, Result, quorum};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// The clients, and how slow their links are.
#[derive(Debug, Clone, Copy)]
pub struct Crowd {
    /// Decides how long each request takes.
    pub seed: u64,
    /// Independent clients, each of which takes the name again and again.
    pub clients: usize,
    /// The members of the quorum.
    pub members: usize,
    /// Each request takes up to so long.
    pub round_trip: Duration,
    /// So often the name is taken.
    pub wins: usize,
}

/// When the name was freed last, and how long it took each time until somebody had it again.
#[derive(Default)]
struct Log {
    freed: Option<Instant>,
    pauses: Vec<Duration>,
}

type Shared = Arc<Mutex<Log>>;

impl Crowd {
    /// For how long the name was free between two holders, in order of length.
    ///
    /// # Panics
    /// When a client does not get the name at all.
    #[must_use]
    pub fn pauses(self) -> Vec<Duration> {
        let mut pauses = in_virtual_time(self.seed, self.run()).expect("nothing fails here");
        pauses.sort_unstable();
        pauses
    }

    async fn run(self) -> Result<Vec<Duration>> {
        let (origin, log, mut servers) = (Instant::now(), Shared::default(), Vec::new());
        for _ in 0..self.members {
            servers.push(Server::start(MemberClock::new(origin, Duration::ZERO)).await?);
        }
        let mut tasks = JoinSet::new();
        for client in 0..self.clients {
            let link = |(member, server): (usize, &Server)| {
                let faults = Faults::seeded(self.seed ^ (client * self.members + member) as u64 ^ 1 << 40);
                faults.set(faulty::Plan { before: self.round_trip, ..faulty::Plan::default() });
                Faulty::new(server.clone(), &faults)
            };
            let store = quorum::Store::new(servers.iter().enumerate().map(link))?;
            let client = Client::builder().in_this_runtime().connect_to(store).await?;
            tasks.spawn(compete(client, log.clone(), self.wins));
        }
        while let Some(done) = tasks.join_next().await {
            done.expect("no client panics")?;
        }
        Ok(std::mem::take(&mut log.lock().unwrap_or_else(PoisonError::into_inner).pauses))
    }
}

async fn compete(client: Client, log: Shared, wins: usize) -> Result<()> {
    let log = || log.lock().unwrap_or_else(PoisonError::into_inner);
    while log().pauses.len() < wins {
        let guard = client.mutex("wanted").lock().await?;
        let now = Instant::now();
        {
            let mut log = log();
            let freed = log.freed.replace(now);
            log.pauses.extend(freed.map(|freed| now - freed));
        }
        let _ = guard.release().await?;
    }
    Ok(())
}
