//! Waiting for the store: one waiter per process and name, on the engine.

use crate::backend::{Acquired, Backend, Backoff, Claim, Extension, Grant, Until};
use crate::engine::background::in_background;
use crate::engine::core::Core;
use crate::engine::grant::hold::{Hold, believed};
use crate::engine::grant::undo::undo;
use crate::engine::queue::first_try::{PendingAnswer, SharedTry, ask_on};
use crate::engine::queue::joined::keep_or_undo;
use crate::engine::queue::line::{Line, Phase};
use crate::engine::queue::recall::watch;
use crate::engine::queue::waiter::Waiter;
use crate::engine::report::Doing;
use crate::engine::route::Carrier;
use crate::engine::timing::{HEARTBEAT, HEARTBEATS, USABLE_LEASE, acquire_backoff};
use crate::sync::lock;
use crate::{Error, ErrorKind, Guard, Lease, Mode, Moment, Result};
use std::convert::Infallible;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::Waker;

/// The number of turns that a process requests when several of its tasks wait.
pub(crate) const TURNS: u16 = 1024;

/// Makes the engine ask the store when a task waits and nothing is asking yet.
pub(crate) fn kick(core: &Arc<Core>, line: &Arc<Line>) {
    {
        let mut state = line.state();
        if !state.is_open() || state.awake().is_none() {
            return;
        }
        state.phase = Phase::Waiting;
    }
    let (served, line) = (core.clone(), line.clone());
    in_background(core, async move { Server::new(&served, &line).run().await });
}

/// Enters a hold into its line.
pub(crate) fn enter_hold(line: &Line, hold: &Arc<Hold>) {
    let wakers = {
        let mut state = line.state();
        (state.phase, state.first_try, state.trouble) = (Phase::Idle, None, None);
        if hold.grant.claim.mode.is_exclusive() {
            state.holder = Some(hold.clone());
        } else if hold.has_owner() {
            state.readers.push(hold.clone());
        }
        state.wake_quiet()
    };
    wakers.into_iter().for_each(Waker::wake);
}

/// Ends a caller's attempt that got no grant: the next one may ask.
pub(crate) fn end_first_try(core: &Arc<Core>, line: &Arc<Line>) {
    let wakers = {
        let mut state = line.state();
        (state.phase, state.first_try) = (Phase::Idle, None);
        state.wake_quiet()
    };
    wakers.into_iter().for_each(Waker::wake);
    kick(core, line);
    core.lines.retire(line);
}

/// Returns true if the grant arrived with too little time left: less than half, or less than suffices until its first
/// renewal.
pub(crate) fn is_stale(core: &Core, grant: &Grant, lease: Lease) -> bool {
    let half = grant.claim.ttl / 2;
    let least = if lease.renewed { half.min(USABLE_LEASE) } else { half };
    grant.ttl.is_some_and(|ttl| (grant.as_of + ttl).since(core.now()) < least)
}

/// Renews such a grant before use: if it were released, it would lose its place.
pub(crate) async fn freshen(core: &Core, on: &dyn Backend, mut grant: Grant) -> Result<Grant> {
    let wanted = grant.claim.ttl;
    let unknown = |why| Error::new(ErrorKind::Unavailable, why).with_outcome_unknown();
    match on.extend(&[&grant], wanted).await.pop() {
        Some(Ok(Extension::Extended { as_of, ttl })) => {
            let ttl = believed(ttl, wanted);
            (grant.as_of, grant.ttl) = (as_of, ttl);
            // The caller may have looked at this answer late, too.
            let is_over = ttl.is_some_and(|ttl| as_of + ttl <= core.now());
            if is_over { Err(unknown("the grant had ended before its answer was read")) } else { Ok(grant) }
        }
        Some(Ok(Extension::Lost(_))) => Err(unknown("the grant had ended before its answer arrived")),
        Some(Err(e)) => Err(e.with_outcome_unknown()),
        None => Err(unknown("the store answered fewer extensions than were asked for")),
    }
}

/// Asks the store on behalf of the first waiter, until a task here holds the lock or none waits.
pub(crate) struct Server {
    core: Arc<Core>,
    line: Arc<Line>,
    /// The time since which the store has not answered.
    down_since: Mutex<Option<Moment>>,
    pauses: Backoff,
}

/// One request to the store.
struct Round {
    head: Arc<Waiter>,
    claim: Claim,
}

enum Outcome {
    Granted(Grant),
    Busy,
    /// The waiter that it was sent for is gone.
    Moot,
    Failed(Error),
}

impl Server {
    pub(crate) fn new(core: &Arc<Core>, line: &Arc<Line>) -> Self {
        Self {
            core: core.clone(),
            line: line.clone(),
            down_since: Mutex::default(),
            pauses: acquire_backoff(),
        }
    }

    async fn run(mut self) {
        while let Some(round) = self.round() {
            let outcome = self.drive(&round).await;
            if self.took(outcome, &round.head, &round.claim).await {
                return;
            }
        }
    }

    /// Continues the attempt of a caller that has stopped polling it.
    pub(crate) async fn go_on(mut self, pending: PendingAnswer, attempt: &SharedTry) {
        let (carrier, claim) = (&attempt.carrier, &attempt.claim);
        let outcome = self.outcome(pending.await, claim, carrier);
        if !self.took(outcome, &attempt.waiter, claim).await {
            self.run().await;
        }
    }

    /// Returns true when a task here holds the lock and nothing more has to be asked.
    async fn took(&mut self, outcome: Outcome, head: &Arc<Waiter>, claim: &Claim) -> bool {
        match outcome {
            Outcome::Granted(grant) => return self.deliver(grant, head),
            Outcome::Busy => self.answered(),
            // The store has not answered.
            Outcome::Moot => {}
            Outcome::Failed(e) => self.failed(e, head, claim).await,
        }
        false
    }

    /// Returns the next request; `None`, after which nothing asks any more, when no task waits.
    fn round(&self) -> Option<Round> {
        let closed = self.core.usable().err();
        let mut state = self.line.state();
        if let Some(why) = closed {
            state.waiters.drain(..).for_each(|w| w.fail(why.clone()));
        }
        let (head, joined) = (state.awake().cloned(), state.joined.take());
        let Some(head) = head else {
            state.phase = Phase::Idle;
            let wakers = state.wake_quiet();
            drop(state);
            wakers.into_iter().for_each(Waker::wake);
            self.core.lines.retire(&self.line);
            return None;
        };
        let turns = if state.waiters.len() > 1 && head.request.takes_turns() { TURNS } else { 1 };
        drop(state);
        let claim = joined.and_then(|joined| joined.serves(&head.request));
        let ask = || Claim { mode: head.mode(), ..head.request.claim(&self.core, turns) };
        Some(Round { claim: claim.unwrap_or_else(ask), head })
    }

    async fn drive(&self, round: &Round) -> Outcome {
        let claim = &round.claim;
        // A waiter that has waited long enough leaves by itself. The claim stays for those behind it: a new one would
        // go to the end of the store's queue.
        let answer = {
            let (backend, lease) = (&*self.core.backend, round.head.request.lease);
            let mut asked = pin!(ask_on(&self.core, backend, claim, lease, Until::Forever));
            let mut minding = pin!(self.mind_the_store());
            loop {
                tokio::select! {
                    biased;
                    answer = &mut asked => break Some(answer),
                    () = self.line.changed.notified() => {}
                    () = self.core.closing() => {}
                    never = &mut minding => match never {},
                }
                if self.is_moot(&round.head) {
                    break None;
                }
            }
        };
        // Only now that the request is dropped does the backend know what was left unanswered.
        let Some(answer) = answer else {
            undo(&self.core, claim.clone(), &Carrier::default(), false);
            return Outcome::Moot;
        };
        self.outcome(answer, claim, &Carrier::default())
    }

    fn is_moot(&self, head: &Waiter) -> bool {
        self.core.usable().is_err() || !self.line.still_wants(head)
    }

    fn outcome(&self, answer: Result<Acquired>, claim: &Claim, carrier: &Carrier) -> Outcome {
        keep_or_undo(&self.core, &self.line, claim, carrier, &answer);
        match answer.map(Acquired::granted) {
            Ok(Some(grant)) => Outcome::Granted(grant),
            Ok(None) => Outcome::Busy,
            Err(e) => Outcome::Failed(e),
        }
    }

    /// Gives the lock to the first waiter that can use it. Returns false when another request is needed.
    fn deliver(&mut self, grant: Grant, asked_for: &Arc<Waiter>) -> bool {
        self.answered();
        let hold = Hold::new(&self.core, &self.line, grant, asked_for.request.lease);
        let Some((waiter, guard)) = self.first_guard(&hold, asked_for) else {
            undo(&self.core, hold.grant.claim.clone(), &Carrier::default(), false);
            return false;
        };
        let exclusive = hold.grant.claim.mode.is_exclusive();
        // If the waiter has just left, the guard is dropped here and passes itself on.
        drop(waiter.give(guard));
        exclusive || !self.more_to_ask()
    }

    /// Creates a guard for the first waiter, if this grant can serve it.
    fn first_guard(&self, hold: &Arc<Hold>, asked_for: &Waiter) -> Option<(Arc<Waiter>, Box<Guard>)> {
        let (waiter, unwatched) = {
            let mut state = self.line.state();
            let head = state.head()?.clone();
            if !head.shares_with(asked_for) {
                return None;
            }
            let unwatched = state.pop(&head);
            (head, unwatched)
        };
        if unwatched {
            watch(&self.core, &self.line);
        }
        let (serial, token) = hold.next_turn(waiter.request.owner.clone())?;
        enter_hold(&self.line, hold);
        hold.activate();
        Some((waiter, Box::new(Guard::new(hold.clone(), serial, token))))
    }

    /// After a shared grant: returns true if the next waiter may be served as well.
    fn more_to_ask(&self) -> bool {
        let mut state = self.line.state();
        let more = state.is_open() && state.awake().is_some();
        if more {
            state.phase = Phase::Waiting;
        }
        more
    }

    fn answered(&mut self) {
        self.pauses.reset();
        self.recovered();
        self.core.hear();
    }

    /// Whatever kept the store from answering is over.
    fn recovered(&self) {
        *lock(&self.down_since) = None;
        self.line.state().trouble = None;
    }

    /// Watches the store while a request is queued there: such a request gets no answer, whether the store is alive or
    /// not. If it is, an outage before this request is over, although its answer may take hours.
    async fn mind_the_store(&self) -> Infallible {
        let core = &self.core;
        if core.is_immediate() {
            return std::future::pending().await;
        }
        let beat = (core.settings.give_up / HEARTBEATS).clamp(HEARTBEAT.0, HEARTBEAT.1);
        loop {
            let before = core.now();
            core.clock().sleep_until(before + beat).await;
            let asked = core.now();
            match core.answers_since(before, asked + HEARTBEAT.1).await {
                Ok(()) => self.recovered(),
                Err(e) => {
                    let since = *lock(&self.down_since).get_or_insert(asked);
                    self.in_trouble(&e.with_name(&self.line.name), since, None);
                    self.line.changed.notify_one();
                }
            }
        }
    }

    /// Handles an error. Retryable: fails the waiters that have waited too long, and pauses. Otherwise: fails all whom it
    /// concerns.
    async fn failed(&mut self, error: Error, head: &Arc<Waiter>, claim: &Claim) {
        let now = self.core.now();
        let since = *lock(&self.down_since).get_or_insert(now);
        let told = self.core.at_the_server(error.clone()).with_name(&self.line.name);
        // Others here may use the name in the way that is refused to these.
        let only = (error.kind() == ErrorKind::LimitMismatch).then_some(claim.mode);
        if only.is_some() {
            self.until_resized().await;
        }
        self.in_trouble(&told, since, only);
        if error.is_retryable() {
            self.pause(head).await;
        }
    }

    /// The store may have answered under a new limit that this client has set, and has not yet told the waiters.
    async fn until_resized(&self) {
        while self.line.state().resizing > 0 && !self.core.is_closed() {
            tokio::select! {
                () = self.line.changed.notified() => {}
                () = self.core.closing() => {}
            }
        }
    }

    /// Notes an error, and fails those whom it gives no hope: all, or only those of this mode.
    fn in_trouble(&self, error: &Error, since: Moment, only: Option<Mode>) {
        if only.is_none() {
            self.core.failed(Doing::Acquiring, &self.line.name, error);
        }
        let hopeless = !error.is_retryable();
        let too_long = self.core.now().since(since) >= self.core.settings.give_up;
        let mut state = self.line.state();
        state.trouble = only.is_none().then(|| error.clone());
        state.waiters.retain(|w| {
            let concerned = only.is_none_or(|mode| w.mode() == mode);
            let fails = (hopeless && concerned) || (too_long && w.last == Moment::NEVER);
            if fails {
                w.fail(error.clone());
            }
            !fails
        });
    }

    /// Waits for the back-off, or less when the queue changes in a relevant way.
    async fn pause(&mut self, head: &Waiter) {
        let mut sleep = self.core.clock().sleep_until(self.core.now() + self.pauses.pause());
        loop {
            tokio::select! {
                biased;
                () = &mut sleep => return,
                () = self.line.changed.notified() => {}
                () = self.core.closing() => {}
            }
            if self.is_moot(head) {
                return;
            }
        }
    }
}
