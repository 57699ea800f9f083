//! TERM, KILL, until nobody is left.

use super::boot;
use super::group::Group;
use super::proc::Process;
use rustix::process::{Pid, Signal, kill_process};
use std::time::Duration;

/// So many rounds of KILL without a pause: who forks all the time is not to get ahead.
const ROUNDS: usize = 64;

/// How far the end of all that came of a command has come.
#[derive(Debug)]
pub(super) struct Ending {
    /// Where the command was started.
    group: Option<Group>,
    /// When TERM was enough.
    kill: u64,
    give_up: Option<u64>,
    is_asked: bool,
    rounds: usize,
    pause: Duration,
}

impl Ending {
    /// KILL comes at `kill`, and nothing more `patience` after that.
    pub(super) fn new(group: Option<Group>, kill: u64, patience: Option<Duration>) -> Self {
        let give_up = patience
            .map(|p| kill.max(boot::now()).saturating_add(u64::try_from(p.as_nanos()).unwrap_or(u64::MAX)));
        let pause = Duration::from_millis(1);
        Self { group, kill, give_up, is_asked: false, rounds: 0, pause }
    }

    /// Does the next thing to those who live. Answers how long to wait before the next look at who is left; `None` when
    /// it is no use any more.
    pub(super) fn step(&mut self, living: &[Process]) -> Option<Duration> {
        if self.give_up.is_some_and(|end| boot::now() >= end) {
            return None;
        }
        if boot::left(self.kill).is_zero() {
            self.kill(living);
            self.rounds += 1;
            if self.rounds <= ROUNDS {
                return Some(Duration::ZERO);
            }
        } else if !self.is_asked {
            self.is_asked = true;
            self.ask(living);
        }
        let pause = self.pause.min(boot::left(self.kill).max(Duration::from_millis(1)));
        self.pause = (2 * pause).min(Duration::from_millis(20));
        Some(pause)
    }

    /// A stopped process sees no TERM before it goes on.
    fn ask(&self, living: &[Process]) {
        if let Some(group) = self.group_of(living) {
            group.send(Signal::TERM);
            group.send(Signal::CONT);
        }
        for process in living.iter().filter(|p| !self.is_in_group(p)) {
            let _ = kill_process(process.pid, Signal::TERM);
            let _ = kill_process(process.pid, Signal::CONT);
        }
    }

    /// A group at a time where that concerns nobody else: no member can fork itself out of it.
    fn kill(&self, living: &[Process]) {
        if let Some(group) = self.group_of(living) {
            group.send(Signal::KILL);
        }
        for process in living {
            match Pid::from_raw(process.group) {
                Some(group) if process.has_own_session() => Group(group).send(Signal::KILL),
                _ => drop(kill_process(process.pid, Signal::KILL)),
            }
        }
    }

    /// The group, as long as it has members: after that its number may be given to others.
    fn group_of(&self, living: &[Process]) -> Option<Group> {
        self.group.filter(|_| living.iter().any(|p| self.is_in_group(p)))
    }

    fn is_in_group(&self, process: &Process) -> bool {
        self.group.is_some_and(|g| g.0.as_raw_nonzero().get() == process.group)
    }
}
