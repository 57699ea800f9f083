//! The command, by way of the shim that runs it.

use super::group::Group;
use super::launch::{self, Launch};
use super::shims::{self, KILLED, Shim};
use super::terminal::{Terminal, is_for_the_command};
use super::watch::Watch;
use super::wire::{News, Order, Place};
use crate::exit::Share;
use crate::output::Failure;
use crate::raise::typed;
use rustix::process::{Pid, Signal};
use std::io::ErrorKind;
use std::process::ExitStatus;
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::UnixDatagram;
use tokio::time::timeout;

/// The running command. Dropping it tells the shim to end it, without waiting for that.
#[derive(Debug)]
pub(crate) struct Child {
    /// Packets, as datagrams are, but with an end.
    socket: UnixDatagram,
    shim: Shim,
    group: Option<Group>,
    /// That of this process, and the group that gets it back.
    terminal: Option<(Terminal, Pid)>,
    /// The command is the one that reads from it.
    is_in_front: bool,
    /// What was passed on, by number: others have seen it as well.
    passed_on: Vec<i32>,
    /// What it had to tell before it was listened to.
    early: Option<News>,
    /// Nobody is left.
    is_over: bool,
    /// It was stopped and has not gone on.
    is_stopped: bool,
}

impl Child {
    /// Starts the shim, and the command in it, with the lock's data in its environment.
    pub(crate) async fn spawn(launch: &Launch, watch: &Watch<'_>) -> Result<Self, Failure> {
        let (guard, grace) = (watch.guard(), watch.grace());
        shims::adopt().map_err(|e| launch::cannot("become the parent of orphans", &e))?;
        let terminal = if launch.has_terminal { Terminal::ours() } else { None };
        let place = match &terminal {
            None => Place::Nowhere,
            Some((t, ours)) if is_for_the_command(t) => Place::Foreground(*ours),
            Some((_, ours)) => Place::Background(*ours),
        };
        let descriptors = guard.descriptors().map_err(|e| launch::cannot("keep the lock", &e))?;
        let (socket, shim) = launch.start_shim(guard)?;
        if let Some((term, kill)) = watch.limit() {
            Order::Until { term, kill }.send(&socket, &[]);
        }
        launch.hand_over(&socket, Order::Start { grace: grace.whole(), place }, &descriptors)?;
        drop(descriptors);
        let socket =
            UnixDatagram::from_std(socket.into()).map_err(|e| launch::cannot("hear of the command", &e))?;
        let is_in_front = matches!(place, Place::Foreground(_));
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
            News::Started { group, command } => {
                child.group = Some(Group(group));
                child.shim.runs(command);
            }
            News::Failed(errno) => return Err(launch.not_started(errno)),
            News::Overdue => child.early = Some(News::Overdue),
            // The command may run all the same. That the shim is gone is told once more, to those who know what to do.
            _ => {}
        }
        Ok(child)
    }

    /// What the shim has to tell. Cancel safe.
    pub(super) async fn news(&mut self) -> Result<News, Failure> {
        if let Some(news) = self.early.take() {
            return Ok(news);
        }
        let received = loop {
            let ready = self.socket.readable().await;
            ready.map_err(|e| launch::cannot("hear of the command", &e))?;
            let receive = || News::receive(&self.socket).map_err(Into::into);
            match self.socket.try_io(Interest::READABLE, receive) {
                Err(e) if e.kind() == ErrorKind::WouldBlock => {}
                other => break other.unwrap_or(News::Gone),
            }
        };
        match received {
            News::Ended { left: 0, .. } | News::Over => self.is_over = true,
            News::Stopped(_) => (self.is_stopped, self.is_in_front) = (true, false),
            _ => {}
        }
        Ok(received)
    }

    /// The terminal of this process, when the command may read from it.
    pub(crate) fn terminal(&self) -> Option<&Terminal> {
        self.terminal.as_ref().map(|(terminal, _)| terminal)
    }

    /// Who else is to end by the signal that has ended the command: what is typed on a terminal is meant for the script
    /// around it too.
    pub(crate) fn shares(&self, signal: u8) -> Share {
        match (&self.terminal, typed(signal)) {
            (None, _) | (_, None) => Share::Nobody,
            (Some(_), Some(signal)) if self.passed_on.contains(&signal.as_raw()) => Share::Cotter,
            _ if self.is_in_front => Share::Group,
            _ => Share::Cotter,
        }
    }

    /// It was stopped and has not gone on.
    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// When the shim is to stop the command without being told.
    pub(super) fn tell_end(&self, term: u64, kill: u64) {
        Order::Until { term, kill }.send(&self.socket, &[]);
    }

    pub(crate) fn pass_on(&mut self, signal: Signal) {
        if !self.passed_on.contains(&signal.as_raw()) {
            self.passed_on.push(signal.as_raw());
        }
        self.is_stopped &= !Group::goes_on(signal);
        Order::Signal(signal.as_raw()).send(&self.socket, &[]);
    }

    /// Lets a stopped command go on.
    pub(crate) fn go_on(&mut self, foreground: bool) {
        self.is_stopped = false;
        self.is_in_front = foreground;
        Order::Continue { foreground }.send(&self.socket, &[]);
    }

    /// TERM to all that came of the command, KILL after `grace`; back when nobody is left.
    pub(crate) async fn stop(&mut self, grace: Duration) {
        if self.is_over {
            return;
        }
        Order::Stop(grace).send(&self.socket, &[]);
        // An error is as good as no answer.
        let last = async { while !self.is_over && self.news().await.is_ok_and(|news| news != News::Gone) {} };
        let _ = timeout(grace + KILLED, last).await;
        self.end_without_shim(Duration::ZERO).await;
    }

    /// Nothing of ours is left either: one who waits for us may count our processes.
    pub(crate) fn bury(self) {
        self.shim.bury();
    }

    /// Does what the shim should have done: it was killed, or it is stopped. Answers how the command has ended, when
    /// that is known.
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
