//! What may happen next, and what a task does.

use super::store::{Attempt, Fate, Grant};
use super::world::{At, Release, World};
use crate::Moment;
use crate::backend::Until;
use crate::engine::line::request::Wait;
use crate::engine::line::state::Place;
use crate::engine::line::waiter::{Left, Waiter};
use rand::RngExt;
use std::cell::Cell;
use std::sync::Arc;
use std::task::{Context, Poll};

impl World {
    pub(super) fn event(&mut self) {
        let task = self.random.random_range(0..self.tasks.len());
        match self.random.random_range(0..20) {
            0..=3 => self.arrives(task),
            4..=5 => self.attempt_is_answered(task),
            6..=8 => self.asks(),
            9..=11 => self.poll(task),
            12..=13 => self.gives_back(task),
            14 => self.release_is_answered(),
            15 => self.looks(),
            16 => self.leaves(task),
            17 => self.tasks[task].sleeps ^= true,
            18 => self.loses(task),
            _ => self.rarely(task),
        }
    }

    fn rarely(&mut self, task: usize) {
        match self.random.random_range(0..4) {
            0 => self.store.is_taken ^= true,
            1 => self.fails(),
            2 => self.resumes(task),
            _ => self.loses_patience(task),
        }
    }

    /// The process that has the lock hands it to this task.
    fn resumes(&mut self, task: usize) {
        let (request, at) = (&self.tasks[task].request, &self.tasks[task].at);
        if !self.store.is_taken || !request.mode.is_exclusive() || !matches!(at, At::Away) {
            return;
        }
        self.met.note("resumed");
        self.store.is_taken = false;
        // It has nothing while others here have it.
        let Some(grant) = self.store.acquire(request.mode, request.owner.clone()) else { return };
        let todo = self.state.resumed(&grant);
        self.tasks[task].at = At::Holding(grant);
        self.carry_out(todo);
    }

    fn arrives(&mut self, task: usize) {
        let (request, at) = (&self.tasks[task].request, &self.tasks[task].at);
        if self.tasks[task].sleeps || !matches!(at, At::Away) {
            return;
        }
        let owner = request.owner.as_ref();
        if owner.is_some_and(|owner| self.state.lost_by(owner).is_some()) {
            self.met.note("barred");
        } else if owner.is_none_or(|owner| self.state.hold_of(owner).is_none()) {
            self.enter(task, true);
        }
    }

    fn enter(&mut self, task: usize, is_patient: bool) {
        let request = self.tasks[task].request.clone();
        let until = if request.wait == Wait::No { Until::Now } else { Until::Forever };
        let (place, todo) = self.state.enter(&request, until, is_patient);
        self.tasks[task].at = match place {
            Place::Free => {
                let waiter = Waiter::new(request, Moment::NEVER);
                let attempt = Arc::new(Attempt { waiter, is_taken: Cell::new(false) });
                let started = self.state.started(&attempt);
                self.carry_out(started);
                At::Trying(attempt)
            }
            Place::Unpolled(attempt) => {
                self.take_over(&attempt);
                At::Away
            }
            Place::InFlight => {
                let (waits, none) = self.state.until_quiet(&self.tasks[task].waits_for_a_wake_up());
                self.carry_out(none);
                self.met.note("quiet");
                if waits { At::UntilQuiet } else { At::Away }
            }
            Place::Busy | Place::InTrouble(_) => At::Away,
            Place::Queued(waiter) => At::Queued(waiter),
        };
        self.carry_out(todo);
        self.poll_waiter(task);
    }

    /// It has waited long enough for what is in flight.
    fn loses_patience(&mut self, task: usize) {
        if matches!(self.tasks[task].at, At::UntilQuiet) && !self.tasks[task].sleeps {
            self.tasks[task].forgets_its_waker();
            self.enter(task, false);
        }
    }

    pub(super) fn attempt_is_answered(&mut self, task: usize) {
        let At::Trying(attempt) = &self.tasks[task].at else { return };
        if attempt.is_taken.get() || self.tasks[task].sleeps {
            return;
        }
        let request = self.tasks[task].request.clone();
        let todo = match self.store.acquire(request.mode, request.owner.clone()) {
            Some(grant) => {
                let todo = self.state.granted(&grant);
                self.tasks[task].at = At::Holding(grant);
                todo
            }
            None if request.wait == Wait::No => {
                self.tasks[task].at = At::Away;
                self.state.first_try_over()
            }
            None => {
                let waiter = Waiter::new(request, Moment::NEVER);
                self.tasks[task].at = At::Queued(waiter.clone());
                self.state.first_try_waits(&waiter, None)
            }
        };
        self.carry_out(todo);
        self.poll_waiter(task);
    }

    pub(super) fn poll(&mut self, task: usize) {
        let polled = &mut self.tasks[task];
        match &polled.at {
            _ if polled.sleeps => {}
            At::UntilQuiet if polled.is_woken() => self.enter(task, true),
            At::Trying(attempt) if attempt.is_taken.get() => {
                polled.at = At::Queued(attempt.waiter.clone());
                self.poll_waiter(task);
            }
            _ => self.poll_waiter(task),
        }
    }

    fn poll_waiter(&mut self, task: usize) {
        let At::Queued(waiter) = &self.tasks[task].at else { return };
        let (waiter, slept) = (waiter.clone(), !waiter.is_awake());
        match waiter.poll(&Context::from_waker(&self.tasks[task].waker())) {
            Poll::Ready(Ok(grant)) => self.tasks[task].at = At::Holding(grant),
            Poll::Ready(Err(_)) => {
                self.met.note("failed");
                self.tasks[task].at = At::Away;
            }
            Poll::Pending => {
                self.tasks[task].waits_for_a_wake_up();
                if slept {
                    let todo = self.state.woke_up();
                    self.carry_out(todo);
                }
            }
        }
    }

    pub(super) fn gives_back(&mut self, task: usize) {
        if let At::Holding(grant) = &self.tasks[task].at {
            let grant = grant.clone();
            self.tasks[task].at = At::Away;
            self.give_back(grant);
        }
    }

    /// The future of a task is dropped.
    fn leaves(&mut self, task: usize) {
        let at = std::mem::replace(&mut self.tasks[task].at, At::Away);
        match at {
            At::Holding(_) => self.tasks[task].at = at,
            At::Away => {}
            At::UntilQuiet => self.tasks[task].forgets_its_waker(),
            At::Trying(attempt) if !attempt.is_taken.get() => {
                let todo = self.state.first_try_over();
                self.carry_out(todo);
            }
            At::Trying(attempt) => self.leaves_queue(task, &attempt.waiter),
            At::Queued(waiter) => self.leaves_queue(task, &waiter),
        }
    }

    fn leaves_queue(&mut self, task: usize, waiter: &Waiter<Arc<Grant>>) {
        self.tasks[task].forgets_its_waker();
        match waiter.leave() {
            Left::With(grant) => self.give_back(grant),
            Left::Nothing => {}
            Left::Queue => {
                self.met.note("left");
                let todo = self.state.left();
                self.carry_out(todo);
            }
        }
    }

    fn loses(&mut self, task: usize) {
        let Some(grant) = self.tasks[task].holds().cloned() else { return };
        let expires = self.random.random_bool(0.5);
        self.met.note(if expires { "expired" } else { "evicted" });
        grant.fate.set(if expires { Fate::Expired } else { Fate::Evicted });
        if expires {
            self.store.free(grant.id);
            self.releases.push(Release { id: grant.id, is_with_a_task: false });
        }
        let bars = grant.owner.borrow().is_some();
        let todo = self.state.lost(&grant, expires, bars);
        self.carry_out(todo);
    }
}
