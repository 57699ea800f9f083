//! Names that stay locked after the release, in a store that cannot do that by itself.

use cotter::backend::{
    Acquired, Backend, Claim, Connect, Extension, Grant, Host, Info, Leave, Release, Until, async_trait,
};
use cotter::{Client, Lease, ManualClock, Released, Result, memory};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

const S: Duration = Duration::from_secs(1);

/// Locks in memory, whose connections keep no name for anybody who has released it.
#[derive(Debug, Clone)]
struct Store {
    inner: memory::Store,
    /// Whether a grant lives with its holder instead of with a lease.
    is_bound: bool,
}

#[derive(Debug)]
struct Connection {
    inner: Arc<dyn Backend>,
    info: Info,
    is_bound: bool,
}

#[async_trait]
impl Connect for Store {
    async fn connect(&self, host: &Host) -> Result<Arc<dyn Backend>> {
        let inner = self.inner.connect(host).await?;
        let mut info = inner.info().clone();
        let abilities = &mut info.capabilities;
        (abilities.keep_for, abilities.immediate, abilities.leases) = (false, false, !self.is_bound);
        Ok(Arc::new(Connection { inner, info, is_bound: self.is_bound }))
    }
}

const YEAR: Duration = Duration::from_secs(366 * 24 * 3600);
/// Holders end with the test.
const FOR_LONG: Duration = Duration::from_secs(24 * 3600);

#[async_trait]
impl Backend for Connection {
    fn info(&self) -> &Info {
        &self.info
    }

    async fn acquire(&self, claim: &Claim, until: Until) -> Result<Acquired> {
        let mut claim = claim.clone();
        if self.is_bound {
            claim.ttl = FOR_LONG;
        }
        let mut acquired = self.inner.acquire(&claim, until).await?;
        if let (Acquired::Granted(grant), true) = (&mut acquired, self.is_bound) {
            grant.ttl = None;
        }
        Ok(acquired)
    }

    async fn extend(&self, grants: &[&Grant], ttl: Duration) -> Vec<Result<Extension>> {
        assert!(ttl <= YEAR, "longer than what stores are asked for");
        let asked = if self.is_bound { FOR_LONG } else { ttl };
        let answers = self.inner.extend(grants, asked).await.into_iter();
        let unbound = |answer| match answer {
            Ok(Extension::Extended { as_of, .. }) if self.is_bound => Ok(Extension::extended(as_of, None)),
            answer => answer,
        };
        answers.map(unbound).collect()
    }

    async fn release(&self, claim: &Claim, leave: Leave) -> Result<Release> {
        assert_eq!(leave.keep_for, None, "it cannot do that");
        self.inner.release(claim, leave).await
    }

    async fn close(&self) {
        self.inner.close().await;
    }
}

impl Store {
    fn each() -> [Self; 2] {
        [false, true].map(|is_bound| Self { inner: memory::Store::new(), is_bound })
    }

    fn clients(&self, clock: &ManualClock) -> [Client; 2] {
        let client =
            || Client::builder().backend(self.clone()).clock(clock.clone()).connect().wait().unwrap();
        [client(), client()]
    }
}

fn is_free(client: &Client) -> bool {
    client.mutex("a").try_lock().wait().unwrap().is_some()
}

/// Demands that the name is locked for a minute, and no longer.
fn is_kept_for_a_minute(clock: &ManualClock, other: &Client, what: &str) {
    for second in 1..60 {
        clock.advance(S);
        assert!(!is_free(other), "{what}: free after {second} s");
    }
    clock.advance(S);
    assert!(is_free(other), "{what}: not for longer");
}

/// The lease limits the work of its holder, which has ended.
#[test]
fn a_name_is_kept_for_longer_than_the_lease_of_its_holder() {
    for store in Store::each() {
        for lease in [Lease::renewed(S * 9), Lease::renewed(S * 9).max_hold(S * 2), Lease::fixed(S * 2)] {
            let clock = ManualClock::new();
            let [one, other] = store.clients(&clock);
            let guard = one.mutex("a").lease(lease).lock().wait().unwrap();
            assert_eq!(guard.keep_for(S * 60).wait().unwrap(), Released::Yes);
            is_kept_for_a_minute(&clock, &other, &format!("{lease:?}, bound: {}", store.is_bound));
        }
    }
}

#[test]
fn a_name_is_kept_if_the_call_is_dropped_while_it_asks_the_store() {
    for store in Store::each() {
        let clock = ManualClock::new();
        let [one, other] = store.clients(&clock);
        let guard = one.mutex("a").lock().wait().unwrap();
        {
            let mut keeping = pin!(guard.keep_for(S * 60));
            let _ = keeping.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        }
        is_kept_for_a_minute(&clock, &other, "polled once");
    }
}

#[test]
fn a_client_that_is_closed_keeps_no_name_and_says_nothing_about_it() {
    for store in Store::each() {
        let client = || Client::builder().backend(store.clone()).connect().wait().unwrap();
        let (one, other) = (client(), client());
        let guard = one.mutex("a").lock().wait().unwrap();
        assert_eq!(guard.keep_for(Duration::MAX).wait().unwrap(), Released::Yes);
        assert!(!is_free(&other));
        one.close(S * 10).wait().expect("every release was answered");
        assert!(is_free(&other));
    }
}
