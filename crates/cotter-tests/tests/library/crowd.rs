//! A held lock, and many claims of another client that wait for it.

use cotter::Mode;
use cotter::backend::{Backend, Claim, Grant, Leave, Until};
use cotter_testkit::bare::{claim, take};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::timing::{Stopwatch, eventually, happens};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

/// The name of the lock.
pub(crate) const NAME: &str = "crowd";
/// The name that three claims want.
pub(crate) const WOKEN: &str = "woken";
/// The number of claims that wait.
pub(crate) const WAITING: usize = 500;
/// The time limit for a waiter to be served: one that is not told looks by itself after some more seconds.
const SERVED_WITHIN: Duration = Duration::from_secs(5);

pub(crate) struct Crowd {
    holder: Arc<dyn Backend>,
    held: Claim,
    waiting: Vec<JoinHandle<Grant>>,
}

impl Crowd {
    /// The first client takes the lock in one mode, and then many claims of the second one ask for it in another.
    pub(crate) async fn gather(
        [holder, waiter]: [Arc<dyn Backend>; 2],
        (held, wanted): (Mode, Mode),
        ttl: Duration,
    ) -> Self {
        let claim_as = |mode| {
            let mut claim = claim(NAME, ttl);
            claim.mode = mode;
            claim
        };
        let held = claim_as(held);
        take(&holder, &held).await;
        let wait = |_| {
            let (waiter, next) = (waiter.clone(), claim_as(wanted));
            tokio::spawn(async move {
                // So many at once may be too many for the server: whoever is refused asks again, as the engine does.
                loop {
                    match waiter.acquire(&next, Until::Forever).await {
                        Ok(asked) => return asked.granted().expect("its turn"),
                        Err(e) => assert!(e.is_retryable(), "{e:?}"),
                    }
                }
            })
        };
        Self { holder, held, waiting: (0..WAITING).map(wait).collect() }
    }

    /// The number of claims that have been served.
    pub(crate) fn served(&self) -> usize {
        self.waiting.iter().filter(|wait| wait.is_finished()).count()
    }

    /// Releases the lock, and waits until this many claims are served.
    pub(crate) async fn release(&self, wanted: usize) {
        self.holder.release(&self.held, Leave::used(1)).await.unwrap();
        let start = Stopwatch::of(Kind::IdleWaiter);
        eventually("who can enter does", || self.served() >= wanted).await;
        start.at_most(SERVED_WITHIN, "who can enter is told");
    }
}

/// How many requests a server has received, when for two seconds no more arrive between two looks than these: a client that shares
/// its cores with others may pause for longer than half a second.
pub(crate) async fn at_rest(received: impl Fn() -> usize, signs: usize) -> usize {
    let resting = async {
        let (mut before, mut rests) = (received(), 0);
        while rests < 4 {
            tokio::time::sleep(Duration::from_millis(500)).await;
            let now = received();
            rests = if now <= before + signs { rests + 1 } else { 0 };
            before = now;
        }
        before
    };
    happens("no more requests arrive", resting).await
}

/// One that gives up wakes the one behind it, which is not the first by that. `queued` counts those that hold or wait, and
/// `settled` completes when the watches of those that wait are confirmed.
pub(crate) async fn who_is_woken_looks_again(
    [one, other]: [Arc<dyn Backend>; 2],
    ttl: Duration,
    queued: impl Fn() -> usize,
    settled: impl Future,
) {
    let claims: Vec<_> = (0..3).map(|_| claim(WOKEN, ttl)).collect();
    take(&one, &claims[0]).await;
    let mut waiting = Vec::new();
    for (n, next) in claims.iter().enumerate().skip(1) {
        let (other, next) = (other.clone(), next.clone());
        waiting.push(tokio::spawn(async move { other.acquire(&next, Until::Forever).await }));
        eventually("it is in the queue", || queued() == n + 1).await;
    }
    settled.await;
    waiting[0].abort();
    other.release(&claims[1], Leave::default()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    demand(!waiting[1].is_finished(), Kind::Overlap, "the third was served when the second gave up");
    one.release(&claims[0], Leave::used(1)).await.unwrap();
    let start = Stopwatch::of(Kind::IdleWaiter);
    let last = happens("the third is served", waiting.remove(1)).await;
    start.at_most(SERVED_WITHIN, "the third is woken");
    last.unwrap().unwrap().granted().expect("its turn");
}

impl Drop for Crowd {
    fn drop(&mut self) {
        self.waiting.iter().for_each(JoinHandle::abort);
    }
}
