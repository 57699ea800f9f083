//! A Redis server in trouble, and its queues watched meanwhile; a cluster whose members are in trouble.
//!
//! | file | concept |
//! |---|---|
//! | `snapshot` | the holders and waiters of a server at one instant |
//! | `watcher` | one snapshot after the other, and whether what happened in between was in order |
//! | `queue` | the rules of order, for two snapshots of one name |
//! | `members` | the members of a cluster of etcd or ZooKeeper, stopped and killed |
//! | `sessions` | a database whose sessions are ended, and which crashes |
//! | `outages` | what is done to the server itself, and whether it was |

mod members;
mod outages;
mod queue;
mod sessions;
mod snapshot;
mod watcher;

pub use members::{Cluster, Members};
pub use sessions::Sessions;

use crate::processes::{Outcome, Trouble};
use crate::servers::{FaultRates, Proxy, Redis};
use outages::Outages;
use std::io;
use watcher::Watcher;

/// Everything at once: faults on the way, and a server that kills subscriptions, evicts, and runs out of memory.
#[derive(Debug)]
pub struct Storm<'a> {
    proxy: &'a Proxy,
    outages: Outages,
    watcher: Option<Watcher>,
}

impl<'a> Storm<'a> {
    /// Begins. The names are those whose queues are watched, and whose holders are evicted.
    ///
    /// # Errors
    /// The server does not answer.
    pub fn begin(
        server: &Redis,
        proxy: &'a Proxy,
        rates: FaultRates,
        names: &[String],
        seed: u64,
    ) -> io::Result<Self> {
        proxy.set_fault_rates(rates, seed);
        let outages = Outages::plan(server, names, seed)?;
        Ok(Self { proxy, outages, watcher: Some(Watcher::start(server, names)?) })
    }

    /// How many pairs of snapshots were compared, for people.
    pub fn compared(&self) -> usize {
        self.watcher.as_ref().map_or(0, Watcher::compared)
    }
}

impl Trouble for Storm<'_> {
    fn step(&mut self) -> io::Result<()> {
        self.outages.step()
    }

    fn so_far(&self) -> (usize, usize) {
        let (outages, packets) = (self.outages.so_far(), self.proxy.sampled_faults());
        (outages.0 + packets.0 as usize, outages.1 + packets.1 as usize)
    }

    fn lacks(&self) -> Option<String> {
        self.outages.lacks().or_else(|| self.watcher.as_ref()?.lacks())
    }

    fn end(&mut self) -> io::Result<Outcome> {
        self.proxy.set_fault_rates(FaultRates::default(), 0);
        let (planned, confirmed) = self.so_far();
        self.outages.end()?;
        let violations = self.watcher.take().map(Watcher::end).unwrap_or_default();
        Ok(Outcome { planned, confirmed, violations, ..Outcome::default() })
    }
}
