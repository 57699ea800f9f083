//! A request arrives; the first attempt of a task.

use super::{Holding, Phase, State};
use crate::Error;
use crate::backend::{Claim, Until};
use crate::engine::line::request::Request;
use crate::engine::line::todo::Todo;
use crate::engine::line::waiter::Waiter;
use std::sync::Arc;

/// The place of a request in the line.
pub(crate) enum Place<H: Holding> {
    /// No task here holds or wants the lock: this one makes the first attempt.
    Free,
    /// The task of this attempt does not poll it any more.
    Unpolled(Arc<H::Attempt>),
    /// A request is in flight; nothing is waiting.
    InFlight,
    Busy,
    /// Others wait here for a store that does not answer.
    InTrouble(Error),
    Queued(Arc<Waiter<H::Guard>>),
}

impl<H: Holding> State<H> {
    /// A request arrives. One that is not `patient` has waited long enough for what is in flight: its task does not poll it any
    /// more.
    pub(crate) fn enter(&mut self, request: &Request, until: Until, is_patient: bool) -> (Place<H>, Todo) {
        self.queue.skip_those_that_left();
        let others_wait = self.awake().is_some();
        if self.is_quiet() || !is_patient && self.is_open() && !others_wait {
            self.phase = Phase::Trying;
            return (Place::Free, Todo::NOTHING);
        }
        if let Some(unpolled) = self.first_try.clone().filter(|_| !is_patient) {
            return (Place::Unpolled(unpolled), Todo::NOTHING);
        }
        match until.moment() {
            None => (self.at_once(others_wait), Todo::NOTHING),
            Some(last) => {
                let waiter = Waiter::new(request.clone(), last);
                self.queue.push(waiter.clone());
                let watch = self.one_waits();
                (Place::Queued(waiter), Todo { watch, ..Todo::NOTHING })
            }
        }
    }

    /// The place of a request that does not wait.
    fn at_once(&self, others_wait: bool) -> Place<H> {
        let trouble = self.trouble.as_ref().filter(|_| self.holder.is_none());
        match trouble {
            Some(trouble) => Place::InTrouble(trouble.clone()),
            None if self.holder.is_some() || others_wait || self.phase == Phase::Waiting => Place::Busy,
            None => Place::InFlight,
        }
    }

    /// The first attempt is about to be sent.
    pub(crate) fn started(&mut self, attempt: &Arc<H::Attempt>) -> Todo {
        self.first_try = Some(attempt.clone());
        Todo::NOTHING
    }

    /// The engine continues an attempt in place of its task, which has a place in the queue from now on.
    pub(crate) fn taken_over(&mut self, waiter: &Arc<Waiter<H::Guard>>) -> Todo {
        self.phase = Phase::Waiting;
        self.first_try = None;
        self.queue.push_first(waiter.clone());
        Todo::NOTHING
    }

    /// The claim of an attempt is in the store's queue. Returns one that it replaces.
    pub(crate) fn joined(&mut self, claim: &Claim) -> (Option<Box<Claim>>, Todo) {
        (self.joined.replace(Box::new(claim.clone())), Todo::NOTHING)
    }

    /// An attempt got no grant: the next one may ask.
    pub(crate) fn first_try_over(&mut self) -> Todo {
        (self.phase, self.first_try) = (Phase::Idle, None);
        self.next()
    }

    /// The same, and its task waits for the lock from now on.
    pub(crate) fn first_try_waits(&mut self, waiter: &Arc<Waiter<H::Guard>>, trouble: Option<Error>) -> Todo {
        self.queue.push_first(waiter.clone());
        self.trouble = trouble;
        self.first_try_over()
    }
}
