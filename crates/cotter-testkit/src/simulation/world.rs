//! Members, their clocks, and the links to them.

use super::member::Server;
use super::plan::{PROCESSES, Plan};
use crate::faulty::{Counts, Faults, Faulty};
use cotter::backend::Connect;
use cotter::clock::{Clock, Moment, Sleep};
use cotter::{Builder, Client, Result, quorum};
use std::time::{Duration, SystemTime};
use tokio::time::Instant;

/// All runs begin at the same time of day.
pub(super) const EPOCH: Duration = Duration::from_secs(1_800_000_000);

/// The members, and a link to each of them from each process.
pub(super) struct World {
    members: Vec<Server>,
    links: Vec<Vec<Faults>>,
}

impl World {
    pub(super) async fn of(plan: &Plan) -> Result<Self> {
        let (origin, mut members) = (Instant::now(), Vec::new());
        for ahead in &plan.ahead {
            members.push(Server::start(MemberClock::new(origin, *ahead)).await?);
        }
        let link = |process: usize, member: usize| {
            let faults = Faults::seeded(plan.seed ^ ((process as u64 + 1) << 32 | member as u64) << 8);
            faults.set(plan.links);
            faults
        };
        let links = (0..PROCESSES).map(|p| (0..plan.members).map(|m| link(p, m)).collect());
        Ok(Self { members, links: links.collect() })
    }

    /// A member forgets everything.
    pub(super) async fn restart(&self, member: usize) -> Result<()> {
        self.members[member].restart().await
    }

    /// A client of one process.
    pub(super) async fn client(&self, process: usize, builder: Builder) -> Result<Client> {
        let links = self.members.iter().zip(&self.links[process]);
        over(links.map(|(member, faults)| Faulty::new(member.clone(), faults)).collect(), builder).await
    }

    /// The links of one process, or of all, to a member.
    pub(super) fn links(&self, member: usize, process: Option<usize>) -> impl Iterator<Item = &Faults> {
        let processes = (0..PROCESSES).filter(move |p| process.is_none_or(|only| only == *p));
        processes.map(move |p| &self.links[p][member])
    }

    /// The links of one process to all members.
    pub(super) fn links_of(&self, process: usize) -> Vec<Faults> {
        self.links[process].clone()
    }

    pub(super) fn all_links(&self) -> impl Iterator<Item = &Faults> {
        self.links.iter().flatten()
    }

    /// The faults on all links.
    pub(super) fn counts(&self) -> Counts {
        self.all_links().map(Faults::counts).fold(Counts::default(), Counts::and)
    }
}

/// A client of these members. One of them is a store by itself, several are a quorum.
pub(super) async fn over<C: Connect>(mut members: Vec<C>, builder: Builder) -> Result<Client> {
    let builder = builder.in_this_runtime();
    match members.len() {
        1 => builder.connect_to(members.remove(0)).await,
        _ => builder.connect_to(quorum::Store::new(members)?).await,
    }
}

/// The runtime's time, and a time of day that is ahead of it.
#[derive(Debug)]
pub(super) struct MemberClock {
    origin: Instant,
    ahead: Duration,
}

/// The origin is not zero, so that a moment shortly before the start can be told from none.
const OFFSET: Duration = Duration::from_secs(1);

impl MemberClock {
    pub(super) fn new(origin: Instant, ahead: Duration) -> Self {
        Self { origin, ahead }
    }
}

impl Clock for MemberClock {
    fn now(&self) -> Moment {
        Moment::ZERO + OFFSET + self.origin.elapsed()
    }

    fn wall(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + EPOCH + self.origin.elapsed() + self.ahead
    }

    fn sleep_until(&self, until: Moment) -> Sleep {
        Box::pin(tokio::time::sleep(until.since(self.now()).min(Duration::from_secs(1_000_000))))
    }
}
