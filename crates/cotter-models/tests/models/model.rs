//! The queue protocol as a machine whose every path the checker walks.

use stateright::{Model, Property};

use crate::bounds::{Bounds, Fault};
use crate::rules::{Promise, Rule, Rules};
use crate::state::{CALLERS_CONNECTION, Life, Phase, Process, Reply, Request, State, owner_of};
use crate::watch::Event;

/// The protocol under some rules, in a world of some size.
#[derive(Clone, Debug)]
pub(crate) struct Protocol {
    pub(crate) rules: Rules,
    pub(crate) bounds: Bounds,
}

/// A step. Numbers are those of a process or of a packet under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Time passes. Running processes have done what was due, punctual packets have arrived.
    Tick,
    Start(usize),
    /// A waiter asks again because its poll period is over.
    Poll(usize),
    /// A waiter opens its lost subscription again and asks.
    Resubscribe(usize),
    GiveUp(usize),
    Release(usize),
    Renew(usize),
    Undo(usize, usize),
    /// The server runs a request.
    Serve(usize),
    Answer(usize),
    Notify(usize),
    Resume(usize),
    Snapshot,
    Fail(Fault, usize),
}

impl Model for Protocol {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        let processes = vec![Process::default(); self.bounds.attempts.len()];
        vec![State { processes, faults: self.bounds.faults, ..State::default() }]
    }

    fn actions(&self, s: &State, steps: &mut Vec<Step>) {
        if s.watch.broken != 0 {
            return;
        }
        (0..s.processes.len()).for_each(|p| self.process_steps(s, p, steps));
        self.packet_steps(s, steps);
        if s.now < self.bounds.horizon && self.may_tick(s) {
            steps.push(Step::Tick);
        }
        assert!(!steps.is_empty() || s.now == self.bounds.horizon, "time cannot pass: {s:#?}");
        if self.bounds.allows(Fault::Restore) && s.snapshot.is_none() && !s.watch.restored {
            steps.push(Step::Snapshot);
        }
        if s.faults > 0 {
            self.fault_steps(s, steps);
        }
    }

    fn next_state(&self, before: &State, step: Step) -> Option<State> {
        let mut next = before.clone();
        self.take(&mut next, step);
        self.judge(&mut next);
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        if self.bounds.record { events() } else { promises() }
    }
}

fn promises() -> Vec<Property<Protocol>> {
    fn kept<const BIT: u8>(_: &Protocol, s: &State) -> bool {
        s.watch.broken & BIT == 0
    }
    let conditions: [fn(&Protocol, &State) -> bool; 7] =
        [kept::<1>, kept::<2>, kept::<4>, kept::<8>, kept::<16>, kept::<32>, kept::<64>];
    let all = Promise::ALL.into_iter().zip(conditions);
    all.map(|(promise, condition)| Property::always(promise.name(), condition)).collect()
}

fn events() -> Vec<Property<Protocol>> {
    fn seen<const BIT: u16>(_: &Protocol, s: &State) -> bool {
        s.watch.seen & BIT != 0
    }
    let conditions: [fn(&Protocol, &State) -> bool; 8] =
        [seen::<1>, seen::<2>, seen::<4>, seen::<8>, seen::<16>, seen::<32>, seen::<64>, seen::<128>];
    let all = Event::ALL.into_iter().zip(conditions);
    all.map(|(event, condition)| Property::sometimes(event.name(), condition)).collect()
}

impl Protocol {
    fn process_steps(&self, s: &State, p: usize, steps: &mut Vec<Step>) {
        let process = &s.processes[p];
        match process.life {
            Life::Gone => return,
            Life::Paused => return steps.push(Step::Resume(p)),
            Life::Running => {}
        }
        match process.phase {
            Phase::Idle if self.may_start(s, p) => steps.push(Step::Start(p)),
            Phase::Idle => {}
            Phase::Waiting => {
                if self.must_poll(s, process) {
                    steps.push(Step::Poll(p));
                }
                if process.deaf {
                    steps.push(Step::Resubscribe(p));
                }
                if self.bounds.give_up {
                    steps.push(Step::GiveUp(p));
                }
            }
            Phase::Holding => {
                steps.push(Step::Release(p));
                if process.extends < self.bounds.extends && s.now < process.deadline {
                    steps.push(Step::Renew(p));
                }
            }
        }
        let due = process.undo.iter().enumerate().filter(|(_, undo)| undo.due <= s.now);
        steps.extend(due.map(|(at, _)| Step::Undo(p, at)));
    }

    /// Processes that are alike begin in their order: every other order is the same but for names.
    fn may_start(&self, s: &State, p: usize) -> bool {
        let bounds = &self.bounds;
        let shared = |q: usize| bounds.hosts.iter().filter(|host| **host == bounds.hosts[q]).count();
        let same_host = |q: usize| bounds.hosts[q] == bounds.hosts[p] || (shared(q) == 1 && shared(p) == 1);
        let alike = |q: usize| bounds.attempts[q] == bounds.attempts[p] && same_host(q);
        let before = p.checked_sub(1).filter(|q| alike(*q) && s.processes[p].attempt == 0);
        let begun = before.is_none_or(|q| s.processes[q].attempt > 0);
        begun && s.processes[p].attempt < bounds.attempts[p]
    }

    fn packet_steps(&self, s: &State, steps: &mut Vec<Step>) {
        let served = (0..s.requests.len()).filter(|at| !s.is_away() && is_first(s, *at));
        steps.extend(served.map(Step::Serve));
        let replies = s.replies.iter().enumerate();
        let reach = replies.filter(|(_, r)| s.processes[usize::from(r.to.process)].is_running());
        steps.extend(reach.map(|(at, _)| Step::Answer(at)));
        let messages = s.messages.iter().enumerate();
        let reach = messages.filter(|(_, m)| s.processes[owner_of(m.claim)].is_running());
        steps.extend(reach.map(|(at, _)| Step::Notify(at)));
    }

    fn must_poll(&self, s: &State, process: &Process) -> bool {
        self.rules.on(Rule::AskEveryPoll) && s.now >= process.sent + self.bounds.poll
    }

    /// Whether everybody has done what is due now.
    fn may_tick(&self, s: &State) -> bool {
        let done = |p: &Process| match p.phase {
            Phase::Idle => true,
            Phase::Waiting => !self.must_poll(s, p),
            Phase::Holding => s.now < p.deadline,
        } && p.undo.iter().all(|undo| undo.due > s.now);
        let reach = |p: usize| s.processes[p].is_running();
        let may_wait = |late: bool, sent: u8| late && s.now < sent + self.bounds.late;
        let mut requests = s.requests.iter().enumerate().filter(|(at, _)| is_first(s, *at));
        let mut replies = s.replies.iter().filter(|r| reach(r.to.process.into()));
        let mut messages = s.messages.iter().filter(|m| reach(owner_of(m.claim)));
        s.processes.iter().filter(|p| p.is_running()).all(done)
            && requests.all(|(_, r)| s.is_away() || may_wait(r.late, r.sent))
            && replies.all(|r| may_wait(r.late, r.to.sent))
            && messages.all(|m| may_wait(m.late, m.sent))
    }

    fn take(&self, s: &mut State, step: Step) {
        match step {
            Step::Tick => {
                self.count(s);
                s.now += 1;
                s.down = false;
                s.still = s.still.saturating_sub(1);
            }
            Step::Start(p) => self.start(s, p),
            Step::Poll(p) => self.poll(s, p),
            Step::Resubscribe(p) => {
                self.subscribe(s, p);
                self.question(s, p);
            }
            Step::GiveUp(p) | Step::Release(p) => self.end(s, p),
            Step::Renew(p) => self.renew(s, p),
            Step::Undo(p, at) => self.undo(s, p, at),
            Step::Serve(at) => self.serve(s, at, false),
            Step::Answer(at) => {
                let reply = s.replies.remove(at);
                self.answered(s, &reply);
            }
            Step::Notify(at) => {
                let message = s.messages.remove(at);
                self.notified(s, &message);
            }
            Step::Resume(p) => s.processes[p].life = Life::Running,
            Step::Snapshot => s.snapshot = Some(s.server.clone()),
            Step::Fail(fault, at) => self.fail(s, fault, at),
        }
    }

    /// Runs a request. Its answer comes at once, unless a fault holds it up or its process is paused.
    pub(crate) fn serve(&self, s: &mut State, at: usize, late: bool) {
        let request: Request = s.requests.remove(at);
        let answer = self.run(s, &request);
        let process = &s.processes[usize::from(request.process)];
        let heard = request.conn == process.conn || request.conn == CALLERS_CONNECTION;
        if heard && process.life != Life::Gone {
            let reply = Reply { to: request, answer, late };
            if late || process.life == Life::Paused {
                s.replies.push(reply);
            } else {
                self.answered(s, &reply);
            }
        }
        self.drop_unheard(s);
    }

    pub(crate) fn drop_unheard(&self, s: &mut State) {
        let gone = |p: usize| s.processes[p].life == Life::Gone;
        s.messages.retain(|m| !gone(owner_of(m.claim)));
        s.replies.retain(|r| !gone(r.to.process.into()));
    }
}

/// Requests of one connection arrive in the order in which they were sent.
pub(crate) fn is_first(s: &State, at: usize) -> bool {
    let request = &s.requests[at];
    let same = |r: &Request| r.process == request.process && r.conn == request.conn;
    !s.requests[..at].iter().any(same)
}
