//! Getting a lock: what ends in one round trip happens in the caller's task, the rest on the engine.

use super::core::Core;
use super::hold::Hold;
use super::recall::watch;
use super::serve::kick;
use super::turns::{Left, Line, Phase, Slot};
use super::undo::{abandon, undo};
use crate::backend::{Claim, ClaimId, Extension, Grant, Until};
use crate::{Guard, Lease, Lost, Mode, Moment, Name, Owner, Result};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
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

/// What a newcomer finds.
enum Found {
    /// The line was retired meanwhile.
    Retired,
    /// Something is in flight; nobody waits.
    Unsettled,
    Busy,
    Lost(Lost),
    /// The same owner holds it.
    Again(Guard),
    /// Nobody here holds or wants it.
    Free,
    Queued(Arc<Slot>),
}

/// Gets the lock; `Ok(None)` when it was busy until the wait was over.
pub(crate) async fn acquire(core: Arc<Core>, want: Want) -> Result<Option<Guard>> {
    core.admit(&want)?;
    let until = core.until(want.wait);
    loop {
        let line = line_for(&core, &want);
        match enter(&core, &line, &want, until) {
            Found::Retired => {}
            Found::Unsettled => settled(&line).await,
            Found::Busy => return Ok(None),
            Found::Lost(lost) => return Err(lost.into()),
            Found::Again(guard) => return again(guard).await.map(Some),
            Found::Free => return ask(&core, &line, want, until).await,
            Found::Queued(slot) => return Place::new(&core, &line, slot).wait().await,
        }
    }
}

/// Without local turns every acquisition stands in the store's queue for itself.
fn line_for(core: &Core, want: &Want) -> Arc<Line> {
    if core.settings.local_turns || want.owner.is_some() {
        core.lines.get(&want.name)
    } else {
        Arc::new(Line::new(want.name.clone()))
    }
}

fn enter(core: &Arc<Core>, line: &Arc<Line>, want: &Want, until: Until) -> Found {
    let Some(mut state) = line.lock() else { return Found::Retired };
    if let (Some(hold), Some(owner)) = (&state.holder, &want.owner) {
        if hold.belongs_to(owner) {
            let hold = hold.clone();
            drop(state);
            return re_enter(&hold);
        }
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
            if state.given.newcomer() {
                watch(core, line);
            }
            Found::Queued(slot)
        }
    }
}

fn re_enter(hold: &Arc<Hold>) -> Found {
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
        let Some(mut state) = line.lock() else { return Poll::Ready(()) };
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
async fn ask(core: &Arc<Core>, line: &Arc<Line>, want: Want, until: Until) -> Result<Option<Guard>> {
    let claim = want.claim(core, 1);
    let answer = Asking::new(core, line, claim.clone()).await;
    let trouble = match answer {
        Ok(Some(grant)) => return Ok(Some(granted(core, line, grant, &want))),
        Ok(None) => None,
        Err(e) => {
            if e.outcome_unknown() {
                undo(core, claim, true);
            }
            Some(e)
        }
    };
    let Some(last) = until.moment() else {
        leave_asking(core, line);
        return trouble.map_or(Ok(None), Err);
    };
    if let Some(e) = trouble.as_ref().filter(|e| !e.is_retryable()) {
        leave_asking(core, line);
        return Err(e.clone());
    }
    let slot = Slot::new(want, last);
    {
        let mut state = line.state();
        state.waiters.push_front(slot.clone());
        state.trouble = trouble;
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

/// Enters a hold into its line.
pub(super) fn settle_grant(line: &Line, hold: &Arc<Hold>) {
    let wakers = {
        let mut state = line.state();
        state.phase = Phase::Idle;
        state.trouble = None;
        if hold.grant.claim.mode.is_exclusive() {
            state.holder = Some(hold.clone());
        }
        state.wake_settled()
    };
    wakers.into_iter().for_each(std::task::Waker::wake);
}

/// The attempt of a caller is over without a grant: the next one may ask.
fn leave_asking(core: &Arc<Core>, line: &Arc<Line>) {
    let wakers = {
        let mut state = line.state();
        state.phase = Phase::Idle;
        state.wake_settled()
    };
    wakers.into_iter().for_each(std::task::Waker::wake);
    kick(core, line);
    core.lines.retire(line);
}

type Answering = Pin<Box<dyn Future<Output = Result<Option<Grant>>> + Send>>;

/// A first attempt. Dropped before it was answered, it is answered on the engine and undone there.
struct Asking {
    core: Arc<Core>,
    line: Arc<Line>,
    claim: Claim,
    answering: Option<Answering>,
}

impl Asking {
    fn new(core: &Arc<Core>, line: &Arc<Line>, claim: Claim) -> Self {
        let (backend, drift, asked) = (core.clone(), core.clone(), claim.clone());
        let answering = Box::pin(async move {
            match backend.backend.acquire(&asked, Until::Now).await? {
                Some(grant) => freshen(&drift, grant).await,
                None => Ok(None),
            }
        });
        Self { core: core.clone(), line: line.clone(), claim, answering: Some(answering) }
    }
}

impl Future for Asking {
    type Output = Result<Option<Grant>>;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let answering = self.answering.as_mut().expect("polled after it was done");
        let answer = answering.as_mut().poll(cx);
        if answer.is_ready() {
            self.answering = None;
        }
        answer
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        if let Some(answering) = self.answering.take() {
            abandon(&self.core, self.claim.clone(), answering);
            leave_asking(&self.core, &self.line);
        }
    }
}

/// A grant that arrives with less than half of its time left is renewed first: given back, it would lose its place.
pub(super) async fn freshen(core: &Core, mut grant: Grant) -> Result<Option<Grant>> {
    let Some(ttl) = grant.ttl else { return Ok(Some(grant)) };
    let wanted = grant.claim.ttl;
    let left = (grant.as_of + ttl).since(core.now());
    if left >= wanted / 2 {
        return Ok(Some(grant));
    }
    let answer = core.backend.extend(&[&grant], wanted).await.pop();
    match answer {
        Some(Ok(Extension::Extended { as_of, ttl })) => {
            (grant.as_of, grant.ttl) = (as_of, ttl);
            Ok(Some(grant))
        }
        Some(Ok(Extension::Lost)) => {
            let why = "the grant had ended before its answer arrived";
            Err(unknown(why).with_name(&grant.claim.name))
        }
        Some(Err(e)) => Err(e.with_outcome_unknown()),
        None => Err(unknown("the store answered fewer extensions than were asked for")),
    }
}

fn unknown(why: &str) -> crate::Error {
    crate::Error::new(crate::ErrorKind::Unavailable, why).with_outcome_unknown()
}

/// A place in the local queue; dropping it leaves the queue.
struct Place {
    core: Arc<Core>,
    line: Arc<Line>,
    slot: Arc<Slot>,
}

impl Place {
    fn new(core: &Arc<Core>, line: &Arc<Line>, slot: Arc<Slot>) -> Self {
        Self { core: core.clone(), line: line.clone(), slot }
    }

    async fn wait(self) -> Result<Option<Guard>> {
        let answer = poll_fn(|cx| self.slot.poll(cx));
        if self.slot.last == Moment::NEVER {
            return answer.await.map(Some);
        }
        tokio::select! {
            biased;
            answer = answer => answer.map(Some),
            () = self.core.clock().sleep_until(self.slot.last) => self.time_over(),
        }
    }

    /// Busy, unless what kept us waiting was the store itself.
    fn time_over(&self) -> Result<Option<Guard>> {
        match self.slot.leave() {
            Left::With(guard) => Ok(Some(guard)),
            left => {
                self.tidy(&left);
                self.line.state().trouble.clone().map_or(Ok(None), Err)
            }
        }
    }

    fn tidy(&self, left: &Left) {
        if matches!(left, Left::Queue) {
            self.line.state().waiters.retain(|w| !Arc::ptr_eq(w, &self.slot));
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
