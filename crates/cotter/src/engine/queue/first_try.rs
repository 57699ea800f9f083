//! A first attempt in flight, in the caller's task.
//!
//! If the task is dropped, the attempt is completed and undone on the engine. If it stops polling while others wait
//! behind it, the engine takes over the attempt, and the task finds itself in the local queue.

use crate::backend::{Acquired, Backend, Claim, Until};
use crate::engine::background::{Running, in_background};
use crate::engine::core::Core;
use crate::engine::grant::freshen::{freshen, is_stale};
use crate::engine::grant::hold::{Line, Waiter};
use crate::engine::grant::undo::abandon;
use crate::engine::line::run::change;
use crate::engine::queue::ask_store::Server;
use crate::engine::route::{Carrier, Here};
use crate::sync::lock;
use crate::{Lease, Moment, Result};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

/// The pending answer.
pub(crate) type PendingAnswer = Pin<Box<dyn Future<Output = Result<Acquired>> + Send>>;

/// The state of a first attempt that the caller's task and the engine share.
pub(crate) struct SharedTry {
    pub(crate) claim: Claim,
    pub(crate) carrier: Carrier,
    /// The caller continues waiting if the lock is busy: the attempt may have joined the store's queue.
    waits: bool,
    /// The caller's place in the queue, in case it has to wait.
    pub(crate) waiter: Arc<Waiter>,
    state: Mutex<State>,
    /// `close` waits until this is gone: it does not end the connection below an answer.
    running: Mutex<Option<Running>>,
}

enum State {
    /// Contains the waker of the caller's task, which must be woken when the attempt is taken from it.
    Sent(PendingAnswer, Option<Waker>),
    /// The engine has taken over; the caller waits on its waiter.
    Taken,
    Done,
}

/// The result of a first attempt for the caller.
pub(crate) enum FirstAnswer {
    Answer(Result<Acquired>),
    /// Continue waiting in this place.
    Queued(Arc<Waiter>),
}

/// The caller's end of an attempt.
pub(crate) struct FirstTry {
    core: Arc<Core>,
    line: Arc<Line>,
    pub(crate) attempt: Arc<SharedTry>,
}

impl FirstTry {
    /// `waits`: the caller continues waiting if the lock is busy.
    pub(crate) fn start(
        core: &Arc<Core>,
        line: &Arc<Line>,
        claim: Claim,
        waiter: Arc<Waiter>,
        waits: bool,
    ) -> Self {
        let carrier = Carrier::default();
        let in_line = waits && core.backend.info().capabilities.in_line;
        let until = if in_line { Until::InLine } else { Until::Now };
        let pending =
            Box::pin(ask(core.clone(), claim.clone(), carrier.clone(), waiter.request.lease, until));
        let state = Mutex::new(State::Sent(pending, None));
        let running = Mutex::new(Some(core.background.enter()));
        let attempt = Arc::new(SharedTry { claim, carrier, waits, waiter, state, running });
        change(core, line, |state| state.started(&attempt));
        Self { core: core.clone(), line: line.clone(), attempt }
    }
}

async fn ask(
    core: Arc<Core>,
    claim: Claim,
    carrier: Carrier,
    lease: Lease,
    until: Until,
) -> Result<Acquired> {
    match core.here() {
        Here::Inline(backend) => {
            let backend = carrier.get_or_init(|| backend);
            ask_on(&core, &**backend, &claim, lease, until).await
        }
        Here::Engine => {
            let asked = core.clone();
            let ask = async move { ask_on(&asked, &*asked.backend, &claim, lease, until).await };
            // Boxed, because otherwise every attempt would carry the space for it.
            Box::pin(core.on_engine(ask)).await
        }
    }
}

/// Asks over one connection; a grant that arrives late is renewed over the same.
pub(crate) async fn ask_on(
    core: &Core,
    on: &dyn Backend,
    claim: &Claim,
    lease: Lease,
    until: Until,
) -> Result<Acquired> {
    match on.acquire(claim, until).await? {
        Acquired::Granted(grant) if is_stale(core, &grant, lease) => {
            Box::pin(freshen(core, on, grant)).await.map(Acquired::Granted)
        }
        answer => Ok(answer),
    }
}

impl Future for FirstTry {
    type Output = FirstAnswer;
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<FirstAnswer> {
        let mut state = self.attempt.lock();
        match &mut *state {
            State::Sent(pending, waker) => {
                let Poll::Ready(answer) = pending.as_mut().poll(cx) else {
                    waker.get_or_insert_with(|| cx.waker().clone()).clone_from(cx.waker());
                    return Poll::Pending;
                };
                *state = State::Done;
                Poll::Ready(FirstAnswer::Answer(answer))
            }
            State::Taken => {
                *state = State::Done;
                Poll::Ready(FirstAnswer::Queued(self.attempt.waiter.clone()))
            }
            State::Done => unreachable!("polled after it was done"),
        }
    }
}

impl Drop for FirstTry {
    fn drop(&mut self) {
        let state = std::mem::replace(&mut *self.attempt.lock(), State::Done);
        match state {
            State::Sent(pending, _) => {
                let SharedTry { claim, carrier, waits, .. } = &*self.attempt;
                abandon(&self.core, claim.clone(), carrier.clone(), *waits, pending);
                self.attempt.settle();
                change(&self.core, &self.line, |state| state.first_try_over());
            }
            State::Taken => {
                // Leaves the queue as if it had waited there all the time: this passes on a guard that it may have
                // received.
                drop(self.attempt.waiter.leave());
                change(&self.core, &self.line, |state| state.left());
            }
            State::Done => {}
        }
    }
}

impl SharedTry {
    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Whatever the attempt was granted is a hold now, or work in the background.
    pub(crate) fn settle(&self) {
        drop(lock(&self.running).take());
    }

    /// Takes the pending answer, if the caller's task still has it and is not polling it right now, and the waker to
    /// notify.
    fn take(&self) -> Option<(PendingAnswer, Option<Waker>)> {
        let mut state = self.state.try_lock().ok()?;
        match std::mem::replace(&mut *state, State::Taken) {
            State::Sent(pending, waker) => Some((pending, waker)),
            other => {
                *state = other;
                None
            }
        }
    }
}

/// Lets the engine continue in place of a task that does not poll its attempt while others wait.
pub(crate) fn take_over(core: &Arc<Core>, line: &Arc<Line>, attempt: &Arc<SharedTry>) {
    let Some((pending, waker)) = attempt.take() else { return };
    attempt.waiter.fall_asleep();
    change(core, line, |state| state.taken_over(&attempt.waiter));
    // The task may not be asleep at all: the attempt took long, and its wake-up now goes to the engine.
    waker.into_iter().for_each(Waker::wake);
    let (server, taken) = (Server::new(core, line), attempt.clone());
    in_background(core, async move { server.go_on(pending, &taken).await });
    attempt.settle();
}

impl fmt::Debug for SharedTry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedTry").field("claim", &self.claim.id).finish_non_exhaustive()
    }
}

/// Returns the last moment of a wait, for a waiter; a single try is over at once.
pub(crate) fn last_moment(until: Until) -> Moment {
    until.moment().unwrap_or(Moment::ZERO)
}
