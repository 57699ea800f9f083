//! A first attempt on its way, in the caller's task.
//!
//! The task may be dropped: then the attempt is answered on the engine and undone there. Or it may stop polling while
//! others wait behind it: then the engine takes the attempt over, and the task finds itself in the local queue.

use crate::backend::{Backend, Claim, Grant, Until};
use crate::engine::core::Core;
use crate::engine::grant::undo::{abandon, in_background};
use crate::engine::queue::ask_store::{Server, freshen, is_stale, leave_asking};
use crate::engine::queue::line::{Line, Phase};
use crate::engine::queue::waiter::Slot;
use crate::engine::route::{Carrier, Here};
use crate::{Lease, Moment, Result};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// The answer on its way.
pub(crate) type Answering = Pin<Box<dyn Future<Output = Result<Option<Grant>>> + Send>>;

/// What the caller's task and the engine share of a first attempt.
pub(crate) struct Attempt {
    pub(crate) claim: Claim,
    pub(crate) carrier: Carrier,
    /// The caller's place in the queue, should it come to that.
    pub(crate) slot: Arc<Slot>,
    /// A single attempt, or one that may leave the claim in the store's queue.
    until: Until,
    state: Mutex<State>,
}

enum State {
    /// With the waker of the caller's task, which has to hear of it when the answer is taken from it.
    Asking(Answering, Option<Waker>),
    /// The engine has it; the caller waits in its slot.
    Taken,
    Done,
}

/// How a first attempt ended for the caller.
pub(crate) enum Asked {
    Answer(Result<Option<Grant>>),
    /// Go on waiting in this place.
    Queued(Arc<Slot>),
}

/// The caller's end of an attempt.
pub(crate) struct Asking {
    core: Arc<Core>,
    line: Arc<Line>,
    pub(crate) attempt: Arc<Attempt>,
}

impl Asking {
    /// `waits`: the caller goes on waiting if it is busy.
    pub(crate) fn start(
        core: &Arc<Core>,
        line: &Arc<Line>,
        claim: Claim,
        slot: Arc<Slot>,
        waits: bool,
    ) -> Self {
        let carrier = Carrier::default();
        let in_line = waits && core.backend.info().capabilities.in_line;
        let until = if in_line { Until::InLine } else { Until::Now };
        let answering = Box::pin(ask(core.clone(), claim.clone(), carrier.clone(), slot.want.lease, until));
        let state = Mutex::new(State::Asking(answering, None));
        let attempt = Arc::new(Attempt { claim, carrier, slot, until, state });
        line.state().asking = Some(attempt.clone());
        Self { core: core.clone(), line: line.clone(), attempt }
    }
}

async fn ask(
    core: Arc<Core>,
    claim: Claim,
    carrier: Carrier,
    lease: Lease,
    until: Until,
) -> Result<Option<Grant>> {
    match core.here() {
        Here::Inline(backend) => {
            let backend = carrier.get_or_init(|| backend);
            ask_on(&core, &**backend, &claim, lease, until).await
        }
        Here::Engine => {
            let asked = core.clone();
            let ask = async move { ask_on(&asked, &*asked.backend, &claim, lease, until).await };
            // Boxed, or every attempt would carry the room for it.
            Box::pin(core.on_engine(ask)).await
        }
    }
}

/// Asks over one connection; what arrives late is renewed over the same.
pub(crate) async fn ask_on(
    core: &Core,
    on: &dyn Backend,
    claim: &Claim,
    lease: Lease,
    until: Until,
) -> Result<Option<Grant>> {
    match on.acquire(claim, until).await? {
        Some(grant) if is_stale(core, &grant, lease) => Box::pin(freshen(on, grant)).await.map(Some),
        granted => Ok(granted),
    }
}

impl Future for Asking {
    type Output = Asked;
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Asked> {
        let mut state = self.attempt.lock();
        match &mut *state {
            State::Asking(answering, waker) => {
                let Poll::Ready(answer) = answering.as_mut().poll(cx) else {
                    waker.get_or_insert_with(|| cx.waker().clone()).clone_from(cx.waker());
                    return Poll::Pending;
                };
                *state = State::Done;
                Poll::Ready(Asked::Answer(answer))
            }
            State::Taken => {
                *state = State::Done;
                Poll::Ready(Asked::Queued(self.attempt.slot.clone()))
            }
            State::Done => unreachable!("polled after it was done"),
        }
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        let state = std::mem::replace(&mut *self.attempt.lock(), State::Done);
        match state {
            State::Asking(answering, _) => {
                let Attempt { claim, carrier, .. } = &*self.attempt;
                abandon(
                    &self.core,
                    claim.clone(),
                    carrier.clone(),
                    answering,
                    self.attempt.may_stand_in_line(),
                );
                leave_asking(&self.core, &self.line);
            }
            State::Taken => {
                // In the queue as if it had waited there all the time: leaving passes on what it may have got.
                drop(self.attempt.slot.leave());
                self.line.state().one_left();
                self.line.changed.notify_one();
            }
            State::Done => {}
        }
    }
}

impl Attempt {
    /// Whether its claim may have been left in the store's queue when it was busy.
    pub(crate) fn may_stand_in_line(&self) -> bool {
        self.until == Until::InLine
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer, if the caller's task still has it and is not polling it just now; and who has to be told.
    fn take(&self) -> Option<(Answering, Option<Waker>)> {
        let mut state = self.state.try_lock().ok()?;
        match std::mem::replace(&mut *state, State::Taken) {
            State::Asking(answering, waker) => Some((answering, waker)),
            other => {
                *state = other;
                None
            }
        }
    }
}

/// The task that asks is not polling, and others wait: the engine goes on in its place.
pub(crate) fn take_over(core: &Arc<Core>, line: &Arc<Line>, attempt: &Arc<Attempt>) {
    let Some((answering, waker)) = attempt.take() else { return };
    attempt.slot.fall_asleep();
    {
        let mut state = line.state();
        state.phase = Phase::Waiting;
        state.asking = None;
        state.waiters.push_front(attempt.slot.clone());
    }
    // It may not sleep at all: the attempt took long, and the task waits for a wake-up that goes to the engine now.
    waker.into_iter().for_each(Waker::wake);
    let (server, attempt) = (Server::new(core, line), attempt.clone());
    in_background(core, async move { server.go_on(answering, &attempt).await });
}

impl fmt::Debug for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attempt").field("claim", &self.claim.id).finish_non_exhaustive()
    }
}

/// The last moment of a wait, for a slot; a single try is over at once.
pub(crate) fn last_moment(until: Until) -> Moment {
    until.moment().unwrap_or(Moment::ZERO)
}
