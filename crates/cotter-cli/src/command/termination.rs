//! Termination: TERM, then KILL, until no process is left.

use super::group::Group;
use super::proc::Process;
use cotter_console::boot_clock;
use rustix::process::{Pid, Signal, kill_process};
use std::time::Duration;

/// The number of rounds of KILL without a pause, so that a process that keeps forking cannot get ahead.
const MAX_KILL_ROUNDS: usize = 64;

/// The progress of terminating a command and its descendants.
#[derive(Debug)]
pub(super) struct Termination {
    /// The process group of the command.
    group: Option<Group>,
    /// When to send KILL.
    kill: u64,
    give_up: Option<u64>,
    is_asked: bool,
    rounds: usize,
    pause: Duration,
}

impl Termination {
    /// Sends KILL at `kill`, and gives up `patience` after that.
    pub(super) fn new(group: Option<Group>, kill: u64, patience: Option<Duration>) -> Self {
        let give_up = patience.map(|p| {
            kill.max(boot_clock::now()).saturating_add(u64::try_from(p.as_nanos()).unwrap_or(u64::MAX))
        });
        let pause = Duration::from_millis(1);
        Self { group, kill, give_up, is_asked: false, rounds: 0, pause }
    }

    /// Performs the next step on the living processes. Returns the pause before the next check, or `None` to give up.
    pub(super) fn step(&mut self, living: &[Process]) -> Option<Duration> {
        if self.give_up.is_some_and(|end| boot_clock::now() >= end) {
            return None;
        }
        if boot_clock::left(self.kill).is_zero() {
            self.kill(living);
            self.rounds += 1;
            if self.rounds <= MAX_KILL_ROUNDS {
                return Some(Duration::ZERO);
            }
        } else if !self.is_asked {
            self.is_asked = true;
            self.ask(living);
        }
        let pause = self.pause.min(boot_clock::left(self.kill).max(Duration::from_millis(1)));
        self.pause = (2 * pause).min(Duration::from_millis(20));
        Some(pause)
    }

    /// Sends TERM, and CONT because a stopped process does not handle TERM.
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

    /// Sends KILL, to whole groups where they contain no other processes: no member can escape by forking.
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

    /// The group, as long as it has members: after that its id may be reused.
    fn group_of(&self, living: &[Process]) -> Option<Group> {
        self.group.filter(|_| living.iter().any(|p| self.is_in_group(p)))
    }

    fn is_in_group(&self, process: &Process) -> bool {
        self.group.is_some_and(|g| g.0.as_raw_nonzero().get() == process.group)
    }
}
