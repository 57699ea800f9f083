//! Members, their clocks, and the links to them.

use super::plan::{PROCESSES, Plan};
use crate::faulty::{Counts, Faults, Faulty};
use async_trait::async_trait;
use cotter::backend::{Backend, Connect, Host};
use cotter::clock::{Clock, Moment, Sleep};
use cotter::{Builder, Client, Result, memory, quorum};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::time::Instant;

/// All runs begin at the same time of day.
pub(super) const EPOCH: Duration = Duration::from_secs(1_800_000_000);

/// The members, and a link to each of them from each process.
pub(super) struct World {
    members: Vec<Member>,
    links: Vec<Vec<Faults>>,
}

impl World {
    pub(super) fn of(plan: &Plan) -> Self {
        let origin = Instant::now();
        let members = plan.ahead.iter().map(|ahead| Member {
            store: memory::Store::new(),
            clock: Arc::new(MemberClock { origin, ahead: *ahead }),
        });
        let link = |process: usize, member: usize| {
            let faults = Faults::seeded(plan.seed ^ ((process as u64 + 1) << 32 | member as u64) << 8);
            faults.set(plan.links);
            faults
        };
        let links = (0..PROCESSES).map(|p| (0..plan.members).map(|m| link(p, m)).collect());
        Self { members: members.collect(), links: links.collect() }
    }

    /// A client of one process.
    pub(super) async fn client(&self, process: usize, builder: Builder) -> Result<Client> {
        let links = self.members.iter().zip(&self.links[process]);
        let mut seats: Vec<_> = links.map(|(member, faults)| Faulty::new(member.clone(), faults)).collect();
        let builder = match seats.len() {
            1 => builder.backend(seats.remove(0)),
            _ => builder.backend(quorum::Store::new(seats)?),
        };
        builder.in_this_runtime().connect().await
    }

    /// The links of one process, or of all, to a member.
    pub(super) fn links(&self, member: usize, process: Option<usize>) -> impl Iterator<Item = &Faults> {
        let processes = (0..PROCESSES).filter(move |p| process.is_none_or(|only| only == *p));
        processes.map(move |p| &self.links[p][member])
    }

    pub(super) fn all_links(&self) -> impl Iterator<Item = &Faults> {
        self.links.iter().flatten()
    }

    /// What went wrong on all links.
    pub(super) fn counts(&self) -> Counts {
        let mut sum = Counts::default();
        for counts in self.all_links().map(Faults::counts) {
            sum.delayed += counts.delayed;
            sum.lost_replies += counts.lost_replies;
            sum.late_requests += counts.late_requests;
            sum.refused += counts.refused;
        }
        sum
    }
}

/// A store in memory with a clock of its own.
#[derive(Debug, Clone)]
struct Member {
    store: memory::Store,
    clock: Arc<MemberClock>,
}

#[async_trait]
impl Connect for Member {
    async fn connect(&self, _: &Host) -> Result<Arc<dyn Backend>> {
        self.store.connect(&Host::without_engine(self.clock.clone())).await
    }
}

/// The runtime's time, and a time of day that is ahead of it.
#[derive(Debug)]
struct MemberClock {
    origin: Instant,
    ahead: Duration,
}

/// The origin is not zero, so that a moment shortly before the start can be told from none.
const OFFSET: Duration = Duration::from_secs(1);

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
