//! Waiting for the store: one waiter per process and name, on the engine.

use super::acquire::{freshen, settle_grant};
use super::core::Core;
use super::hold::Hold;
use super::recall::watch;
use super::report::{Event, report};
use super::turns::{Line, Phase, Slot};
use super::undo::{in_background, undo};
use crate::backend::{Claim, Grant, Until};
use crate::{Error, Guard, Moment, Result};
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

/// How many turns a process asks for when several of its tasks wait.
pub(super) const TURNS: u16 = 1024;

/// Has the engine ask the store when somebody waits and nobody asks yet.
pub(crate) fn kick(core: &Arc<Core>, line: &Arc<Line>) {
    {
        let mut state = line.state();
        if !state.is_open() || state.head().is_none() {
            return;
        }
        state.phase = Phase::Waiting;
    }
    let (served, line) = (core.clone(), line.clone());
    in_background(core, async move { Server { core: served, line, down_since: None, tries: 0 }.run().await });
}

/// Asks the store on behalf of the first who waits, until somebody here holds or nobody here waits.
struct Server {
    core: Arc<Core>,
    line: Arc<Line>,
    /// Since when the store has not answered.
    down_since: Option<Moment>,
    tries: u32,
}

/// One question to the store.
struct Round {
    head: Arc<Slot>,
    claim: Claim,
    until: Until,
}

enum Outcome {
    Granted(Grant),
    Busy,
    /// The one it was for has gone.
    Moot,
    Failed(Error),
}

impl Server {
    async fn run(mut self) {
        while let Some(round) = self.round() {
            match self.drive(&round).await {
                Outcome::Granted(grant) => {
                    if self.deliver(grant, &round.head) {
                        return;
                    }
                }
                Outcome::Busy | Outcome::Moot => self.answered(),
                Outcome::Failed(e) => self.failed(e, &round).await,
            }
        }
    }

    /// What to ask next; `None`, and nobody asks any more, when nobody waits.
    fn round(&self) -> Option<Round> {
        let closed = self.core.usable().err();
        let mut state = self.line.state();
        if let Some(why) = closed {
            state.waiters.drain(..).for_each(|w| w.fail(why.clone()));
        }
        let head = state.head().cloned();
        let Some(head) = head else {
            state.phase = Phase::Idle;
            let wakers = state.wake_settled();
            drop(state);
            wakers.into_iter().for_each(Waker::wake);
            self.core.lines.retire(&self.line);
            return None;
        };
        let last = state.waiters.iter().map(|w| w.last).max().unwrap_or(head.last);
        let turns = if state.waiters.len() > 1 && head.want.mode.is_exclusive() { TURNS } else { 1 };
        let until = if last == Moment::NEVER { Until::Forever } else { Until::Moment(last) };
        Some(Round { claim: head.want.claim(&self.core, turns), head, until })
    }

    async fn drive(&self, round: &Round) -> Outcome {
        let (backend, claim) = (&self.core.backend, &round.claim);
        let asked = async {
            match backend.acquire(claim, round.until).await? {
                Some(grant) => freshen(&self.core, grant).await,
                None => Ok(None),
            }
        };
        let mut asked = std::pin::pin!(asked);
        let answer: Result<Option<Grant>> = loop {
            tokio::select! {
                biased;
                answer = &mut asked => break answer,
                () = self.line.changed.notified() => {
                    if self.core.usable().is_err() || !self.line.still_wants(claim, &round.head) {
                        undo(&self.core, claim.clone(), false);
                        return Outcome::Moot;
                    }
                }
            }
        };
        match answer {
            Ok(Some(grant)) => Outcome::Granted(grant),
            Ok(None) => Outcome::Busy,
            Err(e) => {
                if e.outcome_unknown() {
                    undo(&self.core, claim.clone(), true);
                }
                Outcome::Failed(e)
            }
        }
    }

    /// Gives the lock to the first who waits and can use it. False when more is to be asked.
    fn deliver(&mut self, grant: Grant, asked_for: &Arc<Slot>) -> bool {
        self.answered();
        let hold = Hold::new(&self.core, &self.line, grant, asked_for.want.lease);
        let Some((slot, guard)) = self.first_guard(&hold, asked_for) else {
            undo(&self.core, hold.grant.claim.clone(), false);
            return false;
        };
        let exclusive = hold.grant.claim.mode.is_exclusive();
        // If the waiter has just left, the guard is dropped here and passes itself on.
        drop(slot.give(guard));
        exclusive || !self.more_to_ask()
    }

    /// A guard for the first waiter, if this grant can serve it.
    fn first_guard(&self, hold: &Arc<Hold>, asked_for: &Slot) -> Option<(Arc<Slot>, Box<Guard>)> {
        let (slot, unwatched) = {
            let mut state = self.line.state();
            let head = state.head()?.clone();
            if !head.want.shares_with(&asked_for.want) {
                return None;
            }
            let unwatched = state.pop(&head);
            (head, unwatched)
        };
        if unwatched {
            watch(&self.core, &self.line);
        }
        let (serial, token) = hold.next_turn(slot.want.owner.clone())?;
        settle_grant(&self.line, hold);
        hold.activate();
        Some((slot, Box::new(Guard::new(hold.clone(), serial, token))))
    }

    /// After a shared grant: the next in line may be served too.
    fn more_to_ask(&self) -> bool {
        let mut state = self.line.state();
        let more = state.is_open() && state.head().is_some();
        if more {
            state.phase = Phase::Waiting;
        }
        more
    }

    fn answered(&mut self) {
        (self.down_since, self.tries) = (None, 0);
        self.line.state().trouble = None;
    }

    /// Retryable: tell those who have waited too long, and pause. Otherwise: tell all.
    async fn failed(&mut self, error: Error, round: &Round) {
        let error = error.with_name(&self.line.name);
        let now = self.core.now();
        let since = *self.down_since.get_or_insert(now);
        report(Event::StoreTrouble { name: self.line.name.clone(), error: error.to_string() });
        let hopeless = !error.is_retryable();
        let too_long = now.since(since) >= self.core.settings.give_up;
        {
            let mut state = self.line.state();
            state.trouble = Some(error.clone());
            state.waiters.retain(|w| {
                let fails = hopeless || (too_long && w.last == Moment::NEVER);
                if fails {
                    w.fail(error.clone());
                }
                !fails
            });
        }
        if !hopeless {
            self.pause(round).await;
        }
    }

    /// 10 ms to 1 s, with jitter; shorter when the queue changes in a way that matters.
    async fn pause(&mut self, round: &Round) {
        let longest = (10_u64 << self.tries.min(7)).min(1000);
        self.tries += 1;
        let pause = Duration::from_millis(rand::random_range(longest / 2..=longest));
        let mut sleep = self.core.clock().sleep_until(self.core.now() + pause);
        loop {
            tokio::select! {
                () = &mut sleep => return,
                () = self.line.changed.notified() => {
                    if self.core.usable().is_err() || !self.line.still_wants(&round.claim, &round.head) {
                        return;
                    }
                }
            }
        }
    }
}
