//! A member that can be restarted: it forgets everything, and votes again when all that it has forgotten is over.

use super::world::MemberClock;
use async_trait::async_trait;
use cotter::backend::{
    Acquired, Backend, Claim, Connect, Extension, Grant, Host, Info, Leave, Member, Release, Until, Vote,
    tokens,
};
use cotter::clock::{Clock, Moment};
use cotter::{Error, ErrorKind, Name, Note, Result, memory};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// The longest lease that it allows. The clocks of the members differ by less.
pub(super) const LONGEST_LEASE: Duration = Duration::from_millis(2_500);

/// A store in memory with a clock of its own.
#[derive(Debug, Clone)]
pub(super) struct Server {
    clock: Arc<MemberClock>,
    run: Arc<Mutex<Run>>,
}

/// The time from one start to the next.
#[derive(Debug, Clone)]
struct Run {
    store: Arc<dyn Backend>,
    votes_from: Moment,
    /// Where its counters begin, at least: those that were forgotten had not got as far.
    floor: u64,
}

impl Server {
    pub(super) async fn start(clock: MemberClock) -> Result<Self> {
        let clock = Arc::new(clock);
        let run = Run { store: empty(&clock).await?, votes_from: Moment::ZERO, floor: 0 };
        Ok(Self { clock, run: Arc::new(Mutex::new(run)) })
    }

    pub(super) async fn restart(&self) -> Result<()> {
        let votes_from = self.clock.now() + LONGEST_LEASE;
        let floor = micros(self.clock.wall() + LONGEST_LEASE) + tokens::STEP;
        let run = Run { store: empty(&self.clock).await?, votes_from, floor };
        *self.run.lock().unwrap_or_else(PoisonError::into_inner) = run;
        Ok(())
    }

    /// Its address leads to another server from now on.
    #[cfg(test)]
    fn leads_to(&self, other: &Self) {
        *self.run.lock().unwrap_or_else(PoisonError::into_inner) = other.run();
    }

    fn run(&self) -> Run {
        self.run.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

pub(super) fn micros(at: SystemTime) -> u64 {
    at.duration_since(SystemTime::UNIX_EPOCH).expect("it is later").as_micros() as u64
}

async fn empty(clock: &Arc<MemberClock>) -> Result<Arc<dyn Backend>> {
    memory::Store::new().connect(&Host::without_engine(clock.clone())).await
}

#[async_trait]
impl Connect for Server {
    async fn connect(&self, _: &Host) -> Result<Arc<dyn Backend>> {
        let mut info = self.run().store.info().clone();
        (info.capabilities.notes, info.capabilities.swap) = (false, false);
        Ok(Arc::new(Connection { server: self.clone(), info }))
    }
}

/// A connection outlives a restart, and finds nothing afterwards.
#[derive(Debug)]
struct Connection {
    server: Server,
    info: Info,
}

#[async_trait]
impl Backend for Connection {
    fn info(&self) -> &Info {
        &self.info
    }

    async fn acquire(&self, claim: &Claim, until: Until) -> Result<Acquired> {
        self.server.run().store.acquire(claim, until).await
    }

    async fn extend(&self, grants: &[&Grant], ttl: Duration) -> Vec<Result<Extension>> {
        self.server.run().store.extend(grants, ttl).await
    }

    async fn release(&self, claim: &Claim, leave: Leave) -> Result<Release> {
        self.server.run().store.release(claim, leave).await
    }

    async fn downgrade(&self, grant: &Grant) -> Result<Grant> {
        self.server.run().store.downgrade(grant).await
    }

    async fn adopt(&self, from: &Claim, to: &Claim) -> Result<Option<Grant>> {
        self.server.run().store.adopt(from, to).await
    }

    async fn time(&self) -> Result<Option<SystemTime>> {
        self.server.run().store.time().await
    }

    /// Other processes have the same server.
    async fn close(&self) {}

    fn member(&self) -> Option<&dyn Member> {
        Some(self)
    }
}

fn voter(run: &Run) -> &dyn Member {
    run.store.member().expect("memory is one")
}

#[async_trait]
impl Member for Connection {
    fn join(&self, members: usize) -> Result<()> {
        voter(&self.server.run()).join(members)
    }

    async fn take(&self, claim: &Claim, at_least: u64) -> Result<Vote> {
        match self.abstains().await? {
            Some(left) => Ok(Vote::Abstains(left)),
            None => {
                let run = self.server.run();
                voter(&run).take(claim, at_least.max(run.floor)).await
            }
        }
    }

    async fn raise(&self, grant: &Grant, at_least: u64) -> Result<Option<Grant>> {
        voter(&self.server.run()).raise(grant, at_least).await
    }

    fn freed(&self, name: &Name) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        voter(&self.server.run()).freed(name)
    }

    async fn dated(&self, _: &Name, _: &str) -> Result<Option<(Note, u64)>> {
        Err(no_notes())
    }

    async fn mend(&self, _: &Name, _: &str, _: &Note, _: u64) -> Result<()> {
        Err(no_notes())
    }

    async fn identity(&self) -> Result<Option<String>> {
        voter(&self.server.run()).identity().await
    }

    async fn abstains(&self) -> Result<Option<Duration>> {
        let left = self.server.run().votes_from.since(self.server.clock.now());
        Ok((!left.is_zero()).then_some(left))
    }
}

fn no_notes() -> Error {
    Error::new(ErrorKind::Unsupported, "the simulation has no notes")
}

#[cfg(test)]
mod tests {
    use super::super::world::over;
    use super::*;
    use cotter::{Client, Mode};
    use tokio::time::{Instant, sleep};

    /// Otherwise one of three servers is a majority.
    #[tokio::test(start_paused = true)]
    async fn an_address_that_leads_to_the_server_of_another_member_has_no_vote() {
        let (origin, mut servers) = (Instant::now(), Vec::new());
        for _ in 0..3 {
            servers.push(Server::start(MemberClock::new(origin, Duration::ZERO)).await.unwrap());
        }
        let client = over(servers.clone(), Client::builder()).await.unwrap();
        let name = Name::new("a").unwrap();
        let held = client.mutex("a").lock().await.unwrap();
        assert_eq!(held.votes().unwrap().given(), 3);
        held.finish().await.unwrap();
        let theirs = Claim::new(name, Mode::Exclusive, LONGEST_LEASE * 100);
        assert!(matches!(voter(&servers[1].run()).take(&theirs, 0).await, Ok(Vote::Granted(_))));
        let third = servers[2].run();
        servers[2].leads_to(&servers[0]);
        let granted = client.mutex("a").try_lock_for(LONGEST_LEASE).await;
        assert!(!matches!(granted, Ok(Some(_))), "{granted:?}");
        // The address is right again.
        *servers[2].run.lock().unwrap() = third;
        sleep(LONGEST_LEASE).await;
        client.mutex("a").lock().await.unwrap().finish().await.unwrap();
    }
}
