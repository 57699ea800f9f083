//! Giving back, and passing on inside the process.

use crate::backend::{Backend, Claim, Leave, Release};
use crate::engine::core::Core;
use crate::engine::grant::hold::Hold;
use crate::engine::grant::undo::{in_background, in_time_if_left, undo_until};
use crate::engine::queue::ask_store::kick;
use crate::engine::queue::line::can_pass;
use crate::engine::queue::recall::watch;
use crate::engine::queue::waiter::Slot;
use crate::engine::report::{Doing, Event, report};
use crate::engine::route::Here;
use crate::engine::timing::release_backoff;
use crate::{Error, ErrorKind, Guard, LossCause, Moment, Released, Result};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// What became of a guard that was given back.
pub(crate) enum Returned {
    /// Re-entered so many times more.
    StillHeld(usize),
    /// The next task of this process has it.
    Passed,
    /// It was lost before.
    AlreadyLost(LossCause),
    /// The store has to be told.
    Send(Parting),
}

/// Gives one guard back: synchronous, so that a dropped guard can do it without a runtime.
pub(crate) fn give_back(hold: &Arc<Hold>, serial: u32, keep_for: Option<Duration>) -> Returned {
    let mut serial = serial;
    loop {
        let lost = hold.lost();
        match step(hold, serial, lost, keep_for) {
            Step::Done(returned) => return returned,
            Step::Pass(slot, guard) => match slot.give(guard) {
                Ok(()) => return Returned::Passed,
                // The waiter has left meanwhile: its turn is ours to give back.
                Err(guard) => serial = guard.into_serial(),
            },
        }
    }
}

enum Step {
    Done(Returned),
    Pass(Arc<Slot>, Box<Guard>),
}

fn step(hold: &Arc<Hold>, serial: u32, lost: Option<LossCause>, keep_for: Option<Duration>) -> Step {
    let mut state = hold.line.state();
    if lost.is_none() && hold.count() > 1 {
        return Step::Done(Returned::StillHeld(hold.leave(serial).0));
    }
    if let Some(pass) = (lost.is_none() && keep_for.is_none()).then(|| pass(hold, &mut state)).flatten() {
        hold.leave(serial);
        return pass;
    }
    let (left, lost_now) = if lost.is_some() { hold.leave(serial) } else { hold.part() };
    if let Some(cause) = lost_now.or(lost) {
        if left == 0 {
            state.mourned.retain(|h| !Arc::ptr_eq(h, hold));
        }
        drop(state);
        hold.core.lines.retire(&hold.line);
        return Step::Done(Returned::AlreadyLost(cause));
    }
    state.part_from(hold);
    // Its task may not take in the answer.
    let unwatched = state.head().is_some() && state.given.start();
    drop(state);
    if unwatched {
        watch(&hold.core, &hold.line);
    }
    hold.core.engine.agenda().remove(hold);
    Step::Done(Returned::Send(Parting::new(hold, keep_for)))
}

fn pass(hold: &Arc<Hold>, state: &mut crate::engine::queue::line::State) -> Option<Step> {
    let slot = state.head()?.clone();
    if !can_pass(hold, &slot.want, hold.core.now()) {
        return None;
    }
    let (serial, token) = hold.next_turn(slot.want.owner.clone())?;
    if state.pop(&slot) {
        watch(&hold.core, &hold.line);
    }
    Some(Step::Pass(slot, Box::new(Guard::new(hold.clone(), serial, token))))
}

/// A hold was lost: those who wait here ask anew, and whatever the store still keeps is freed.
pub(crate) fn after_loss(hold: &Arc<Hold>) {
    {
        let mut state = hold.line.state();
        state.part_from(hold);
        if hold.has_owner() && hold.count() > 0 {
            state.mourned.push(hold.clone());
        }
    }
    hold.core.engine.agenda().remove(hold);
    let parting = Parting::new(hold, None);
    in_background(&hold.core, async move { drop(parting.await) });
}

enum Telling {
    Unsent(Job),
    Sent(Arc<Core>, Answering),
}

type Answering = Pin<Box<dyn Future<Output = Result<Released>> + Send>>;

/// Tells the store, and answers whether it still knew the hold. Carried on by the engine when it is dropped, polled or not.
pub(crate) struct Parting {
    telling: Option<Telling>,
}

impl Parting {
    fn new(hold: &Arc<Hold>, keep_for: Option<Duration>) -> Self {
        let job = Job {
            hold: hold.clone(),
            leave: Leave { used: hold.used(), keep_for },
            deadline: hold.deadline().unwrap_or(Moment::NEVER),
        };
        Self { telling: Some(Telling::Unsent(job)) }
    }

    /// The store has been told otherwise.
    pub(crate) fn forget(mut self) {
        if let Some(Telling::Unsent(job)) = self.telling.take() {
            job.settle();
        }
    }

    /// Does at once what can be done at once; the engine does the rest.
    pub(crate) fn detach(mut self) {
        let _ = self.at_once();
    }

    /// Where the store answers in the first poll, nothing has to be boxed or handed to the engine.
    fn at_once(&mut self) -> Option<Result<Released>> {
        let Some(Telling::Unsent(job)) = &self.telling else { return None };
        let core = job.core().clone();
        if !core.is_immediate() {
            return None;
        }
        let mut told = core.backend.release(job.claim(), job.leave);
        let answer = told.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        drop(told);
        let Poll::Ready(Ok(release)) = answer else { return None };
        job.settle();
        let released = job.conclude(release);
        self.telling = None;
        Some(Ok(released))
    }
}

impl Future for Parting {
    type Output = Result<Released>;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(answer) = self.at_once() {
            return Poll::Ready(answer);
        }
        let (core, mut telling) = self.telling.take().expect("polled after it was done").sent();
        let answer = telling.as_mut().poll(cx);
        if answer.is_pending() {
            self.telling = Some(Telling::Sent(core, telling));
        }
        answer
    }
}

impl Telling {
    fn sent(self) -> (Arc<Core>, Answering) {
        match self {
            Self::Unsent(job) => (job.core().clone(), Box::pin(job.run())),
            Self::Sent(core, telling) => (core, telling),
        }
    }
}

impl Drop for Parting {
    fn drop(&mut self) {
        if let Some(telling) = self.telling.take() {
            let (core, telling) = telling.sent();
            in_background(&core, async move { drop(telling.await) });
        }
    }
}

struct Job {
    hold: Arc<Hold>,
    leave: Leave,
    /// The lease has run out by itself then.
    deadline: Moment,
}

/// A store that never answers must not leave the signals of the guard without an end.
impl Drop for Job {
    fn drop(&mut self) {
        self.hold.parted(None);
    }
}

impl Job {
    fn core(&self) -> &Arc<Core> {
        &self.hold.core
    }

    fn claim(&self) -> &Claim {
        &self.hold.grant.claim
    }

    async fn run(self) -> Result<Released> {
        let answer = self.first().await;
        self.settle();
        let release = match answer {
            Ok(release) => release,
            // An answer too, and more than "not held".
            Err(e) if e.lost().is_some() => {
                self.tell(e.lost().map_or(LossCause::Gone, |lost| lost.cause));
                return Err(e);
            }
            Err(e) => self.retry(e).await?,
        };
        Ok(self.conclude(release))
    }

    /// What the store found is what the guard was worth. What may still come of the claim is undone behind the caller's
    /// back: nothing of it is held now.
    fn conclude(&self, release: Release) -> Released {
        match release {
            Release::Freed => Released::Yes,
            Release::NotHeld => self.missing(LossCause::Gone),
            Release::Evicted => self.missing(LossCause::Evicted),
            Release::Unsettled { until } => {
                undo_until(self.core(), self.claim().clone(), until);
                Released::Yes
            }
        }
    }

    /// Nobody here knew that it was lost: those who still listen are told now.
    fn missing(&self, cause: LossCause) -> Released {
        let overdue = cause == LossCause::Gone && self.core().now() >= self.deadline;
        self.tell(if overdue { LossCause::Expired } else { cause });
        Released::AlreadyLost
    }

    fn tell(&self, cause: LossCause) {
        if self.hold.parted(Some(cause)) {
            report(Event::Lost { name: self.claim().name.clone(), token: self.hold.grant.number, cause });
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

    /// Only now may the next question of this process go out. It goes over the engine's connection: sent along with the
    /// release it would overtake it, and find the lock taken.
    fn settle(&self) {
        let line = &self.hold.line;
        let wakers = {
            let mut state = line.state();
            state.releasing -= 1;
            state.wake_settled()
        };
        wakers.into_iter().for_each(Waker::wake);
        kick(self.core(), line);
        self.core().lines.retire(line);
    }

    /// Until the lease would have ended anyway. A try that was sent and not answered may have freed it: then there is
    /// nothing left to find.
    async fn retry(&self, mut error: Error) -> Result<Release> {
        let core = self.core();
        let mut pauses = release_backoff();
        let mut may_be_freed = error.outcome_unknown();
        let last = self.deadline.min(core.now() + core.settings.give_up);
        let mut tried = false;
        loop {
            core.failed(Doing::Releasing, &self.claim().name, &error);
            let at = core.now() + pauses.pause();
            // The first try may have gone out over another connection than the engine's.
            if at >= last || (tried && !error.is_retryable()) {
                return Err(core.at_the_server(error).with_name(&self.claim().name));
            }
            core.clock().sleep_until(at).await;
            tried = true;
            match core.backend.release(self.claim(), self.leave).await {
                Ok(Release::NotHeld) if may_be_freed => return Ok(Release::Freed),
                Ok(release) => return Ok(release),
                Err(e) => error = e,
            }
            may_be_freed |= error.outcome_unknown();
        }
    }
}
