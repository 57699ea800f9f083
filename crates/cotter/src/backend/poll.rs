//! The polling loop shared by all backends.

use super::{Acquired, Backend, Claim, Grant, Leave, Note, Release, Until};
use crate::{Clock, Error, Moment, Result};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// An operation that is repeated until it succeeds.
pub trait Attempt: Send {
    /// The result of a successful try.
    type Done: Send;

    /// Tries once. Returns `None` if the operation has not succeeded yet.
    ///
    /// # Errors
    /// An error ends the polling.
    fn attempt(&mut self) -> impl Future<Output = Result<Option<Self::Done>>> + Send;

    /// Completes when another try may succeed. It is created before each try, so that an event between the try and the
    /// wait is not missed. A hint may be spurious, and an event may occur without one.
    ///
    /// The default never completes: one attempt is made per [`period`](Self::period).
    fn hint(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(std::future::pending())
    }

    /// Returns the longest time to wait for a hint before the next try.
    fn period(&self) -> Duration;
}

/// Tries until an attempt succeeds or the time is over. Between two tries it waits for a hint, at most for the period:
/// correctness rests on the timed polls, and hints only speed it up.
///
/// One more try is made after the time is over, because the lock may have become free while this task was not
/// scheduled.
///
/// # Errors
/// Errors of the attempt.
///
/// # Cancel safety
/// Dropping the future stops the polling. The backend is responsible for undoing a request that an attempt has sent.
pub async fn until<A: Attempt>(clock: &dyn Clock, until: Until, attempt: &mut A) -> Result<Option<A::Done>> {
    let last = until.moment().unwrap_or(Moment::ZERO);
    loop {
        let hint = attempt.hint();
        let over = clock.now() >= last;
        if let Some(done) = attempt.attempt().await? {
            return Ok(Some(done));
        }
        if over {
            return Ok(None);
        }
        let next = last.min(clock.now() + attempt.period());
        tokio::select! {
            biased;
            () = hint => {}
            () = clock.sleep_until(next) => {}
        }
    }
}

/// Waits with a place in the store's queue. When the wait ends without a grant, a release gives the place up: nothing of the
/// claim may stay there.
#[allow(dead_code, reason = "only some of the stores have a queue")]
pub(crate) async fn in_queue<A: Attempt<Done = Grant>>(
    backend: &dyn Backend,
    clock: &dyn Clock,
    claim: &Claim,
    end: Until,
    mut place: A,
) -> Result<Acquired> {
    let granted = until(clock, end, &mut place).await?;
    drop(place);
    if let Some(grant) = granted {
        return Ok(Acquired::Granted(grant));
    }
    match backend.release(claim, Leave::default()).await.map_err(Error::with_outcome_unknown)? {
        Release::Unsettled { until, .. } => Ok(Acquired::unsettled(until)),
        _ => Ok(Acquired::Busy),
    }
}

/// Polls a note until its revision differs from `seen`: implements [`Notes::changed`](super::Notes::changed) for
/// stores that can only reload the note.
///
/// ```
/// # use cotter::{Name, Note, Result, clock::Clock};
/// # use cotter::backend::{Notes, Until, poll::{self, NoteChange}};
/// # use std::time::Duration;
/// # async fn changed(store: &dyn Notes, clock: &dyn Clock, name: &Name, seen: u64, until: Until) -> Result<Option<Note>> {
/// let mut change = NoteChange::new(seen, Duration::from_millis(250), || store.load(name, "key"));
/// poll::until(clock, until, &mut change).await
/// # }
/// ```
#[derive(Debug)]
pub struct NoteChange<L> {
    load: L,
    seen: u64,
    period: Duration,
    hint: Option<Arc<Notify>>,
}

impl<L> NoteChange<L> {
    /// Loads the note once per `period`.
    pub fn new(seen: u64, period: Duration, load: L) -> Self {
        Self { load, seen, period, hint: None }
    }

    /// Also loads the note whenever `hint` is notified.
    #[must_use]
    pub fn with_hint(self, hint: Arc<Notify>) -> Self {
        Self { hint: Some(hint), ..self }
    }
}

impl<L, F> Attempt for NoteChange<L>
where
    L: FnMut() -> F + Send,
    F: Future<Output = Result<Option<Note>>> + Send,
{
    type Done = Note;

    async fn attempt(&mut self) -> Result<Option<Note>> {
        Ok((self.load)().await?.filter(|note| note.revision != self.seen))
    }

    fn hint(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        match &self.hint {
            Some(hint) => Box::pin(hint.clone().notified_owned()),
            None => Box::pin(std::future::pending()),
        }
    }

    fn period(&self) -> Duration {
        self.period
    }
}
