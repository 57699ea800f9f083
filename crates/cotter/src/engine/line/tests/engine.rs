//! What the engine does next, and what the store answers it.

use super::store::{Attempt, Fate, Grant};
use super::world::{Asker, At, Release, World};
use crate::engine::line::state::Look;
use crate::engine::line::waiter::Waiter;
use crate::{Error, ErrorKind};
use rand::RngExt;
use std::sync::Arc;

impl World {
    pub(super) fn take_over(&mut self, attempt: &Arc<Attempt>) {
        let tries = |at: &At| matches!(at, At::Trying(other) if Arc::ptr_eq(other, attempt));
        if attempt.is_taken.get() || !self.tasks.iter().any(|task| tries(&task.at)) {
            return;
        }
        self.met.note("taken over");
        attempt.is_taken.set(true);
        attempt.waiter.fall_asleep();
        let todo = self.state.taken_over(&attempt.waiter);
        self.asker = Some(Asker::Asking { head: attempt.waiter.clone(), is_attempt: true });
        self.carry_out(todo);
    }

    /// The engine asks the store, or gets an answer.
    pub(super) fn asks(&mut self) {
        match self.asker.take() {
            None => {}
            Some(Asker::Between) => {
                let (next, todo) = self.state.next_round(None);
                self.asker = next.head.map(|head| Asker::Asking { head, is_attempt: false });
                self.carry_out(todo);
            }
            Some(Asker::Asking { head, is_attempt }) => {
                self.asker = Some(Asker::Between);
                let is_moot = !is_attempt && !self.state.still_wants(&head);
                if !is_moot && let Some(grant) = self.store.acquire(head.mode(), None) {
                    let recovered = self.state.recovered();
                    self.carry_out(recovered);
                    self.deliver(grant, &head);
                }
            }
        }
    }

    pub(super) fn deliver(&mut self, grant: Arc<Grant>, asked_for: &Waiter<Arc<Grant>>) {
        let Some(first) = self.state.head_like(asked_for) else { return self.store.free(grant.id) };
        grant.owner.replace(first.request.owner.clone());
        let (asks_on, todo) = self.state.served(&first, &grant);
        self.asker = asks_on.then_some(Asker::Between);
        self.carry_out(todo);
        self.met.note("served");
        if let Err(grant) = first.give(Box::new(grant)) {
            self.give_back(*grant);
        }
    }

    pub(super) fn give_back(&mut self, mut grant: Arc<Grant>) {
        while grant.fate.get() == Fate::Held && self.random.random_bool(0.5) {
            let passes = grant.mode.is_exclusive();
            let Some(((waiter, ()), todo)) = self.state.pass(|to| (passes && to.takes_turns()).then_some(()))
            else {
                break;
            };
            self.met.note("passed");
            grant.owner.replace(waiter.request.owner.clone());
            self.carry_out(todo);
            match waiter.give(Box::new(grant)) {
                Ok(()) => return,
                Err(back) => grant = *back,
            }
        }
        let fate = grant.fate.get();
        if fate != Fate::Expired {
            self.releases.push(Release { id: grant.id, is_with_a_task: true });
        }
        let todo = match fate {
            Fate::Held => self.state.releasing(&grant),
            Fate::Expired | Fate::Evicted => self.state.lost_and_left(&grant, fate == Fate::Evicted),
        };
        self.carry_out(todo);
    }

    pub(super) fn release_is_answered(&mut self) {
        if self.releases.is_empty() {
            return;
        }
        let at = self.random.random_range(0..self.releases.len());
        self.store.free(self.releases.swap_remove(at).id);
        self.met.note("answered");
        let todo = self.state.answered();
        self.carry_out(todo);
    }

    pub(super) fn looks(&mut self) {
        let Some(mut seen) = self.watch.take() else { return };
        let (look, todo) = self.state.look(&mut seen);
        self.watch = (!matches!(look, Look::Quiet)).then_some(seen);
        self.carry_out(todo);
        match look {
            Look::Quiet | Look::Moving => {}
            Look::Untaken(grant) => {
                self.met.note("recalled");
                self.give_back(*grant);
            }
            Look::Unasked(attempt) => self.take_over(&attempt),
        }
    }

    /// The store has not answered for too long.
    pub(super) fn fails(&mut self) {
        if self.asker.is_some() {
            let silence = Error::new(ErrorKind::Unavailable, "silence");
            let todo = self.state.in_trouble(&silence, None, true);
            self.carry_out(todo);
        }
    }
}
