//! The command, by way of the shim that runs it.

use super::boot;
use super::family::Family;
use super::group::Group;
use super::held::Held;
use super::launch;
use super::terminal::{Terminal, is_for_the_command};
use super::watch::Watch;
use super::wire::{News, Order, Place};
use crate::args::Run;
use crate::output::Failure;
use crate::store::Chosen;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::UnixDatagram;
use tokio::time::timeout;

/// How long the kernel may take to carry out KILL before we go on without.
const KILLED: Duration = Duration::from_secs(1);

/// The running command.
#[derive(Debug)]
pub(super) struct Child {
    /// Packets, as datagrams are, but with an end.
    socket: UnixDatagram,
    shim: Pid,
    family: Family,
    command: Option<Pid>,
    pub(super) terminal: Option<Terminal>,
    /// Nobody is left.
    is_over: bool,
    /// It was stopped and has not gone on.
    pub(super) is_stopped: bool,
}

/// Starts the shim, and the command in it, with the lock's data in its environment.
pub(super) async fn spawn(
    args: &Run,
    store: &Chosen,
    watch: &Watch<'_>,
    held: &Held,
) -> Result<Child, Failure> {
    let (guard, grace) = (watch.guard, watch.grace);
    let family = Family::adopt().map_err(|e| launch::cannot("become the parent of orphans", &e.into()))?;
    let terminal = Terminal::ours();
    let place = match &terminal {
        None => Place::Nowhere,
        Some(t) if is_for_the_command(t) => Place::Foreground(rustix::process::getpgrp()),
        Some(_) => Place::Background(rustix::process::getpgrp()),
    };
    let descriptors = guard.descriptors().map_err(|e| launch::cannot("keep the lock", &e))?;
    let (socket, shim) = launch::start_shim(args, guard, store, held)?;
    if let Some((term, kill)) = watch.limit() {
        Order::Until { term, kill }.send(&socket, &[]);
    }
    launch::hand_over(&socket, Order::Start { grace: grace.whole(), place }, &descriptors);
    drop(descriptors);
    let socket =
        UnixDatagram::from_std(socket.into()).map_err(|e| launch::cannot("hear of the command", &e))?;
    let mut child =
        Child { socket, shim, family, command: None, terminal, is_over: false, is_stopped: false };
    match child.news().await? {
        News::Started { group, command } => {
            child.family.group = Some(Group(group));
            child.command = Some(command);
        }
        News::Failed(errno) => return Err(launch::not_started(args, errno)),
        // The command may run all the same. That the shim is gone is told once more, to those who know what to do.
        _ => {}
    }
    Ok(child)
}

impl Child {
    /// What the shim has to tell. Cancel safe.
    pub(super) async fn news(&mut self) -> Result<News, Failure> {
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
            News::Stopped(_) => self.is_stopped = true,
            _ => {}
        }
        Ok(received)
    }

    /// When the shim is to stop the command without being told.
    pub(super) fn tell_end(&self, term: u64, kill: u64) {
        Order::Until { term, kill }.send(&self.socket, &[]);
    }

    pub(super) fn pass_on(&mut self, signal: Signal) {
        self.is_stopped &= !Group::goes_on(signal);
        Order::Signal(signal.as_raw()).send(&self.socket, &[]);
    }

    /// Lets a stopped command go on.
    pub(super) fn go_on(&mut self, foreground: bool) {
        self.is_stopped = false;
        Order::Continue { foreground }.send(&self.socket, &[]);
    }

    /// TERM to all that came of the command, KILL after `grace`; back when nobody is left.
    pub(super) async fn stop(&mut self, grace: Duration) {
        if self.is_over {
            return;
        }
        Order::Stop(grace).send(&self.socket, &[]);
        // An error is as good as no answer.
        let last = async { while !self.is_over && self.news().await.is_ok_and(|news| news != News::Gone) {} };
        let _ = timeout(grace + KILLED, last).await;
        self.end_without_shim(Duration::ZERO);
    }

    /// Nothing of ours is left either: one who waits for us may count our processes.
    pub(super) fn bury_shim(self) {
        let _ = kill_process(self.shim, Signal::KILL);
        let _ = waitpid(Some(self.shim), WaitOptions::empty());
    }

    /// Does what the shim should have done: it was killed, or it is stopped. Answers how the command has ended, when
    /// that is known.
    ///
    /// What does not go within a second of KILL hangs in the kernel; no lock can wait for that.
    pub(super) fn end_without_shim(&mut self, grace: Duration) -> Option<ExitStatus> {
        if self.is_over {
            return None;
        }
        self.is_over = true;
        let _ = kill_process(self.shim, Signal::KILL);
        let groups = [Some(self.shim), self.family.group.map(|group| group.0)];
        if let Some(terminal) = self.terminal.as_ref().filter(|t| groups.contains(&t.foreground())) {
            terminal.give_to(rustix::process::getpgrp());
        }
        let (shim, command) = (self.shim, self.command);
        let mut ended = None;
        self.family.end(boot::after(grace), Some(KILLED), |(pid, status)| {
            if command.map_or(pid != shim, |c| pid == c) && !status.stopped() {
                ended = Some(ExitStatus::from_raw(status.as_raw()));
            }
        });
        ended
    }
}
