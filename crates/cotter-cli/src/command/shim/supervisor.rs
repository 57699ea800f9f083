//! The supervision of the running command.

use super::descendants::{self, Event};
use super::start::Started;
use crate::command::group::Group;
use crate::command::wire::{Request, ShimEvent};
use cotter_console::boot_clock;
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

/// Supervises one command.
pub(super) struct Supervisor {
    socket: OwnedFd,
    children: SignalFd,
    timer: OwnedFd,
    started: Started,
    /// The grace period if cotter is dead.
    grace: Duration,
    /// When to stop the command without a request, and when to send KILL then.
    until: Option<(u64, u64)>,
    /// The status of the command itself, once it has ended.
    status: Option<i32>,
    /// Whether its end was reported.
    is_reported: bool,
    is_stopped: bool,
}

/// The reason to stop the command.
enum Why {
    Requested(Duration),
    CotterIsDead,
    Overdue,
}

impl Supervisor {
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
            is_reported: false,
            is_stopped: false,
        })
    }

    /// Runs until no process is left.
    pub(super) fn run(mut self, until: Option<(u64, u64)>) {
        if let Some((term, kill)) = until {
            self.keep_until(term, kill);
        }
        if let Some(why) = self.watch() {
            self.end(&why);
            self.close();
            ShimEvent::Over.send(&self.socket);
        }
    }

    /// Waits for a reason to stop the command. Returns `None`, after reporting it, if no process is left.
    fn watch(&mut self) -> Option<Why> {
        loop {
            if self.reap_children() {
                self.close();
                let status = self.status.unwrap_or_default();
                let last =
                    if self.is_reported { ShimEvent::Over } else { ShimEvent::Ended { status, left: 0 } };
                last.send(&self.socket);
                return None;
            }
            self.report_descendants();
            let (request, due) = self.wait();
            if due && self.until.is_some_and(|(term, _)| boot_clock::left(term).is_zero()) {
                return Some(Why::Overdue);
            }
            if request && let Some(why) = self.handle_request() {
                return Some(why);
            }
        }
    }

    /// Reports once that the command has ended while some of its descendants are still running.
    fn report_descendants(&mut self) {
        let Some(status) = self.status.filter(|_| !self.is_reported) else { return };
        let left = descendants::living().len();
        if left > 0 {
            self.is_reported = true;
            ShimEvent::Ended { status, left }.send(&self.socket);
        }
    }

    /// Reaps children; returns true if there are none left.
    fn reap_children(&mut self) -> bool {
        loop {
            match descendants::event() {
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
                let was_in_front = self.give_the_terminal_back();
                let signal = if was_in_front { not_for_the_terminal(signal) } else { signal };
                ShimEvent::Stopped(signal).send(&self.socket);
            }
        }
    }

    /// Waits for a request or the timer. Returns whether there is a request, and whether the timer has expired.
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

    fn handle_request(&mut self) -> Option<Why> {
        let Ok(Some((order, _))) = Request::receive(&self.socket) else { return Some(Why::CotterIsDead) };
        match order {
            Request::Until { term, kill } => self.keep_until(term, kill),
            Request::Signal(signal) => {
                if let Some(signal) = Signal::from_named_raw(signal) {
                    self.is_stopped &= !Group::goes_on(signal);
                    self.started.group.pass_on(signal);
                }
            }
            Request::Continue { foreground } => {
                if let (true, Some((terminal, _))) = (foreground, &self.started.terminal) {
                    terminal.give_to(self.started.group.0);
                }
                self.is_stopped = false;
                self.started.group.send(Signal::CONT);
            }
            Request::Stop(grace) => return Some(Why::Requested(grace)),
            Request::Start { .. } => {}
        }
        None
    }

    fn keep_until(&mut self, term: u64, kill: u64) {
        self.until = Some((term, kill));
        let moment = Timespec {
            tv_sec: (term / 1_000_000_000).try_into().unwrap_or(i64::MAX),
            // All zeros would disarm the timer.
            tv_nsec: (term % 1_000_000_000).max(1).try_into().unwrap_or_default(),
        };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: moment };
        let _ = timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &once);
    }

    /// Ends the command and its descendants. A stopped command must not continue after its time has ended.
    fn end(&mut self, why: &Why) {
        let last = self.until.map_or(u64::MAX, |(_, kill)| kill);
        let kill = match why {
            Why::Requested(grace) => boot_clock::after(*grace).min(last),
            Why::CotterIsDead => boot_clock::after(self.grace).min(last),
            Why::Overdue => {
                ShimEvent::Overdue.send(&self.socket);
                if self.is_stopped { 0 } else { last }
            }
        };
        descendants::end(self.started.group, kill);
    }

    /// Gives the terminal back and closes the descriptors of the lock.
    fn close(&mut self) {
        self.give_the_terminal_back();
        while self.started.kept.pop().is_some() {}
    }

    /// Returns whether the command had it.
    fn give_the_terminal_back(&self) -> bool {
        let Some((terminal, ours)) = &self.started.terminal else { return false };
        let had_it = terminal.foreground() == Some(self.started.group.0);
        if had_it {
            terminal.give_to(*ours);
        }
        had_it
    }
}

/// The signal that has stopped a command that had the terminal, so that it was not for want of it. A cotter that is run by
/// another one stops itself with TTIN on Ctrl-Z.
fn not_for_the_terminal(signal: i32) -> i32 {
    match Signal::from_named_raw(signal) {
        Some(Signal::TTIN | Signal::TTOU) => Signal::TSTP.as_raw(),
        _ => signal,
    }
}
