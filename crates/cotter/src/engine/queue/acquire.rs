//! Getting a lock: what ends in one round trip happens in the caller's task, the rest on the engine.

use crate::backend::{Claim, ClaimId, Grant, Until};
use crate::engine::core::Core;
use crate::engine::grant::hold::Hold;
use crate::engine::grant::undo::undo;
use crate::engine::queue::ask_store::{kick, leave_asking, settle_grant};
use crate::engine::queue::first_try::{Asked, Asking, last_moment};
use crate::engine::queue::joined::Joined;
use crate::engine::queue::line::{Line, LineHandle, Lines, Phase};
use crate::engine::queue::recall::watch;
use crate::engine::queue::waiter::{Left, Slot};
use crate::engine::timing::{LATE_ANSWER, ROUND_TRIP};
use crate::{Error, ErrorKind, Guard, Lease, Lost, Mode, Moment, Name, Owner, Result};
use std::future::poll_fn;
use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::time::Duration;

/// How long a caller is ready to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    No,
    For(Duration),
    Forever,
}

/// What a caller wants.
#[derive(Debug, Clone)]
pub(crate) struct Want {
    pub(crate) name: Name,
    pub(crate) mode: Mode,
    pub(crate) lease: Lease,
    pub(crate) owner: Option<Owner>,
    pub(crate) wait: Wait,
}

impl Want {
    /// Whether one claim can serve both.
    pub(crate) fn shares_with(&self, other: &Self) -> bool {
        self.mode == other.mode && self.lease == other.lease
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

/// The line of a primitive, looked up at its first use.
pub(crate) type Handle = Arc<OnceLock<LineHandle>>;

/// What a newcomer finds.
enum Found {
    /// Something is in flight; nobody waits.
    Unsettled,
    Busy,
    Lost(Lost),
    /// The same owner reads, and wants to write.
    Upgrade,
    /// It is in use here as a lock and not as a semaphore, or the other way round.
    Mixed(Mode),
    /// The same owner holds it.
    Again(Guard),
    /// Nobody here holds or wants it.
    Free,
    Queued(Arc<Slot>),
}

/// Gets the lock; `Ok(None)` when it was busy until the wait was over.
pub(crate) async fn acquire(core: Arc<Core>, want: Want, handle: Handle) -> Result<Option<Guard>> {
    core.admit(&want)?;
    let until = core.until(want.wait);
    loop {
        let line = line_for(&core, &want, &handle);
        match enter(&core, &line, &want, until) {
            Found::Unsettled => settled(&line).await,
            Found::Busy => return Ok(None),
            Found::Lost(lost) => return Err(lost.into()),
            Found::Upgrade => {
                let why = "its owner holds it for reading; give that back before writing";
                return Err(Error::new(ErrorKind::Upgrade, why).with_name(&want.name));
            }
            Found::Mixed(held) => {
                let (is, wanted) =
                    if held.is_permits() { ("a semaphore", "a lock") } else { ("a lock", "a semaphore") };
                let why = format!("this process uses the name as {is}, not as {wanted}");
                return Err(Error::new(ErrorKind::LimitMismatch, why).with_name(&want.name));
            }
            Found::Again(guard) => return again(guard).await.map(Some),
            Found::Free => return ask(&core, &line, &want, until).await,
            Found::Queued(slot) => return Place::new(&core, &line, slot).wait().await,
        }
    }
}

/// Without local turns every acquisition stands in the store's queue for itself.
fn line_for(core: &Arc<Core>, want: &Want, handle: &Handle) -> Arc<Line> {
    if core.settings.local_turns || want.owner.is_some() {
        handle.get_or_init(|| Lines::keep(core, &want.name)).line.clone()
    } else {
        Arc::new(Line::new(want.name.clone()))
    }
}

fn enter(core: &Arc<Core>, line: &Arc<Line>, want: &Want, until: Until) -> Found {
    let mut state = line.state();
    if let Some(held) = state.mixed_with(want.mode) {
        return Found::Mixed(held);
    }
    let owner = want.owner.as_ref().filter(|_| !want.mode.is_permits());
    if let Some(hold) = owner.and_then(|owner| state.hold_of(owner)).cloned() {
        drop(state);
        return re_enter(&hold, want);
    }
    if let Some(lost) = state.loss_of(want) {
        return Found::Lost(lost);
    }
    let queue = state.head().is_some();
    if state.is_quiet() {
        state.phase = Phase::Asking;
        return Found::Free;
    }
    match until.moment() {
        None if state.holder.is_some() || queue || state.phase == Phase::Waiting => Found::Busy,
        None => Found::Unsettled,
        Some(last) => {
            let slot = Slot::new(want.clone(), last);
            state.waiters.push_back(slot.clone());
            let behind_a_request = state.asking.is_some() || state.releasing > 0;
            if state.given.newcomer(behind_a_request) {
                watch(core, line);
            }
            Found::Queued(slot)
        }
    }
}

fn re_enter(hold: &Arc<Hold>, want: &Want) -> Found {
    if want.mode.is_exclusive() && !hold.grant.claim.mode.is_exclusive() {
        return Found::Upgrade;
    }
    match hold.lost() {
        Some(cause) => {
            Found::Lost(Lost { name: hold.name().clone(), token: hold.grant.number.into(), cause })
        }
        None => {
            let (serial, token) = hold.re_enter();
            Found::Again(Guard::new(hold.clone(), serial, token))
        }
    }
}

/// With a fixed lease a re-entry sets the full ttl anew, as the classical re-entrant Lua lock does.
async fn again(guard: Guard) -> Result<Guard> {
    let lease = guard.lease();
    if !lease.renewed {
        guard.extend(lease.ttl).await?;
    }
    Ok(guard)
}

/// Waits until no first attempt and no release of this name is in flight.
async fn settled(line: &Arc<Line>) {
    let mut registered = false;
    poll_fn(|cx| {
        let mut state = line.state();
        if registered || (state.releasing == 0 && state.phase != Phase::Asking) {
            return Poll::Ready(());
        }
        registered = true;
        state.settle.push(cx.waker().clone());
        Poll::Pending
    })
    .await;
}

/// The first attempt, in the caller's task.
async fn ask(core: &Arc<Core>, line: &Arc<Line>, want: &Want, until: Until) -> Result<Option<Guard>> {
    let claim = want.claim(core, 1);
    let answer = if core.is_immediate() {
        core.backend.acquire(&claim, Until::Now).await
    } else {
        let slot = Slot::new(want.clone(), last_moment(until));
        let mut asking = Asking::start(core, line, claim.clone(), slot, until != Until::Now);
        match in_time(core, until, &mut asking).await {
            None => return Err(core.silence().with_name(&line.name).with_outcome_unknown()),
            Some(Asked::Queued(slot)) => return Place::new(core, line, slot).wait().await,
            Some(Asked::Answer(answer)) => {
                match &answer {
                    Ok(None) if asking.attempt.may_stand_in_line() => {
                        line.state().joined = Some(Joined::new(core, claim));
                    }
                    Err(e) if e.outcome_unknown() => undo(core, claim, &asking.attempt.carrier, true),
                    _ => {}
                }
                answer
            }
        }
    };
    match answer {
        Ok(Some(grant)) => Ok(Some(granted(core, line, grant, want))),
        other => Box::pin(wait_on(core, line, want, until, other.err())).await,
    }
}

/// What has a limit does not wait for a store that hangs. What is left of the attempt is undone when it is dropped.
async fn in_time(core: &Core, until: Until, asking: &mut Asking) -> Option<Asked> {
    let Until::Moment(last) = until else { return Some(asking.await) };
    let last = (last + LATE_ANSWER).max(core.now() + ROUND_TRIP);
    tokio::select! {
        biased;
        asked = asking => Some(asked),
        () = core.clock().sleep_until(last) => None,
    }
}

/// The first attempt did not get it: in line, if the caller is ready to wait and it can help.
async fn wait_on(
    core: &Arc<Core>,
    line: &Arc<Line>,
    want: &Want,
    until: Until,
    trouble: Option<Error>,
) -> Result<Option<Guard>> {
    let hopeless = trouble.as_ref().is_some_and(|e| !e.is_retryable());
    if until == Until::Now || hopeless {
        leave_asking(core, line);
        return trouble.map_or(Ok(None), |e| Err(core.at_the_server(e).with_name(&line.name)));
    }
    if trouble.is_none() {
        core.hear();
    }
    let slot = Slot::new(want.clone(), last_moment(until));
    {
        let mut state = line.state();
        state.waiters.push_front(slot.clone());
        state.trouble = trouble.map(|e| core.at_the_server(e).with_name(&line.name));
    }
    let place = Place::new(core, line, slot);
    leave_asking(core, line);
    place.wait().await
}

/// Makes a guard of a grant.
fn granted(core: &Arc<Core>, line: &Arc<Line>, grant: Grant, want: &Want) -> Guard {
    let hold = Hold::new(core, line, grant, want.lease);
    let turn = hold.next_turn(want.owner.clone());
    let (serial, token) = turn.expect("a grant has at least one turn");
    settle_grant(line, &hold);
    hold.activate();
    let guard = Guard::new(hold, serial, token);
    if !want.mode.is_exclusive() {
        kick(core, line);
    }
    guard
}

/// A place in the local queue; dropping it leaves the queue.
struct Place {
    core: Arc<Core>,
    line: Arc<Line>,
    slot: Arc<Slot>,
    since: Moment,
}

impl Place {
    fn new(core: &Arc<Core>, line: &Arc<Line>, slot: Arc<Slot>) -> Self {
        Self { core: core.clone(), line: line.clone(), slot, since: core.now() }
    }

    async fn wait(self) -> Result<Option<Guard>> {
        let answer = poll_fn(|cx| self.slot.poll(cx));
        if self.slot.last == Moment::NEVER {
            return answer.await.map(Some);
        }
        self.core.check_pulse(self.since);
        tokio::select! {
            biased;
            answer = answer => answer.map(Some),
            () = self.core.clock().sleep_until(self.slot.last) => self.time_over().await,
        }
    }

    /// Busy, unless what kept us waiting was the store itself.
    async fn time_over(&self) -> Result<Option<Guard>> {
        let left = self.slot.leave();
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
            let by = (self.slot.last + LATE_ANSWER).max(self.since + ROUND_TRIP);
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

impl Drop for Place {
    fn drop(&mut self) {
        let left = self.slot.leave();
        self.tidy(&left);
    }
}
