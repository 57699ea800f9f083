//! What the shim does while the command runs.

use super::family::{self, Event};
use super::start::Started;
use crate::command::boot;
use crate::command::group::Group;
use crate::command::wire::{News, Order};
use nix::sys::signal::{SigSet, Signal as Heard};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::Signal;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::os::fd::OwnedFd;
use std::time::Duration;

/// Looks after one command.
pub(super) struct Keeper {
    socket: OwnedFd,
    children: SignalFd,
    timer: OwnedFd,
    started: Started,
    /// For the command when cotter is dead.
    grace: Duration,
    /// When to stop by itself, and when to KILL then.
    until: Option<(u64, u64)>,
    /// The status of the command's own process, once it has ended.
    status: Option<i32>,
    /// That it has ended was told.
    is_told: bool,
    is_stopped: bool,
}

/// Why the command has to end now.
enum Why {
    Told(Duration),
    CotterIsDead,
    Overdue,
}

impl Keeper {
    pub(super) fn new(socket: OwnedFd, started: Started, grace: Duration) -> rustix::io::Result<Self> {
        let mut child = SigSet::empty();
        child.add(Heard::SIGCHLD);
        let children = SignalFd::with_flags(&child, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
            .map_err(|e| Errno::from_raw_os_error(e as i32))?;
        let timer = timerfd_create(TimerfdClockId::Boottime, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
        Ok(Self {
            socket,
            children,
            timer,
            started,
            grace,
            until: None,
            status: None,
            is_told: false,
            is_stopped: false,
        })
    }

    /// Until nobody is left.
    pub(super) fn run(mut self, until: Option<(u64, u64)>) {
        if let Some((term, kill)) = until {
            self.keep_until(term, kill);
        }
        if let Some(why) = self.watch() {
            self.end(&why);
            self.close();
            News::Over.send(&self.socket);
        }
    }

    /// `None` when nobody is left by itself: that is told.
    fn watch(&mut self) -> Option<Why> {
        loop {
            if self.hear_of_children() {
                self.close();
                let status = self.status.unwrap_or_default();
                let last = if self.is_told { News::Over } else { News::Ended { status, left: 0 } };
                last.send(&self.socket);
                return None;
            }
            self.tell_of_those_left();
            let (told, due) = self.wait();
            if due && self.until.is_some_and(|(term, _)| boot::left(term).is_zero()) {
                return Some(Why::Overdue);
            }
            if told && let Some(why) = self.obey() {
                return Some(why);
            }
        }
    }

    /// Once, when the command has ended but some that came of it live on.
    fn tell_of_those_left(&mut self) {
        let Some(status) = self.status.filter(|_| !self.is_told) else { return };
        let left = family::living().len();
        if left > 0 {
            self.is_told = true;
            News::Ended { status, left }.send(&self.socket);
        }
    }

    /// Takes in what became of children; true when there are none any more.
    fn hear_of_children(&mut self) -> bool {
        loop {
            match family::event() {
                Ok(Some(event)) => self.note(event),
                Ok(None) => return false,
                Err(Errno::INTR) => {}
                Err(_) => return true,
            }
        }
    }

    fn note(&mut self, (pid, status): Event) {
        if pid != self.started.command {
            return;
        }
        match status.stopping_signal() {
            None => self.status = Some(status.as_raw()),
            Some(signal) => {
                self.is_stopped = true;
                self.give_the_terminal_back();
                News::Stopped(signal).send(&self.socket);
            }
        }
    }

    /// Whether there is something to hear, and whether the time is over.
    fn wait(&self) -> (bool, bool) {
        let mut fds = [
            PollFd::new(&self.socket, PollFlags::IN),
            PollFd::new(&self.timer, PollFlags::IN),
            PollFd::new(&self.children, PollFlags::IN),
        ];
        if poll(&mut fds, None).is_err() {
            return (false, false);
        }
        let ready = fds.each_ref().map(|fd| !fd.revents().is_empty());
        while let Ok(Some(_)) = self.children.read_signal() {}
        (ready[0], ready[1])
    }

    fn obey(&mut self) -> Option<Why> {
        let Ok(Some((order, _))) = Order::receive(&self.socket) else { return Some(Why::CotterIsDead) };
        match order {
            Order::Until { term, kill } => self.keep_until(term, kill),
            Order::Signal(signal) => {
                if let Some(signal) = Signal::from_named_raw(signal) {
                    self.is_stopped &= !Group::goes_on(signal);
                    self.started.group.pass_on(signal);
                }
            }
            Order::Continue { foreground } => {
                if let (true, Some((terminal, _))) = (foreground, &self.started.terminal) {
                    terminal.give_to(self.started.group.0);
                }
                self.is_stopped = false;
                self.started.group.send(Signal::CONT);
            }
            Order::Stop(grace) => return Some(Why::Told(grace)),
            Order::Start { .. } => {}
        }
        None
    }

    fn keep_until(&mut self, term: u64, kill: u64) {
        self.until = Some((term, kill));
        let moment = Timespec {
            tv_sec: (term / 1_000_000_000).try_into().unwrap_or(i64::MAX),
            // Zero altogether would disarm it.
            tv_nsec: (term % 1_000_000_000).max(1).try_into().unwrap_or_default(),
        };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: moment };
        let _ = timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &once);
    }

    /// Ends all that came of the command. A command that is stopped is not let go on when its time is over.
    fn end(&mut self, why: &Why) {
        let last = self.until.map_or(u64::MAX, |(_, kill)| kill);
        let kill = match why {
            Why::Told(grace) => boot::after(*grace).min(last),
            Why::CotterIsDead => boot::after(self.grace).min(last),
            Why::Overdue => {
                News::Overdue.send(&self.socket);
                if self.is_stopped { 0 } else { last }
            }
        };
        family::end(self.started.group, kill);
    }

    /// The lock, if cotter is dead, and then the event that says so.
    fn close(&mut self) {
        self.give_the_terminal_back();
        while self.started.kept.pop().is_some() {}
    }

    fn give_the_terminal_back(&self) {
        let Some((terminal, ours)) = &self.started.terminal else { return };
        if terminal.foreground() == Some(self.started.group.0) {
            terminal.give_to(*ours);
        }
    }
}
