//! A cluster of three whose members are stopped and killed, one at a time, so that a majority is left.

use crate::Deck;
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
    plan: Plan,
    what: Deck<What>,
    /// Whether it is done to the leader.
    to_leader: Deck<bool>,
    next: Instant,
    /// The member that stands still, and until when.
    stopped: Option<(usize, Instant)>,
    planned: usize,
    confirmed: Vec<What>,
}

/// What is done to a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Stop,
    Kill,
}

/// The faults of the members.
#[derive(Debug)]
struct Plan {
    /// So many milliseconds after the last one went on.
    every: Range<u64>,
    /// The length of a stop, in milliseconds.
    stopped_for: Range<u64>,
    /// This part of what is done is done to the leader.
    leader: f64,
    /// How often of so many times. A run that is over has met each of them.
    what: &'static [(What, usize)],
}

/// Stopped from less than an election takes to longer than a lease of 2 s.
const ANY: Plan = Plan {
    every: 1_500..3_000,
    stopped_for: 300..4_000,
    leader: 0.6,
    what: &[(What::Stop, 3), (What::Kill, 1)],
};
/// Each for two leases of 2 s.
const LEADERS: Plan =
    Plan { every: 1_500..3_000, stopped_for: 4_000..4_001, leader: 1.0, what: &[(What::Stop, 1)] };

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
        Self::by(ANY, cluster, seed)
    }

    /// Begins with a cluster of three, of which only leaders are stopped, each for two leases of 2 s. They go on as if nothing
    /// had happened, while the others have chosen another leader, ended leases, and given locks to somebody else.
    pub fn pausing_leaders(cluster: C, seed: u64) -> Self {
        Self::by(LEADERS, cluster, seed)
    }

    fn by(plan: Plan, cluster: C, seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let next = Instant::now() + millis(&plan.every, &mut rng);
        let (what, to_leader) = (Deck::of(plan.what), Deck::with_share(plan.leader));
        Self { cluster, rng, plan, what, to_leader, next, stopped: None, planned: 0, confirmed: Vec::new() }
    }

    /// The URL of the cluster.
    pub fn url(&self, options: &str) -> String {
        self.cluster.url(options)
    }

    fn go_on(&mut self) {
        if let Some((member, _)) = self.stopped.take() {
            self.cluster.go_on(member);
            self.confirmed.push(What::Stop);
        }
    }
}

impl<C: Cluster> Trouble for Members<C> {
    fn step(&mut self) -> io::Result<()> {
        let now = Instant::now();
        if self.stopped.is_some_and(|(_, until)| now >= until) {
            self.go_on();
            self.next = now + millis(&self.plan.every, &mut self.rng);
        }
        if self.stopped.is_some() || now < self.next {
            return Ok(());
        }
        let member = match self.to_leader.draw(&mut self.rng) {
            true => self.cluster.leader(),
            false => self.rng.random_range(0..3),
        };
        self.planned += 1;
        match self.what.draw(&mut self.rng) {
            What::Kill => {
                self.cluster.crash(member);
                self.confirmed.push(What::Kill);
                self.next = Instant::now() + millis(&self.plan.every, &mut self.rng);
            }
            What::Stop => {
                self.cluster.stop(member);
                self.stopped = Some((member, now + millis(&self.plan.stopped_for, &mut self.rng)));
            }
        }
        Ok(())
    }

    /// Who stands still goes on when the run is over, and counts then.
    fn so_far(&self) -> (usize, usize) {
        (self.planned - usize::from(self.stopped.is_some()), self.confirmed.len())
    }

    fn lacks(&self) -> Option<String> {
        let missing = self.plan.what.iter().find(|(what, _)| !self.confirmed.contains(what));
        missing.map(|(what, _)| format!("members: nothing of the kind {what:?} has happened"))
    }

    fn end(&mut self) -> io::Result<Outcome> {
        self.go_on();
        Ok(Outcome { planned: self.planned, confirmed: self.confirmed.len(), ..Outcome::default() })
    }
}

fn millis(range: &Range<u64>, rng: &mut StdRng) -> Duration {
    Duration::from_millis(rng.random_range(range.clone()))
}
