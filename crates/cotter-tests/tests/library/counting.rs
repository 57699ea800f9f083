//! A counter that is read and written in two steps by whoever holds the lock.

use cotter::Client;
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::resource::Resource;
use cotter_testkit::timing::{Stopwatch, eventually};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::task::JoinHandle;

/// Clients that count. The resource accepts no token that is behind another one.
pub(crate) struct Counting {
    counter: Counter,
    tasks: Vec<JoinHandle<()>>,
}

#[derive(Clone)]
struct Counter {
    resource: Arc<Resource>,
    written: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    ttl: Duration,
}

impl Counting {
    pub(crate) fn open(folder: &Path, ttl: Duration) -> Self {
        let resource = Arc::new(Resource::open(&folder.join("counter"), true).unwrap());
        let counter = Counter { resource, written: Arc::default(), stop: Arc::default(), ttl };
        Self { counter, tasks: Vec::new() }
    }

    /// One more client, whose leases are as long as was said.
    pub(crate) fn join(&mut self, client: Client) {
        let number = self.tasks.len() as u64;
        self.tasks.push(tokio::spawn(self.counter.clone().run(client, number)));
    }

    /// Within this time, each has had the lock about twice.
    pub(crate) async fn goes_on(&self, what: &str, limit: Duration) {
        let written = || self.counter.written.load(Ordering::SeqCst);
        let (before, start, more) = (written(), Stopwatch::start(), 2 * self.tasks.len() as u64);
        eventually(what, || written() > before + more).await;
        start.at_most(limit, what);
    }

    /// Ends them. No write was lost.
    pub(crate) async fn end(self) {
        self.counter.stop.store(true, Ordering::SeqCst);
        for task in self.tasks {
            task.await.unwrap();
        }
        let state = self.counter.resource.state().unwrap();
        demand(state.lost() == 0, Kind::LostWrite, format!("{state:?}"));
    }
}

impl Counter {
    async fn run(self, client: Client, process: u64) {
        while !self.stop.load(Ordering::SeqCst) {
            let Ok(Some(guard)) = client.mutex("counter").try_lock_for(10 * self.ttl).await else {
                tokio::time::sleep(self.ttl / 20).await;
                continue;
            };
            let token = guard.token().into();
            if let Ok(Some(value)) = self.resource.read(token, process) {
                tokio::time::sleep(self.ttl / 200).await;
                let accepted = guard.is_valid() && self.resource.write(token, value + 1).unwrap();
                self.written.fetch_add(u64::from(accepted), Ordering::SeqCst);
            }
            let _ = guard.finish().await;
        }
    }
}
