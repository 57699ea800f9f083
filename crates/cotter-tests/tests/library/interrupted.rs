//! Waits in the queue of a store that fails now and then: what fails is forgotten once the store keeps the waiter again, however
//! long it then has to wait.

use cotter::backend::{
    Acquired, Backend, Claim, Connect, Extension, Grant, Host, Info, Leave, Release, Until, async_trait,
};
use cotter::clock::Clock;
use cotter::{Client, Error, ErrorKind, ManualClock, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;
use tokio::sync::watch;

/// What happens to those who wait.
#[derive(Debug, Clone, Copy)]
enum Fate {
    Interrupted,
    Served,
}

/// A store that has one lock, which is taken, and answers whatever else it is asked. Clones share it.
#[derive(Debug, Clone)]
struct Queue {
    fate: watch::Sender<Fate>,
    /// How many have entered it so far.
    entered: Arc<AtomicUsize>,
}

#[derive(Debug)]
struct Connection {
    queue: Queue,
    info: Info,
    clock: Arc<dyn Clock>,
}

#[async_trait]
impl Connect for Queue {
    async fn connect(&self, host: &Host) -> Result<Arc<dyn Backend>> {
        let mut info = Info::new("queue", "a queue");
        (info.capabilities.leases, info.capabilities.names) = (true, true);
        Ok(Arc::new(Connection { queue: self.clone(), info, clock: host.clock().clone() }))
    }
}

#[async_trait]
impl Backend for Connection {
    fn info(&self) -> &Info {
        &self.info
    }

    async fn acquire(&self, claim: &Claim, until: Until) -> Result<Acquired> {
        if !matches!(until, Until::Forever) {
            return Ok(Acquired::Busy);
        }
        let mut fate = self.queue.fate.subscribe();
        self.queue.entered.fetch_add(1, Ordering::SeqCst);
        let _ = fate.changed().await;
        match *fate.borrow() {
            Fate::Interrupted => Err(Error::new(ErrorKind::Unavailable, "the place is gone")),
            Fate::Served => {
                let mut grant = Grant::new(claim.clone(), 1, self.clock.now());
                grant.ttl = Some(claim.ttl);
                Ok(Acquired::Granted(grant))
            }
        }
    }

    async fn extend(&self, grants: &[&Grant], ttl: Duration) -> Vec<Result<Extension>> {
        grants.iter().map(|_| Ok(Extension::extended(self.clock.now(), Some(ttl)))).collect()
    }

    async fn release(&self, _: &Claim, _: Leave) -> Result<Release> {
        Ok(Release::Freed)
    }

    async fn close(&self) {}
}

impl Queue {
    fn new() -> Self {
        Self { fate: watch::Sender::new(Fate::Served), entered: Arc::default() }
    }

    fn client(&self, clock: &ManualClock) -> Client {
        Client::builder().clock(clock.clone()).connect_to(self.clone()).wait().unwrap()
    }

    fn entered(&self) -> usize {
        self.entered.load(Ordering::SeqCst)
    }

    /// Waits until somebody is in the queue, in real time.
    fn until_one_waits(&self) {
        while self.entered() == 0 {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Removes the one that waits from the queue, which it enters again.
    fn interrupt(&self, clock: &ManualClock) {
        let before = self.entered();
        self.fate.send_replace(Fate::Interrupted);
        clock.advance(Duration::from_secs(3));
        assert_eq!(self.entered(), before + 1, "nobody has come back");
    }
}

/// `lock()` gives up after 30 s in which the store does not answer. Two moments that lie further apart are not such a time.
#[test]
fn a_wait_outlives_interruptions_that_are_far_apart() {
    let (clock, queue) = (ManualClock::new(), Queue::new());
    let mutex = queue.client(&clock).mutex("a");
    let waiting = thread::spawn(move || mutex.lock().wait());
    queue.until_one_waits();
    for _ in 0..3 {
        queue.interrupt(&clock);
        clock.advance(Duration::from_secs(60));
    }
    queue.fate.send_replace(Fate::Served);
    waiting
        .join()
        .unwrap()
        .expect("the store has kept it in the queue all the time")
        .finish()
        .wait()
        .unwrap();
}

#[test]
fn a_wait_that_was_interrupted_and_is_over_says_busy() {
    let (clock, queue) = (ManualClock::new(), Queue::new());
    let mutex = queue.client(&clock).mutex("a");
    let waiting = thread::spawn(move || mutex.try_lock_for(Duration::from_secs(60)).wait());
    queue.until_one_waits();
    queue.interrupt(&clock);
    clock.advance(Duration::from_secs(60));
    let answer = waiting.join().unwrap();
    assert!(matches!(answer, Ok(None)), "somebody else had it, and the store answered: {answer:?}");
}
