//! Everything below this process, to the last one: it is the subreaper, so that nobody gets away by losing its parent.

use super::boot;
use super::group::Group;
use super::proc::{self, Process};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, set_child_subreaper, wait,
};
use std::thread::sleep;
use std::time::Duration;

/// So many rounds of KILL without a pause: who forks all the time is not to get ahead.
const ROUNDS: usize = 64;

/// What the kernel tells about a child.
pub(super) type Event = (Pid, WaitStatus);

/// The command and all that came of it.
#[derive(Debug)]
pub(super) struct Family {
    /// Where the command was started.
    pub(super) group: Option<Group>,
    /// Children that were there before: they came with this process and are not its to end.
    bystanders: Vec<Pid>,
}

/// What is left to wait for.
#[derive(Debug, PartialEq, Eq)]
enum Left {
    Nobody,
    Some,
}

impl Family {
    /// Orphans come to this process from now on.
    pub(super) fn adopt() -> rustix::io::Result<Self> {
        set_child_subreaper(Some(getpid()))?;
        Ok(Self { group: None, bystanders: proc::children() })
    }

    /// The next child that has ended or was stopped; an error with [`Errno::CHILD`] when there is none at all.
    pub(super) fn event() -> rustix::io::Result<Option<Event>> {
        wait(WaitOptions::NOHANG | WaitOptions::UNTRACED)
    }

    /// All that live.
    pub(super) fn members(&self) -> Vec<Process> {
        proc::descendants(&self.bystanders).into_iter().filter(|p| p.is_alive).collect()
    }

    /// TERM to all, KILL to those who are left at `kill`; back when nobody is left, or after `patience` more.
    pub(super) fn end(&self, kill: u64, patience: Option<Duration>, mut seen: impl FnMut(Event)) {
        if boot::left(kill) > Duration::ZERO {
            self.ask();
        }
        let give_up = patience
            .map(|p| kill.max(boot::now()).saturating_add(u64::try_from(p.as_nanos()).unwrap_or(u64::MAX)));
        let mut pause = Duration::from_millis(1);
        let mut rounds = 0;
        while self.reap(&mut seen) == Left::Some && give_up.is_none_or(|end| boot::now() < end) {
            if boot::left(kill).is_zero() {
                self.kill();
                rounds += 1;
            }
            if rounds == 0 || rounds > ROUNDS {
                sleep(pause.min(boot::left(kill).max(Duration::from_millis(1))));
                pause = (2 * pause).min(Duration::from_millis(20));
            }
        }
    }

    fn reap(&self, seen: &mut impl FnMut(Event)) -> Left {
        loop {
            match Self::event() {
                Ok(Some(event)) => seen(event),
                Ok(None) if !self.bystanders.is_empty() && self.members().is_empty() => return Left::Nobody,
                Ok(None) | Err(Errno::INTR) => return Left::Some,
                Err(_) => return Left::Nobody,
            }
        }
    }

    /// A stopped process sees no TERM before it goes on.
    fn ask(&self) {
        if let Some(group) = self.group {
            group.send(Signal::TERM);
            group.send(Signal::CONT);
        }
        for process in self.members().iter().filter(|p| !self.is_in_group(p)) {
            let _ = kill_process(process.pid, Signal::TERM);
            let _ = kill_process(process.pid, Signal::CONT);
        }
    }

    /// A group at a time where that concerns nobody else: no member can fork itself out of it.
    fn kill(&self) {
        if let Some(group) = self.group {
            group.send(Signal::KILL);
        }
        for process in self.members() {
            match Pid::from_raw(process.group) {
                Some(group) if process.has_own_session() => Group(group).send(Signal::KILL),
                _ => drop(kill_process(process.pid, Signal::KILL)),
            }
        }
    }

    fn is_in_group(&self, process: &Process) -> bool {
        self.group.is_some_and(|g| g.0.as_raw_nonzero().get() == process.group)
    }
}
