//! One snapshot after the other.

use super::queue::Queue;
use super::snapshot::Snapshot;
use crate::history::{Kind, Violation, violation};
use crate::servers::{Redis, Wire};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Looks at the queues of some names for as long as a run lasts, on a connection of its own.
#[derive(Debug)]
pub(super) struct Watcher {
    shared: Arc<Shared>,
    thread: JoinHandle<Vec<Violation>>,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    compared: AtomicUsize,
}

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(3);
/// Fewer comparisons than this prove nothing.
const ENOUGH: usize = 1000;

impl Watcher {
    pub(super) fn start(server: &Redis, names: &[String]) -> io::Result<Self> {
        let (shared, wire, names) = (Arc::<Shared>::default(), Wire::open(server.port())?, names.to_vec());
        let thread = thread::spawn({
            let shared = shared.clone();
            move || watch(&shared, wire, &names)
        });
        Ok(Self { shared, thread })
    }

    pub(super) fn compared(&self) -> usize {
        self.shared.compared.load(Ordering::Acquire)
    }

    /// One that has failed sees no more: that is told at the end.
    pub(super) fn lacks(&self) -> Option<String> {
        let compared = self.compared();
        let is_too_few = compared < ENOUGH && !self.thread.is_finished();
        is_too_few.then(|| format!("only {compared} pairs of snapshots could be compared"))
    }

    pub(super) fn end(self) -> Vec<Violation> {
        self.shared.stop.store(true, Ordering::Release);
        let mut found = self.thread.join().expect("the watcher does not panic");
        let compared = self.shared.compared.load(Ordering::Acquire);
        if found.is_empty() && compared < ENOUGH {
            found
                .push(violation(Kind::Void, format!("only {compared} pairs of snapshots could be compared")));
        }
        found
    }
}

fn watch(shared: &Shared, mut wire: Wire, names: &[String]) -> Vec<Violation> {
    let mut queues: Vec<(&String, Queue)> = names.iter().map(|n| (n, Queue::default())).collect();
    let mut found = Vec::new();
    while !shared.stop.load(Ordering::Acquire) {
        for (name, queue) in &mut queues {
            match Snapshot::take(&mut wire, name) {
                Ok(now) => found.extend(queue.follow(name, now)),
                Err(e) => {
                    return vec![violation(Kind::Void, format!("the queues could not be watched: {e}"))];
                }
            }
        }
        shared.compared.store(queues.iter().map(|(_, q)| q.compared).sum(), Ordering::Release);
        thread::sleep(PAUSE);
    }
    found
}
