//! Waiting for the store: one waiter per process and name, on the engine.

use crate::backend::{Acquired, Backoff, Claim, Grant, Until};
use crate::engine::background::in_background;
use crate::engine::core::Core;
use crate::engine::grant::hold::{Hold, Line, Waiter};
use crate::engine::grant::undo::undo;
use crate::engine::line::run::{change, change_with};
use crate::engine::line::todo::Todo;
use crate::engine::queue::first_try::{PendingAnswer, SharedTry, ask_on};
use crate::engine::queue::joined::{keep_or_undo, used_for};
use crate::engine::route::Carrier;
use crate::engine::timing::acquire_backoff;
use crate::sync::lock;
use crate::{Error, Guard, Moment, Result};
use std::pin::pin;
use std::sync::{Arc, Mutex};

/// The number of turns that a process requests when several of its tasks wait.
const TURNS: u16 = 1024;

/// Makes the engine ask the store on behalf of those that wait.
pub(crate) fn start_asking(core: &Arc<Core>, line: &Arc<Line>) {
    let (served, line) = (core.clone(), line.clone());
    in_background(core, async move { Server::new(&served, &line).run().await });
}

/// Asks the store on behalf of the first waiter, until a task here holds the lock or none waits.
pub(crate) struct Server {
    pub(super) core: Arc<Core>,
    pub(super) line: Arc<Line>,
    /// The time since which the store has not answered.
    pub(super) down_since: Mutex<Option<Moment>>,
    pub(super) pauses: Backoff,
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
        let next = change_with(&self.core, &self.line, |state| state.next_round(closed.as_ref()));
        let request = next.head.as_ref().map(|head| &head.request);
        let joined = next.joined.and_then(|claim| used_for(&self.core, *claim, request));
        let head = next.head?;
        let turns = if next.others_wait && head.request.takes_turns() { TURNS } else { 1 };
        let label = &self.core.settings.label;
        let ask = || Claim { mode: head.mode(), ..head.request.claim(label, turns) };
        Some(Round { claim: joined.unwrap_or_else(ask), head })
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
            undo(&self.core, claim.clone());
            return Outcome::Moot;
        };
        self.outcome(answer, claim, &Carrier::default())
    }

    pub(super) fn is_moot(&self, head: &Waiter) -> bool {
        self.core.usable().is_err() || !self.line.read(|state| state.still_wants(head))
    }

    fn outcome(&self, answer: Result<Acquired>, claim: &Claim, carrier: &Carrier) -> Outcome {
        keep_or_undo(&self.core, &self.line, claim, carrier, true, &answer);
        match answer.map(Acquired::granted) {
            Ok(Some(grant)) => Outcome::Granted(grant),
            Ok(None) => Outcome::Busy,
            Err(e) => Outcome::Failed(e),
        }
    }

    /// Gives the lock to the first waiter, if the grant can serve it. Returns false when another request is needed.
    fn deliver(&mut self, grant: Grant, asked_for: &Arc<Waiter>) -> bool {
        self.answered();
        let hold = Hold::new(&self.core, &self.line, grant, asked_for.request.lease);
        let served = change_with(&self.core, &self.line, |state| {
            let turn_of = |head: &Waiter| hold.next_turn(head.request.owner.clone());
            match state.head_like(asked_for).and_then(|head| turn_of(&head).map(|turn| (head, turn))) {
                None => (None, Todo::NOTHING),
                Some((head, turn)) => {
                    let (asks_on, todo) = state.served(&head, &hold);
                    (Some((head, turn, asks_on)), todo)
                }
            }
        });
        let Some((waiter, (serial, token), asks_on)) = served else {
            undo(&self.core, hold.grant.claim.clone());
            return false;
        };
        hold.activate();
        // If the waiter has just left, the guard is dropped here and passes itself on.
        drop(waiter.give(Box::new(Guard::new(hold, serial, token))));
        !asks_on
    }

    fn answered(&mut self) {
        self.pauses.reset();
        self.recovered();
        self.core.hear();
    }

    /// Whatever kept the store from answering is over.
    pub(super) fn recovered(&self) {
        *lock(&self.down_since) = None;
        change(&self.core, &self.line, |state| state.recovered());
    }
}
