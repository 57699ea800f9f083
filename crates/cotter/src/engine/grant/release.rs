//! Telling the store that a hold is over.

use crate::backend::{Backend, Claim, Found, Leave, Release};
use crate::engine::background::in_background;
use crate::engine::core::Core;
use crate::engine::grant::hold::Hold;
use crate::engine::grant::telling::Ended;
use crate::engine::grant::undo::{in_time, in_time_if_left, may_succeed_later, release_later, undo_until};
use crate::engine::line::run::change;
use crate::engine::report::Doing;
use crate::engine::route::Here;
use crate::engine::timing::release_backoff;
use crate::{Error, ErrorKind, LossCause, Moment, Released, ReleasedTo, Result};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

enum CallState {
    Unsent(ReleaseWork),
    Sent(Arc<Core>, PendingRelease),
}

type PendingRelease = Pin<Box<dyn Future<Output = Result<Released>> + Send>>;

/// Sends the release to the store; resolves to whether the store still knew the hold. If dropped, polled or not, the
/// engine continues it.
pub(crate) struct ReleaseCall {
    state: Option<CallState>,
}

impl ReleaseCall {
    pub(super) fn new(hold: &Arc<Hold>, keep_for: Option<Duration>) -> Self {
        let (used, ended) = hold.end();
        let work = ReleaseWork {
            hold: hold.clone(),
            leave: Leave { used, keep_for },
            deadline: hold.deadline().unwrap_or(Moment::NEVER),
            ended: Some(ended),
        };
        Self { state: Some(CallState::Unsent(work)) }
    }

    /// Discards the release because the store has learned of it in another way.
    pub(super) fn forget(mut self, to: ReleasedTo) {
        if let Some(CallState::Unsent(mut work)) = self.state.take() {
            work.answered();
            work.tell_released(to);
        }
    }

    /// Completes what can be completed immediately; the engine does the rest.
    pub(crate) fn detach(mut self) {
        let _ = self.at_once();
    }

    /// If the store answers in the first poll, nothing has to be boxed or handed to the engine.
    fn at_once(&mut self) -> Option<Result<Released>> {
        let Some(CallState::Unsent(work)) = &mut self.state else { return None };
        let core = work.core().clone();
        if !core.is_immediate() {
            return None;
        }
        let mut told = core.backend.release(work.claim(), work.leave);
        let answer = told.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        drop(told);
        let Poll::Ready(Ok(release)) = answer else { return None };
        work.answered();
        let released = work.conclude(release);
        self.state = None;
        Some(Ok(released))
    }
}

impl Future for ReleaseCall {
    type Output = Result<Released>;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(answer) = self.at_once() {
            return Poll::Ready(answer);
        }
        let (core, mut state) = self.state.take().expect("polled after it was done").sent();
        let answer = state.as_mut().poll(cx);
        if answer.is_pending() {
            self.state = Some(CallState::Sent(core, state));
        }
        answer
    }
}

impl CallState {
    fn sent(self) -> (Arc<Core>, PendingRelease) {
        match self {
            Self::Unsent(work) => (work.core().clone(), Box::pin(work.run())),
            Self::Sent(core, state) => (core, state),
        }
    }
}

impl Drop for ReleaseCall {
    fn drop(&mut self) {
        if let Some(state) = self.state.take() {
            let (core, state) = state.sent();
            in_background(&core, async move { drop(state.await) });
        }
    }
}

struct ReleaseWork {
    hold: Arc<Hold>,
    leave: Leave,
    /// The moment by which the lease has expired by itself.
    deadline: Moment,
    /// The turn, until observers were told how it ended.
    ended: Option<Ended>,
}

/// Ends the guard's signals even if the store never answers.
impl Drop for ReleaseWork {
    fn drop(&mut self) {
        self.hold.end_release(None);
        self.tell_released(ReleasedTo::Silence);
    }
}

impl ReleaseWork {
    fn core(&self) -> &Arc<Core> {
        &self.hold.core
    }

    fn claim(&self) -> &Claim {
        &self.hold.grant.claim
    }

    async fn run(mut self) -> Result<Released> {
        let answer = self.first().await;
        self.answered();
        let release = match answer {
            Ok(release) => release,
            // Also an answer, and more precise than "not held".
            Err(e) if e.lost().is_some() => {
                self.tell_lost(e.lost().map_or(LossCause::Gone, |lost| lost.cause));
                return Err(e);
            }
            Err(e) => self.retry(e).await?,
        };
        Ok(self.conclude(release))
    }

    /// Resolves the guard according to what the store found. Requests of the claim that may still take effect are
    /// undone in the background: none of them holds anything now.
    fn conclude(&mut self, release: Release) -> Released {
        if let Release::Unsettled { until, .. } = release {
            undo_until(self.core(), self.claim().clone(), self.leave.used, until);
        }
        match release.found() {
            Found::Held => {
                self.tell_released(ReleasedTo::Store);
                Released::Yes
            }
            Found::Nothing => self.missing(LossCause::Gone),
            Found::Evicted => self.missing(LossCause::Evicted),
        }
    }

    /// Handles a loss that this process had not noticed: signals that still listen are woken now.
    fn missing(&mut self, cause: LossCause) -> Released {
        let overdue = cause == LossCause::Gone && self.core().now() >= self.deadline;
        self.tell_lost(if overdue { LossCause::Expired } else { cause });
        Released::AlreadyLost
    }

    fn tell_lost(&mut self, cause: LossCause) {
        let ended = self.ended.take();
        if self.hold.end_release(Some(cause))
            && let Some(ended) = ended
        {
            self.hold.tell_lost(cause, ended);
        }
    }

    fn tell_released(&mut self, to: ReleasedTo) {
        if let Some(ended) = self.ended.take() {
            self.hold.tell_released(ended, to);
        }
    }

    async fn first(&self) -> Result<Release> {
        match self.core().here() {
            Here::Inline(backend) => self.ask(&*backend).await,
            Here::Engine => {
                let (core, claim, leave) = (self.core().clone(), self.claim().clone(), self.leave);
                self.core().on_engine(async move { core.backend.release(&claim, leave).await }).await
            }
        }
    }

    async fn ask(&self, on: &dyn Backend) -> Result<Release> {
        let told = in_time_if_left(self.core(), on.release(self.claim(), self.leave)).await;
        told.unwrap_or_else(|| {
            let why = "the store did not answer a release";
            Err(Error::new(ErrorKind::Unavailable, why).with_outcome_unknown())
        })
    }

    fn answered(&self) {
        change(self.core(), &self.hold.line, |state| state.answered());
    }

    /// Retries until the lease would have ended anyway, or the caller has waited long enough; what the store still keeps
    /// then is released in the background. A try that was sent and not answered may have freed the lock, in which case a
    /// later one finds nothing.
    async fn retry(&self, mut error: Error) -> Result<Release> {
        let core = self.core();
        let mut pauses = release_backoff();
        let mut may_be_freed = error.outcome_unknown();
        let last = self.deadline.min(core.now() + core.settings.give_up);
        let mut tried = false;
        loop {
            core.failed(Doing::Releasing, &self.claim().name, &error);
            let at = core.now() + pauses.pause();
            // The first try may have used a connection other than the engine's.
            if at >= last || (tried && !error.is_retryable()) {
                if may_succeed_later(&error) {
                    let end = self.hold.kept_until(self.deadline);
                    release_later(core, self.claim().clone(), self.leave, end);
                }
                return Err(core.at_the_server(error).with_name(&self.claim().name));
            }
            core.clock().sleep_until(at).await;
            tried = true;
            let told = in_time(core, core.backend.release(self.claim(), self.leave)).await;
            match told.unwrap_or_else(|| Err(core.silence().with_outcome_unknown())) {
                Ok(Release::NotHeld) if may_be_freed => return Ok(Release::Freed),
                Ok(Release::Unsettled { found: Found::Nothing, until }) if may_be_freed => {
                    return Ok(Release::Freed.unsettled(until));
                }
                Ok(release) => return Ok(release),
                Err(e) => error = e,
            }
            may_be_freed |= error.outcome_unknown();
        }
    }
}
