//! Signals that are forwarded to the command, or end the wait for the lock.

use super::proc;
use cotter_console::{Exit, Failure};
use rustix::process::{Signal, getpid};
use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll};
use tokio::signal::unix::{self, SignalKind};

/// The signals that are forwarded.
const PASSED_ON: [Signal; 6] =
    [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT, Signal::USR1, Signal::USR2];

/// Listens from the moment it is created; each signal is reported once.
#[derive(Debug)]
pub(crate) struct Signals(Vec<(Signal, unix::Signal)>);

impl Signals {
    /// Listens for the signals that are forwarded.
    pub(crate) fn listen() -> Result<Self, Failure> {
        Self::of(&PASSED_ON)
    }

    /// Listens for these signals, except those that were ignored when this process started.
    pub(crate) fn of(signals: &[Signal]) -> Result<Self, Failure> {
        let ignored = ignored();
        let heard = signals.iter().copied().filter(|signal| ignored & bit(*signal) == 0);
        let listen = |signal: Signal| Ok((signal, unix::signal(SignalKind::from_raw(signal.as_raw()))?));
        let listening: Result<_, std::io::Error> = heard.map(listen).collect();
        listening.map(Self).map_err(|e| cannot_listen(&e))
    }

    /// The next signal.
    pub(crate) async fn next(&mut self) -> Signal {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// The number of the next signal that requests to stop. USR1 and USR2 are meant for the command and ignored.
    pub(crate) async fn stop(&mut self) -> u8 {
        loop {
            let signal = self.next().await;
            if signal != Signal::USR1 && signal != Signal::USR2 {
                return u8::try_from(signal.as_raw()).unwrap_or_default();
            }
        }
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Signal> {
        for (signal, stream) in &mut self.0 {
            if stream.poll_recv(cx) == Poll::Ready(Some(())) {
                return Poll::Ready(*signal);
            }
        }
        Poll::Pending
    }
}

/// Does work that a signal may end at any moment. The kernel sees to that, but not for the first process of a container, which
/// gets only the signals that it listens for.
pub(crate) async fn until_stopped(
    work: impl Future<Output = Result<Exit, Failure>>,
) -> Result<Exit, Failure> {
    if !getpid().is_init() {
        return work.await;
    }
    let mut signals = Signals::listen()?;
    tokio::select! {
        biased;
        signal = signals.stop() => Ok(Exit::Interrupted(signal)),
        end = work => end,
    }
}

/// Installs handlers without effect for all signals of the terminal and those that are forwarded.
pub(super) fn handle_all() -> io::Result<()> {
    let ignored = ignored();
    let mut all = PASSED_ON.into_iter().chain([Signal::TSTP]).filter(|signal| ignored & bit(*signal) == 0);
    all.try_for_each(|signal| unix::signal(SignalKind::from_raw(signal.as_raw())).map(drop))
}

/// Handles CHLD without effect if it was ignored when this process started: the kernel would reap the children, and their
/// statuses would be lost. What this process starts has the default action again.
pub(crate) fn keep_children() -> Result<(), Failure> {
    if ignored() & bit(Signal::CHILD) == 0 {
        return Ok(());
    }
    let heard = unix::signal(SignalKind::child()).map(drop);
    heard.map_err(|e| cannot_listen(&e))
}

/// Handles XFSZ without effect, so that writing too much to a file is an error, and not the end of this process. What this
/// process starts has the default action again.
pub(crate) fn keep_going_at_the_file_limit() -> Result<(), Failure> {
    if ignored() & bit(Signal::XFSZ) != 0 {
        return Ok(());
    }
    let heard = unix::signal(SignalKind::from_raw(Signal::XFSZ.as_raw())).map(drop);
    heard.map_err(|e| cannot_listen(&e))
}

/// The signals that were ignored when this process started, as under nohup(1), as a bit set. They stay ignored, here and in
/// the command; listening for them would undo that.
fn ignored() -> u64 {
    let status = proc::text("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}

pub(crate) fn cannot_listen(error: &io::Error) -> Failure {
    Failure::new(Exit::System, format!("cannot listen for signals: {error}"))
}

fn bit(signal: Signal) -> u64 {
    1 << (signal.as_raw() - 1)
}
