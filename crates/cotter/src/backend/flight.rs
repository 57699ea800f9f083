//! Requests that outlive their callers.
//!
//! Some acquisitions can be undone only once their outcome is known: where the requests of one connection are not
//! ordered (the streams of an HTTP/2 connection), a release that is sent after an acquire may run before it; where a
//! claim stores a value that others may store too, a release cannot tell whose value it finds. There the *call itself*
//! is registered before its first poll. It stays registered when its caller is dropped, and the release first waits
//! for it to complete.
//!
//! A call that ends with an [unknown outcome](crate::Error::outcome_unknown) may still arrive at the store. The call
//! itself registers its request with [`InFlight`](super::inflight::InFlight), under its own connection number, and the
//! release asks there too.
//!
//! Nothing drives a call that has no waiter. It must not hold a lock across an await that other calls need: they would
//! wait until its claim is released. Sockets are opened by a task of [`Host::spawn`](super::Host::spawn) that the call
//! waits for, because otherwise they belong to the runtime that polled it first.

use super::ClaimId;
use super::by_claim::ByClaim;
use crate::sync::lock;
use crate::{Error, ErrorKind, Result};
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

type Call<T> = Pin<Box<dyn Future<Output = Result<T>> + Send>>;

/// A call whose future outlives its caller. All waiters drive it, and each gets a clone of the answer.
///
/// The call makes no progress while it has no waiter. A waiter that is dropped or no longer polled does not delay the
/// others.
///
/// ```
/// # use cotter::backend::flight::Flight;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let flight = Flight::new(async { Ok(7) });
/// drop(flight.land());
/// assert_eq!(flight.land().await.unwrap(), 7);
/// assert_eq!(flight.land().await.unwrap(), 7);
/// # }
/// ```
pub struct Flight<T>(Arc<Shared<T>>);

struct Shared<T> {
    state: Mutex<State<T>>,
    waiters: Arc<Waiters>,
}

enum State<T> {
    Flying(Call<T>),
    Landed(Result<T>),
    /// The call has panicked.
    Crashed,
}

impl<T: Clone> Flight<T> {
    /// Registers a call. It starts when it is first waited for.
    pub fn new(call: impl Future<Output = Result<T>> + Send + 'static) -> Self {
        let state = Mutex::new(State::Flying(Box::pin(call)));
        Self(Arc::new(Shared { state, waiters: Arc::default() }))
    }

    /// Waits for the answer.
    ///
    /// # Errors
    /// Those of the call. [`Unavailable`](ErrorKind::Unavailable) with an unknown outcome if the call has panicked.
    ///
    /// # Panics
    /// Panics in the waiter whose poll makes the call panic.
    ///
    /// # Cancel safety
    /// Cancel safe: dropping the future leaves the call unchanged, and `land` can be called again.
    pub async fn land(&self) -> Result<T> {
        let waiter = Waiter::new(&self.0.waiters);
        poll_fn(|cx| {
            waiter.register(cx);
            self.0.poll()
        })
        .await
    }
}

impl<T> Clone for Flight<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> fmt::Debug for Flight<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Flight").finish_non_exhaustive()
    }
}

impl<T: Clone> Shared<T> {
    fn poll(&self) -> Poll<Result<T>> {
        let mut state = lock(&self.state);
        let mut call = match std::mem::replace(&mut *state, State::Crashed) {
            State::Flying(call) => call,
            State::Landed(answer) => {
                *state = State::Landed(answer.clone());
                return Poll::Ready(answer);
            }
            State::Crashed => return Poll::Ready(Err(crashed())),
        };
        // The call wakes all waiters, because the one that polls it now may be gone by then.
        let waker = Waker::from(self.waiters.clone());
        // Wakes them also when the call panics.
        let landed = WakeAll(&self.waiters);
        let Poll::Ready(answer) = call.as_mut().poll(&mut Context::from_waker(&waker)) else {
            *state = State::Flying(call);
            std::mem::forget(landed);
            return Poll::Pending;
        };
        *state = State::Landed(answer.clone());
        drop(state);
        Poll::Ready(answer)
    }
}

fn crashed() -> Error {
    let why = "the request ended without an answer: its future panicked";
    Error::new(ErrorKind::Unavailable, why).with_outcome_unknown()
}

/// The wakers of the tasks that wait for one call.
#[derive(Debug, Default)]
struct Waiters {
    wakers: Mutex<Vec<(u64, Waker)>>,
    next: AtomicU64,
}

impl Waiters {
    fn wake_all(&self) {
        let woken = std::mem::take(&mut *lock(&self.wakers));
        woken.into_iter().for_each(|(_, waker)| waker.wake());
    }
}

impl Wake for Waiters {
    fn wake(self: Arc<Self>) {
        self.wake_all();
    }
}

/// Wakes all waiters when it is dropped.
struct WakeAll<'a>(&'a Waiters);

impl Drop for WakeAll<'_> {
    fn drop(&mut self) {
        self.0.wake_all();
    }
}

/// A waiter of a call. Its waker is removed when it is dropped.
struct Waiter<'a> {
    waiters: &'a Waiters,
    number: u64,
}

impl<'a> Waiter<'a> {
    fn new(waiters: &'a Waiters) -> Self {
        Self { waiters, number: waiters.next.fetch_add(1, Ordering::Relaxed) }
    }

    fn register(&self, cx: &Context<'_>) {
        let mut wakers = lock(&self.waiters.wakers);
        match wakers.iter_mut().find(|(number, _)| *number == self.number) {
            Some((_, waker)) => waker.clone_from(cx.waker()),
            None => wakers.push((self.number, cx.waker().clone())),
        }
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        lock(&self.waiters.wakers).retain(|(number, _)| *number != self.number);
    }
}

/// The unanswered calls, by claim.
#[derive(Debug)]
pub struct Flights<T>(Mutex<ByClaim<Flight<T>>>);

impl<T> Default for Flights<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone> Flights<T> {
    /// Registers the call of a claim and waits for its answer. An earlier call of the claim lands first: it must neither
    /// be overtaken nor dropped half-way.
    ///
    /// # Errors
    /// Errors of the call.
    ///
    /// # Cancel safety
    /// If the future is dropped, the call stays registered for [`land`](Self::land).
    pub async fn call(
        &self,
        id: ClaimId,
        call: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        let _ = self.land(id).await;
        let flight = Flight::new(call);
        lock(&self.0).insert(id, flight.clone());
        let answer = flight.land().await;
        lock(&self.0).remove(&id);
        answer
    }

    /// Waits for the answer to the call of a claim. Returns `None` if there is no such call.
    ///
    /// # Cancel safety
    /// Cancel safe: can be dropped and called again.
    pub async fn land(&self, id: ClaimId) -> Option<Result<T>> {
        let flight = lock(&self.0).get(&id).cloned()?;
        let answer = flight.land().await;
        lock(&self.0).remove(&id);
        Some(answer)
    }
}

#[cfg(test)]
mod tests;
