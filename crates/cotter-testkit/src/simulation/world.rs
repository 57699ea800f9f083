//! Members, their clocks, and the links to them.

use super::member::Server;
use super::plan::{PROCESSES, Plan};
use super::served::Running;
use crate::faulty::{Counts, Faults, Faulty};
use cotter::backend::Connect;
use cotter::clock::{Clock, Moment, Sleep};
use cotter::{Builder, Client, Result, quorum};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::time::Instant;

/// All runs begin at the same time of day.
pub(super) const EPOCH: Duration = Duration::from_secs(1_800_000_000);

/// The members, and a link to each of them from each process.
pub(super) struct World {
    servers: Servers,
    links: Vec<Vec<Faults>>,
}

/// Deletes the lock with a name.
pub(super) type Delete = Arc<dyn Fn(&str) + Send + Sync>;

enum Servers {
    Members(Vec<Server>),
    Server(Box<dyn Running>),
}

impl World {
    pub(super) async fn of(plan: &Plan) -> Result<Self> {
        let link = |process: usize, member: usize| {
            let faults = Faults::seeded(plan.seed ^ ((process as u64 + 1) << 32 | member as u64) << 8);
            faults.set(plan.links);
            faults
        };
        let links = (0..PROCESSES).map(|p| (0..plan.members).map(|m| link(p, m)).collect());
        let links: Vec<Vec<Faults>> = links.collect();
        let origin = Instant::now();
        let clocks = plan.ahead.iter().map(|ahead| MemberClock::new(origin, *ahead));
        let servers = match plan.store.served() {
            None => {
                let mut members = Vec::new();
                for clock in clocks {
                    members.push(Server::start(clock).await?);
                }
                Servers::Members(members)
            }
            Some(server) => {
                let clock = clocks.into_iter().next().expect("a server has a clock");
                Servers::Server(server.start(clock, links.iter().map(|links| links[0].clone()).collect()))
            }
        };
        Ok(Self { servers, links })
    }

    /// A member forgets everything, or a server does not.
    pub(super) async fn restart(&self, member: usize) -> Result<()> {
        match &self.servers {
            Servers::Members(members) => members[member].restart().await,
            Servers::Server(server) => {
                server.restart();
                Ok(())
            }
        }
    }

    /// The server, if the locks are in one.
    pub(super) fn server(&self) -> Option<&dyn Running> {
        match &self.servers {
            Servers::Members(_) => None,
            Servers::Server(server) => Some(&**server),
        }
    }

    /// A client of one process.
    pub(super) async fn client(&self, process: usize, builder: Builder) -> Result<Client> {
        match &self.servers {
            Servers::Members(members) => {
                let links = members.iter().zip(&self.links[process]);
                over(links.map(|(member, faults)| Faulty::new(member.clone(), faults)).collect(), builder)
                    .await
            }
            Servers::Server(server) => server.client(process, builder).await,
        }
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
