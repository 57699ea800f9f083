//! A cluster of three whose members are stopped and killed, one at a time, so that a majority is left.

use crate::processes::{Outcome, Trouble};
use crate::servers::{Etcd, ZooKeeper};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::io;
use std::ops::Range;
use std::time::{Duration, Instant};

/// The plan, and how much of it came true.
#[derive(Debug)]
pub struct Members<C> {
    cluster: C,
    rng: StdRng,
    next: Instant,
    /// The member that stands still, and until when.
    stopped: Option<(usize, Instant)>,
    planned: usize,
    confirmed: usize,
}

const EVERY: Range<u64> = 1_500..3_000;
/// From less than an election takes to longer than a lease of 2 s.
const STOPPED_FOR: Range<u64> = 300..4_000;
/// This part of what is done is done to the leader.
const LEADER: f64 = 0.6;
const KILLS: f64 = 0.25;

/// A cluster of three.
pub trait Cluster {
    /// Its URL, with these options.
    fn url(&self, options: &str) -> String;
    /// The number of the member that leads.
    fn leader(&self) -> usize;
    /// Stops a member as it is.
    fn stop(&self, member: usize);
    /// Lets it go on.
    fn go_on(&self, member: usize);
    /// Kills a member, and starts it again.
    fn crash(&mut self, member: usize);
}

/// Both have methods of these names.
macro_rules! cluster {
    ($server:ty) => {
        impl Cluster for $server {
            fn url(&self, options: &str) -> String {
                <$server>::url(self, options)
            }
            fn leader(&self) -> usize {
                <$server>::leader(self)
            }
            fn stop(&self, member: usize) {
                <$server>::stop(self, member);
            }
            fn go_on(&self, member: usize) {
                <$server>::go_on(self, member);
            }
            fn crash(&mut self, member: usize) {
                self.kill(member);
                self.restart(member);
            }
        }
    };
}

cluster!(Etcd);
cluster!(ZooKeeper);

impl<C: Cluster> Members<C> {
    /// Begins with a cluster of three.
    pub fn begin(cluster: C, seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let next = Instant::now() + millis(EVERY, &mut rng);
        Self { cluster, rng, next, stopped: None, planned: 0, confirmed: 0 }
    }

    /// The URL of the cluster.
    pub fn url(&self, options: &str) -> String {
        self.cluster.url(options)
    }

    fn go_on(&mut self) {
        if let Some((member, _)) = self.stopped.take() {
            self.cluster.go_on(member);
            self.confirmed += 1;
        }
    }
}

impl<C: Cluster> Trouble for Members<C> {
    fn step(&mut self) -> io::Result<()> {
        let now = Instant::now();
        if self.stopped.is_some_and(|(_, until)| now >= until) {
            self.go_on();
            self.next = now + millis(EVERY, &mut self.rng);
        }
        if self.stopped.is_some() || now < self.next {
            return Ok(());
        }
        let member = match self.rng.random_bool(LEADER) {
            true => self.cluster.leader(),
            false => self.rng.random_range(0..3),
        };
        self.planned += 1;
        if self.rng.random_bool(KILLS) {
            self.cluster.crash(member);
            self.confirmed += 1;
            self.next = Instant::now() + millis(EVERY, &mut self.rng);
        } else {
            self.cluster.stop(member);
            self.stopped = Some((member, now + millis(STOPPED_FOR, &mut self.rng)));
        }
        Ok(())
    }

    fn confirmed(&self) -> usize {
        self.confirmed
    }

    fn end(&mut self) -> io::Result<Outcome> {
        self.go_on();
        Ok(Outcome { planned: self.planned, confirmed: self.confirmed, violations: Vec::new() })
    }
}

fn millis(range: Range<u64>, rng: &mut StdRng) -> Duration {
    Duration::from_millis(rng.random_range(range))
}
