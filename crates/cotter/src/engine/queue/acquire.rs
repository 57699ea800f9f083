//! Acquisition: single round trips run in the caller's task, everything else on the engine.

use crate::backend::{Acquired, Claim, ClaimId, Grant, Until};
use crate::engine::core::Core;
use crate::engine::grant::hold::Hold;
use crate::engine::queue::ask_store::{end_first_try, enter_hold, kick};
use crate::engine::queue::first_try::{FirstAnswer, FirstTry, last_moment, take_over};
use crate::engine::queue::joined::keep_or_undo;
use crate::engine::queue::line::{Line, LineHandle, Lines, Phase, State};
use crate::engine::queue::recall::watch;
use crate::engine::queue::waiter::{Left, Waiter};
use crate::engine::timing::{ABANDONED_REQUEST, LATE_ANSWER, ROUND_TRIP};
use crate::sync::{RankedGuard, rank};
use crate::{Error, ErrorKind, Guard, Lease, Lost, Mode, Moment, Name, Owner, Result};
use std::future::poll_fn;
use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::time::Duration;

/// The time that a caller is ready to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    No,
    For(Duration),
    Forever,
}

/// A caller's request.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) name: Name,
    pub(crate) mode: Mode,
    pub(crate) lease: Lease,
    pub(crate) owner: Option<Owner>,
    pub(crate) wait: Wait,
    /// Whether it needs a grant of its own, whose token the store knows: no turns.
    pub(crate) alone: bool,
}

impl Request {
    /// Returns true if a grant for this request may pass from task to task.
    pub(crate) fn takes_turns(&self) -> bool {
        !self.alone && self.mode.is_exclusive()
    }

    pub(crate) fn claim(&self, core: &Core, turns: u16) -> Claim {
        Claim {
            name: self.name.clone(),
            id: ClaimId::random(),
            mode: self.mode,
            ttl: self.lease.ttl,
            turns,
            label: core.settings.label.clone(),
        }
    }
}

/// The line of a primitive, looked up on first use.
pub(crate) type Handle = Arc<OnceLock<LineHandle>>;

/// The state of the line when a request arrives.
enum Found {
    /// A request is in flight; nothing is waiting.
    InFlight,
    Busy,
    /// Others wait here for a store that does not answer.
    InTrouble(Error),
    Lost(Lost),
    /// The same owner holds the lock for reading and wants to write.
    Upgrade,
    /// This process uses the name as a lock and not as a semaphore, or vice versa.
    Mixed(Mode),
    /// The same owner holds the lock.
    Again(Guard),
    /// No task here holds or wants the lock.
    Free,
    Queued(Arc<Waiter>),
}

/// Acquires the lock; returns `Ok(None)` if it stayed busy until the wait was over.
pub(crate) async fn acquire(core: Arc<Core>, request: Request, handle: Handle) -> Result<Option<Guard>> {
    core.admit(&request)?;
    let until = core.until(request.wait);
    let (mut is_patient, mut patience) = (true, None::<Moment>);
    loop {
        let line = line_for(&core, &request, &handle);
        match enter(&core, &line, &request, until, is_patient) {
            Found::InFlight => {
                let end = *patience.get_or_insert_with(|| core.now() + ABANDONED_REQUEST);
                is_patient = until_quiet(&core, &line, end).await;
            }
            Found::Busy => return Ok(None),
            Found::InTrouble(error) => return Err(error),
            Found::Lost(lost) => return Err(lost.into()),
            Found::Upgrade => {
                let why = "its owner holds it for reading; release that before writing";
                return Err(Error::new(ErrorKind::Upgrade, why).with_name(&request.name));
            }
            Found::Mixed(held) => {
                let (is, wanted) =
                    if held.is_permits() { ("a semaphore", "a lock") } else { ("a lock", "a semaphore") };
                let why = format!("this process uses the name as {is}, not as {wanted}");
                return Err(Error::new(ErrorKind::LimitMismatch, why).with_name(&request.name));
            }
            Found::Again(guard) => return again(guard).await.map(Some),
            Found::Free => return ask(&core, &line, &request, until).await,
            Found::Queued(waiter) => return Waiting::new(&core, &line, waiter).wait().await,
        }
    }
}

/// Returns the line of a request. Without local turns, every acquisition queues in the store separately.
fn line_for(core: &Arc<Core>, request: &Request, handle: &Handle) -> Arc<Line> {
    if core.settings.local_turns || request.owner.is_some() {
        handle.get_or_init(|| Lines::keep(core, &request.name)).line.clone()
    } else {
        Arc::new(Line::new(request.name.clone()))
    }
}

/// An attempt that is not `patient` has waited long enough for what is in flight: its task does not poll it any more.
fn enter(core: &Arc<Core>, line: &Arc<Line>, request: &Request, until: Until, is_patient: bool) -> Found {
    let mut state = line.state();
    if let Some(held) = state.mixed_with(request.mode) {
        return Found::Mixed(held);
    }
    let owner = request.owner.as_ref().filter(|_| !request.mode.is_permits());
    if let Some(hold) = owner.and_then(|owner| state.hold_of(owner)).cloned() {
        return re_enter(state, &hold, request);
    }
    if let Some(lost) = state.loss_of(request) {
        return Found::Lost(lost);
    }
    state.skip_those_that_left();
    let queue = state.awake().is_some();
    if state.is_quiet() || !is_patient && state.is_open() && !queue {
        state.phase = Phase::Trying;
        return Found::Free;
    }
    if let Some(unpolled) = state.first_try.clone().filter(|_| !is_patient) {
        drop(state);
        take_over(core, line, &unpolled);
        return Found::Busy;
    }
    let trouble = state.trouble.as_ref().filter(|_| state.holder.is_none());
    match until.moment() {
        None if trouble.is_some() => trouble.cloned().map_or(Found::Busy, Found::InTrouble),
        None if state.holder.is_some() || queue || state.phase == Phase::Waiting => Found::Busy,
        None => Found::InFlight,
        Some(last) => {
            let waiter = Waiter::new(request.clone(), last);
            state.waiters.push_back(waiter.clone());
            if state.one_waits() {
                watch(core, line);
            }
            Found::Queued(waiter)
        }
    }
}

/// Keeps the line locked: its last guard must not be given back, nor the lock pass on, between the look and the re-entry.
fn re_enter(state: RankedGuard<'_, State, { rank::LINE }>, hold: &Arc<Hold>, request: &Request) -> Found {
    if request.mode.is_exclusive() && !hold.grant.claim.mode.is_exclusive() {
        return Found::Upgrade;
    }
    let Some(cause) = hold.loss() else {
        let (serial, token) = hold.re_enter();
        return Found::Again(Guard::new(hold.clone(), serial, token));
    };
    // Whoever notes a loss needs the line.
    drop(state);
    let cause = hold.lost().unwrap_or(cause);
    Found::Lost(Lost { name: hold.name().clone(), token: hold.grant.number.into(), cause })
}

/// With a fixed lease, a re-entry resets the full ttl, as the classical re-entrant Lua lock does.
async fn again(guard: Guard) -> Result<Guard> {
    let lease = guard.lease();
    if !lease.renewed {
        guard.extend(lease.ttl).await?;
    }
    Ok(guard)
}

/// Waits until no first attempt and no release of this name is in flight, or for a change of that. Returns false at `end`:
/// their tasks must have stopped polling them.
async fn until_quiet(core: &Core, line: &Arc<Line>, end: Moment) -> bool {
    let mut registered = false;
    let quiet = poll_fn(|cx| {
        let mut state = line.state();
        if registered || (state.releasing == 0 && state.phase != Phase::Trying) {
            return Poll::Ready(());
        }
        registered = true;
        state.quiet_wakers.push(cx.waker().clone());
        Poll::Pending
    });
    tokio::select! {
        biased;
        () = core.clock().sleep_until(end) => false,
        () = quiet => true,
    }
}

/// Makes the first attempt, in the caller's task.
async fn ask(core: &Arc<Core>, line: &Arc<Line>, request: &Request, until: Until) -> Result<Option<Guard>> {
    let claim = request.claim(core, 1);
    let mut attempt = None;
    let answer = if core.is_immediate() {
        core.backend.acquire(&claim, Until::Now).await
    } else {
        let waiter = Waiter::new(request.clone(), last_moment(until));
        let mut first_try = FirstTry::start(core, line, claim.clone(), waiter, until != Until::Now);
        let attempt = attempt.insert(first_try.attempt.clone());
        match in_time(core, until, &mut first_try).await {
            None => return Err(core.silence().with_name(&line.name).with_outcome_unknown()),
            Some(FirstAnswer::Queued(waiter)) => return Waiting::new(core, line, waiter).wait().await,
            Some(FirstAnswer::Answer(answer)) => {
                keep_or_undo(core, line, &claim, &attempt.carrier, &answer);
                answer
            }
        }
    };
    let guard = match answer {
        Ok(Acquired::Granted(grant)) => Ok(granted(core, line, grant, request)),
        other => Err(other.err()),
    };
    // Only now: `close` finds either the attempt or the hold.
    attempt.into_iter().for_each(|attempt| attempt.settle());
    match guard {
        Ok(guard) => Ok(Some(guard)),
        Err(trouble) => Box::pin(wait_on(core, line, request, until, trouble)).await,
    }
}

/// A wait with a limit does not wait for a store that hangs. The rest of the attempt is undone when it is dropped.
async fn in_time(core: &Core, until: Until, first_try: &mut FirstTry) -> Option<FirstAnswer> {
    let Until::Moment(last) = until else { return Some(first_try.await) };
    let last = (last + LATE_ANSWER).max(core.now() + ROUND_TRIP);
    tokio::select! {
        biased;
        asked = first_try => Some(asked),
        () = core.clock().sleep_until(last) => None,
    }
}

/// Continues after the first attempt did not get the lock: queues, if the caller is ready to wait and waiting can
/// help.
async fn wait_on(
    core: &Arc<Core>,
    line: &Arc<Line>,
    request: &Request,
    until: Until,
    trouble: Option<Error>,
) -> Result<Option<Guard>> {
    let hopeless = trouble.as_ref().is_some_and(|e| !e.is_retryable());
    if until == Until::Now || hopeless {
        end_first_try(core, line);
        return trouble.map_or(Ok(None), |e| Err(core.at_the_server(e).with_name(&line.name)));
    }
    if trouble.is_none() {
        core.hear();
    }
    let waiter = Waiter::new(request.clone(), last_moment(until));
    {
        let mut state = line.state();
        state.waiters.push_front(waiter.clone());
        state.trouble = trouble.map(|e| core.at_the_server(e).with_name(&line.name));
    }
    let place = Waiting::new(core, line, waiter);
    end_first_try(core, line);
    place.wait().await
}

/// Turns a grant into a guard.
fn granted(core: &Arc<Core>, line: &Arc<Line>, grant: Grant, request: &Request) -> Guard {
    let hold = Hold::new(core, line, grant, request.lease);
    let turn = hold.next_turn(request.owner.clone());
    let (serial, token) = turn.expect("a grant has at least one turn");
    enter_hold(line, &hold);
    hold.activate();
    let guard = Guard::new(hold, serial, token);
    if !request.mode.is_exclusive() {
        kick(core, line);
    }
    guard
}

/// The wait of a task in the local queue. Dropping it leaves the queue.
struct Waiting {
    core: Arc<Core>,
    line: Arc<Line>,
    waiter: Arc<Waiter>,
    since: Moment,
}

impl Waiting {
    fn new(core: &Arc<Core>, line: &Arc<Line>, waiter: Arc<Waiter>) -> Self {
        Self { core: core.clone(), line: line.clone(), waiter, since: core.now() }
    }

    async fn wait(self) -> Result<Option<Guard>> {
        let answer = poll_fn(|cx| {
            let slept = !self.waiter.is_awake();
            let answer = self.waiter.poll(cx);
            if slept && answer.is_pending() {
                self.woke_up();
            }
            answer
        });
        if self.waiter.last == Moment::NEVER {
            return answer.await.map(Some);
        }
        self.core.check_pulse(self.since);
        tokio::select! {
            biased;
            answer = answer => answer.map(Some),
            () = self.core.clock().sleep_until(self.waiter.last) => self.time_over().await,
        }
    }

    /// Nobody has asked the store for it while it slept.
    fn woke_up(&self) {
        let (unwatched, releasing) = {
            let mut state = self.line.state();
            (state.one_waits(), state.releasing > 0)
        };
        if unwatched {
            watch(&self.core, &self.line);
        }
        // A release that is in flight is followed by the next request.
        if !releasing {
            kick(&self.core, &self.line);
        }
    }

    /// Reports busy, unless the wait was caused by the store itself.
    async fn time_over(&self) -> Result<Option<Guard>> {
        let left = self.waiter.leave();
        if let Left::With(guard) = left {
            return Ok(Some(guard));
        }
        let (trouble, held_here) = {
            let state = self.line.state();
            (state.trouble.clone(), state.holder.is_some())
        };
        self.tidy(&left);
        if let Some(trouble) = trouble {
            return Err(trouble);
        }
        if !held_here {
            let by = (self.waiter.last + LATE_ANSWER).max(self.since + ROUND_TRIP);
            self.core.answers_since(self.since, by).await.map_err(|e| e.with_name(&self.line.name))?;
        }
        Ok(None)
    }

    fn tidy(&self, left: &Left) {
        if matches!(left, Left::Queue) {
            self.line.state().one_left();
            self.line.changed.notify_one();
            self.core.lines.retire(&self.line);
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let left = self.waiter.leave();
        self.tidy(&left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Client;

    const OF_TWO: Mode = Mode::Permits { take: 1, of: 2 };

    async fn ask(client: &Client, mode: Mode, owner: &Owner, wait: Wait) -> Result<Option<Guard>> {
        let (name, lease) = (Name::new("a").unwrap(), Lease::default());
        let request = Request { name, mode, lease, owner: Some(owner.clone()), wait, alone: false };
        acquire(client.core().clone(), request, Handle::default()).await
    }

    #[tokio::test]
    async fn permits_do_not_re_enter() {
        let (client, me) = (Client::connect("memory:").await.unwrap(), Owner::new());
        let first = ask(&client, OF_TWO, &me, Wait::No).await.unwrap().expect("two are free");
        let second = ask(&client, OF_TWO, &me, Wait::No).await.unwrap().expect("one is free");
        assert_ne!(first.token(), second.token());
        assert!(ask(&client, OF_TWO, &me, Wait::No).await.unwrap().is_none(), "both are taken");
    }

    /// The same owner would wait for itself.
    #[tokio::test]
    async fn a_lock_is_not_a_semaphore_within_a_process() {
        for (held, wanted) in [(Mode::Exclusive, OF_TWO), (Mode::Shared, OF_TWO), (OF_TWO, Mode::Exclusive)] {
            let (client, me) = (Client::connect("memory:").await.unwrap(), Owner::new());
            let _guard = ask(&client, held, &me, Wait::No).await.unwrap().expect("free");
            let refused = ask(&client, wanted, &me, Wait::For(Duration::from_secs(60)));
            let error = refused.await.expect_err("it is in use in another way");
            assert_eq!(error.kind(), ErrorKind::LimitMismatch, "{held:?} and {wanted:?}");
        }
    }
}
