//! Several locks that are given back together, of which one store takes back none.

use cotter::backend::{
    Acquired, Backend, Claim, Connect, Extension, Grant, Host, Info, Leave, Release, Until, async_trait,
};
use cotter::{Client, Error, ErrorKind, Lease, ManualClock, Result, memory, multi};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

const S: Duration = Duration::from_secs(1);

/// A store in memory. It may deny every release.
#[derive(Debug, Clone)]
struct Store {
    inner: memory::Store,
    denies: bool,
}

#[derive(Debug)]
struct Connection {
    inner: Arc<dyn Backend>,
    denies: bool,
}

#[async_trait]
impl Connect for Store {
    async fn connect(&self, host: &Host) -> Result<Arc<dyn Backend>> {
        Ok(Arc::new(Connection { inner: self.inner.connect(host).await?, denies: self.denies }))
    }
}

#[async_trait]
impl Backend for Connection {
    fn info(&self) -> &Info {
        self.inner.info()
    }

    async fn acquire(&self, claim: &Claim, until: Until) -> Result<Acquired> {
        self.inner.acquire(claim, until).await
    }

    async fn extend(&self, grants: &[&Grant], ttl: Duration) -> Vec<Result<Extension>> {
        self.inner.extend(grants, ttl).await
    }

    async fn release(&self, claim: &Claim, leave: Leave) -> Result<Release> {
        if self.denies {
            return Err(Error::new(ErrorKind::Denied, "this user may not release"));
        }
        self.inner.release(claim, leave).await
    }

    async fn close(&self) {
        self.inner.close().await;
    }
}

/// Whichever of the two comes first in the order of the locks.
#[test]
fn a_loss_does_not_hide_behind_another_error() {
    for denying in 0..2 {
        let (clock, stores) = (ManualClock::new(), [memory::Store::new(), memory::Store::new()]);
        let connect = |n: usize| {
            let store = Store { inner: stores[n].clone(), denies: n == denying };
            let ttl = if n == denying { 3600 * S } else { 2 * S };
            let client = Client::builder().backend(store).clock(clock.clone());
            client.lease(Lease::fixed(ttl)).connect().wait().unwrap()
        };
        let clients = [connect(0), connect(1)];
        let mutexes = clients.each_ref().map(|client| client.mutex("a"));
        let guard = multi(&mutexes).lock().wait().unwrap();
        clock.advance(3 * S);
        let finish = thread::spawn(move || guard.finish().wait());
        // What is denied is asked once more.
        while !finish.is_finished() {
            clock.advance(S / 10);
            thread::sleep(S / 1000);
        }
        let error = finish.join().unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Lost, "{error}");
    }
}
