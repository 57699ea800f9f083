//! A Redis store without the engine, for tests that play both sides of the protocol; and a client that keeps nothing to itself.

use crate::servers::Redis;
use cotter::backend::{Backend, Claim, ClaimId, Connect, Grant, Mode, Until};
use cotter::redis::Store;
use cotter::{Client, Clock, Lease, Moment, Name, Sleep};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// The clock of this process's runtime.
#[derive(Debug)]
struct TestClock(Instant);

impl Clock for TestClock {
    fn now(&self) -> Moment {
        Moment::from_nanos(self.0.elapsed().as_nanos() as u64)
    }

    fn wall(&self) -> SystemTime {
        SystemTime::now()
    }

    fn sleep_until(&self, until: Moment) -> Sleep {
        let left = until.since(self.now());
        Box::pin(tokio::time::sleep(left.min(Duration::from_secs(1_000_000))))
    }
}

/// A clock that starts now.
pub fn clock() -> Arc<dyn Clock> {
    Arc::new(TestClock(Instant::now()))
}

/// A connection without an engine, like a process of its own.
///
/// # Panics
/// When the server does not answer.
pub async fn backend(url: &str) -> Arc<dyn Backend> {
    Store::from_url(url).unwrap().connect(&clock()).await.unwrap()
}

/// A claim of its own on a name.
pub fn claim(name: &str, ttl: Duration) -> Claim {
    let name = Name::new(name).unwrap();
    Claim { name, id: ClaimId::random(), mode: Mode::Exclusive, ttl, turns: 1, label: "host/1 (test)".into() }
}

/// Takes a lock that is free.
///
/// # Panics
/// When it is not.
pub async fn take(backend: &Arc<dyn Backend>, claim: &Claim) -> Grant {
    backend.acquire(claim, Until::Now).await.unwrap().expect("it is free")
}

/// A client whose acquisitions stand in the server's queue one by one.
///
/// # Panics
/// When the server does not answer.
pub async fn client(url: &str, ttl: Duration) -> Client {
    Client::builder().url(url).lease(Lease::renewed(ttl)).local_turns(false).connect().await.unwrap()
}

/// How many wait for a name in the server.
///
/// # Panics
/// When the server does not answer.
pub fn queued(server: &Redis, name: &str) -> usize {
    server.command(&["ZCARD", &format!("cotter:{{{name}}}:q")]).parse().unwrap()
}

/// Until it holds, or the test fails.
///
/// # Panics
/// When it does not hold for 20 s.
pub async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < end, "in vain: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
