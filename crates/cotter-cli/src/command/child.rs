//! The running command, through its shim.

use super::group::Group;
use super::launch::{self, Launch};
use super::shims::{self, KILL_TIMEOUT, Shim};
use super::terminal::{Terminal, is_for_the_command};
use super::watch::Watch;
use super::wire::{Request, ShimEvent, TerminalAccess};
use crate::raise::typed;
use cotter::Guard;
use cotter_console::{Failure, Share};
use rustix::process::{Pid, Signal};
use std::io::ErrorKind;
use std::process::ExitStatus;
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::UnixDatagram;
use tokio::time::timeout;

/// The running command. Dropping it makes the shim end it, without waiting for that.
#[derive(Debug)]
pub(crate) struct Child {
    /// A seqpacket socket: datagrams, with an end of file.
    socket: UnixDatagram,
    shim: Shim,
    group: Option<Group>,
    /// The terminal of this process, and the group that gets it back.
    terminal: Option<(Terminal, Pid)>,
    /// Whether the command is in the foreground.
    is_in_front: bool,
    /// The signals that were forwarded: other processes have received them as well.
    passed_on: Vec<i32>,
    /// An event that arrived before `next` was called.
    early: Option<ShimEvent>,
    /// Whether no process is left.
    is_over: bool,
    /// Whether it is stopped.
    is_stopped: bool,
}

impl Child {
    /// Starts the shim, and in it the command, with the lock's data in its environment.
    pub(crate) async fn spawn(launch: &Launch, watch: &Watch<'_>) -> Result<Self, Failure> {
        Self::start(launch, Some(watch.guard()), watch.grace().whole(), watch.limit()).await
    }

    /// The same without a lock, if there is no guard. The shim stops the command by itself at this limit: TERM and KILL.
    pub(super) async fn start(
        launch: &Launch,
        guard: Option<&Guard>,
        grace: Duration,
        limit: Option<(u64, u64)>,
    ) -> Result<Self, Failure> {
        shims::become_subreaper().map_err(|e| launch::cannot("adopt orphaned processes", &e))?;
        let terminal = if launch.has_terminal { Terminal::ours() } else { None };
        let place = match &terminal {
            None => TerminalAccess::None,
            Some((t, ours)) if is_for_the_command(t) => TerminalAccess::Foreground(*ours),
            Some((_, ours)) => TerminalAccess::Background(*ours),
        };
        let descriptors = guard.map_or(Ok(Vec::new()), Guard::descriptors);
        let descriptors = descriptors.map_err(|e| launch::cannot("keep the lock", &e))?;
        let (socket, shim) = launch.start_shim(guard)?;
        if let Some((term, kill)) = limit {
            Request::Until { term, kill }.send(&socket, &[]);
        }
        launch.hand_over(&socket, Request::Start { grace, place }, &descriptors)?;
        drop(descriptors);
        let socket =
            UnixDatagram::from_std(socket.into()).map_err(|e| launch::cannot("watch the command", &e))?;
        let is_in_front = matches!(place, TerminalAccess::Foreground(_));
        let mut child = Self {
            socket,
            shim,
            group: None,
            terminal,
            is_in_front,
            passed_on: Vec::new(),
            early: None,
            is_over: false,
            is_stopped: false,
        };
        match child.news().await? {
            ShimEvent::Started { group, command } => {
                child.group = Some(Group(group));
                child.shim.runs(command);
            }
            ShimEvent::Failed(errno) => return Err(launch.not_started(errno)),
            ShimEvent::Overdue => child.early = Some(ShimEvent::Overdue),
            // The command may be running. The end of the shim is reported again by the next call, which handles it.
            _ => {}
        }
        Ok(child)
    }

    /// The next event of the shim. Cancel safe.
    pub(super) async fn news(&mut self) -> Result<ShimEvent, Failure> {
        if let Some(news) = self.early.take() {
            return Ok(news);
        }
        let received = loop {
            let ready = self.socket.readable().await;
            ready.map_err(|e| launch::cannot("watch the command", &e))?;
            let receive = || ShimEvent::receive(&self.socket).map_err(Into::into);
            match self.socket.try_io(Interest::READABLE, receive) {
                Err(e) if e.kind() == ErrorKind::WouldBlock => {}
                other => break other.unwrap_or(ShimEvent::Gone),
            }
        };
        match received {
            ShimEvent::Ended { left: 0, .. } | ShimEvent::Over => self.is_over = true,
            ShimEvent::Stopped(_) => (self.is_stopped, self.is_in_front) = (true, false),
            _ => {}
        }
        Ok(received)
    }

    /// The terminal of this process, if the command may read from it.
    pub(crate) fn terminal(&self) -> Option<&Terminal> {
        self.terminal.as_ref().map(|(terminal, _)| terminal)
    }

    /// The processes that also have to end by the signal that ended the command: a key typed on a terminal is meant for the
    /// script around cotter too.
    pub(crate) fn shares(&self, signal: u8) -> Share {
        match (&self.terminal, typed(signal)) {
            (None, _) | (_, None) => Share::Nobody,
            (Some(_), Some(signal)) if self.passed_on.contains(&signal.as_raw()) => Share::Cotter,
            _ if self.is_in_front => Share::Group,
            _ => Share::Cotter,
        }
    }

    /// Whether the command is stopped.
    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// Sends the times at which the shim has to stop the command by itself.
    pub(super) fn set_limit(&self, term: u64, kill: u64) {
        Request::Until { term, kill }.send(&self.socket, &[]);
    }

    pub(crate) fn pass_on(&mut self, signal: Signal) {
        if !self.passed_on.contains(&signal.as_raw()) {
            self.passed_on.push(signal.as_raw());
        }
        self.is_stopped &= !Group::goes_on(signal);
        Request::Signal(signal.as_raw()).send(&self.socket, &[]);
    }

    /// Continues a stopped command.
    pub(crate) fn go_on(&mut self, foreground: bool) {
        self.is_stopped = false;
        self.is_in_front = foreground;
        Request::Continue { foreground }.send(&self.socket, &[]);
    }

    /// Sends TERM to the command and all its descendants, KILL after `grace`, and waits until no process is left.
    pub(crate) async fn stop(&mut self, grace: Duration) {
        if self.is_over {
            return;
        }
        Request::Stop(grace).send(&self.socket, &[]);
        // An error has the same consequences as no answer.
        let last =
            async { while !self.is_over && self.news().await.is_ok_and(|news| news != ShimEvent::Gone) {} };
        let _ = timeout(grace + KILL_TIMEOUT, last).await;
        self.end_without_shim(Duration::ZERO).await;
    }

    /// Ends the shim too, so that no process of cotter is left when it exits.
    pub(crate) fn kill_and_wait(self) {
        self.shim.kill_and_wait();
    }

    /// Ends all processes in place of a shim that was killed or is stopped. Returns the status of the command, if it is known.
    pub(super) async fn end_without_shim(&mut self, grace: Duration) -> Option<ExitStatus> {
        if self.is_over {
            return None;
        }
        self.is_over = true;
        self.shim.kill();
        let groups = [Some(self.shim.pid()), self.group.map(|group| group.0)];
        if let Some((terminal, ours)) =
            self.terminal.as_ref().filter(|(t, _)| groups.contains(&t.foreground()))
        {
            terminal.give_to(*ours);
        }
        self.shim.end_orphans(self.group, grace).await
    }
}
