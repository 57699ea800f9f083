//! The signals that a lock is lost, or is about to be.

use crate::engine::{Hold, block_on};
use crate::{Clock, FencingToken, Lost, Name, Sleep};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

/// A lock whose lease is about to end. It is still held.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expiring {
    /// The name of the lock.
    pub name: Name,
    /// The token that the guard carries.
    pub token: FencingToken,
    /// How long it stays valid without a renewal.
    pub left: Duration,
}

impl fmt::Display for Expiring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, token, left } = self;
        write!(f, "the lock {name:?} (token {token}) ends in {left:.1?} unless it is renewed")
    }
}

/// Completes when the lock is no longer held, at the deadline at the latest, even without a network.
///
/// Owned and cloneable, so it can be passed to another task. For a guard that was released, it completes with
/// [`LossCause::Released`](crate::LossCause::Released), so that nothing waits forever. Dropping it has no effect.
///
/// ```
/// # use cotter::{Client, LossCause};
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> cotter::Result<()> {
/// # let client = Client::connect("memory:").await?;
/// let guard = client.mutex("orders").lock().await?;
/// let lost = guard.lost();
/// let watch = tokio::spawn(async move { lost.await.cause });
/// guard.finish().await?;
/// assert_eq!(watch.await.unwrap(), LossCause::Released);
/// # Ok(()) }
/// ```
#[must_use = "a signal does nothing until it is awaited or waited for"]
pub struct LossSignal {
    hold: Arc<Hold>,
    serial: u32,
    token: FencingToken,
    /// Distinguishes the signals of one hold.
    key: u64,
}

impl LossSignal {
    pub(crate) fn new(hold: Arc<Hold>, serial: u32, token: FencingToken) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self { hold, serial, token, key: NEXT.fetch_add(1, Ordering::Relaxed) }
    }

    /// Waits for at most `d`, on a thread without a runtime. Returns `None` if the lock is still held after that.
    pub fn wait_for(&self, d: Duration) -> Option<Lost> {
        wait_for(self.hold.clock(), self.clone(), d)
    }
}

fn wait_for<T>(clock: &Arc<dyn Clock>, signal: impl Future<Output = T>, d: Duration) -> Option<T> {
    let timeout = clock.sleep_until(clock.now() + d);
    block_on(async move {
        tokio::select! {
            biased;
            told = signal => Some(told),
            () = timeout => None,
        }
    })
}

impl Future for LossSignal {
    type Output = Lost;
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Lost> {
        match self.hold.poll_end(self.serial, self.key, cx) {
            Some(cause) => Poll::Ready(Lost { name: self.hold.name().clone(), token: self.token, cause }),
            None => Poll::Pending,
        }
    }
}

impl Clone for LossSignal {
    fn clone(&self) -> Self {
        Self::new(self.hold.clone(), self.serial, self.token)
    }
}

impl Drop for LossSignal {
    fn drop(&mut self) {
        self.hold.forget_signal(self.key);
    }
}

impl fmt::Debug for LossSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LossSignal")
            .field("name", self.hold.name())
            .field("token", &self.token)
            .finish_non_exhaustive()
    }
}

/// Completes a given time before the lease ends, while the lock is still held, or with the loss if that comes first.
///
/// Owned and cloneable, like [`LossSignal`]. Created by [`Guard::expiring`](crate::Guard::expiring).
///
/// ```
/// # use cotter::{Client, Lease};
/// # use std::time::Duration;
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> cotter::Result<()> {
/// # let client = Client::connect("memory:").await?;
/// let lease = Lease::fixed(Duration::from_millis(500));
/// let guard = client.mutex("report").lease(lease).lock().await?;
/// let expiring = guard.expiring(Duration::from_millis(450)).await?;
/// println!("{expiring}"); // … ends in 450ms unless it is renewed
/// guard.finish().await?;
/// # Ok(()) }
/// ```
#[must_use = "a signal does nothing until it is awaited or waited for"]
pub struct ExpirySignal {
    lost: LossSignal,
    margin: Duration,
    sleep: Option<Sleep>,
}

impl ExpirySignal {
    pub(crate) fn new(lost: LossSignal, margin: Duration) -> Self {
        Self { lost, margin, sleep: None }
    }

    /// Waits for at most `d`, on a thread without a runtime. Returns `None` if more time than the margin is still left
    /// after that.
    ///
    /// # Errors
    /// (Inside the option.) [`Lost`] if the lock is no longer held.
    pub fn wait_for(&self, d: Duration) -> Option<Result<Expiring, Lost>> {
        wait_for(self.lost.hold.clock(), self.clone(), d)
    }

    /// Ready `margin` before the deadline, which a renewal moves.
    fn poll_margin(&mut self, cx: &mut Context<'_>) -> Poll<Duration> {
        let clock = self.lost.hold.clock().clone();
        loop {
            let Some((at, deadline)) = self.lost.hold.warn_at(self.margin) else { return Poll::Pending };
            let now = clock.now();
            if now >= at {
                return Poll::Ready(deadline.since(now));
            }
            let sleep = self.sleep.insert(clock.sleep_until(at));
            if sleep.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
    }
}

impl Future for ExpirySignal {
    type Output = Result<Expiring, Lost>;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Poll::Ready(lost) = Pin::new(&mut self.lost).poll(cx) {
            return Poll::Ready(Err(lost));
        }
        let (name, token) = (self.lost.hold.name().clone(), self.lost.token);
        self.poll_margin(cx).map(|left| Ok(Expiring { name, token, left }))
    }
}

impl Clone for ExpirySignal {
    fn clone(&self) -> Self {
        Self::new(self.lost.clone(), self.margin)
    }
}

impl fmt::Debug for ExpirySignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExpirySignal")
            .field("name", self.lost.hold.name())
            .field("margin", &self.margin)
            .finish_non_exhaustive()
    }
}
