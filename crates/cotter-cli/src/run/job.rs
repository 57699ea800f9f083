//! The command as a job of a shell: what Ctrl-Z and `fg` do.

use crate::command::Child;
use crate::command::terminal::{Terminal, has_a_shell};
use crate::duration::words;
use crate::exit::Exit;
use crate::output::{Console, Failure};
use cotter::Guard;
use rustix::process::{Signal, getpid, kill_current_process_group, kill_process};
use std::future::pending;
use std::task::{Context, Waker};
use tokio::signal::unix::{self, SignalKind};

/// Only where there is a terminal; elsewhere a command that stops itself stays stopped.
pub(super) struct Job(Option<Heard>);

struct Heard {
    stop: unix::Signal,
    go_on: unix::Signal,
}

impl Job {
    pub(super) fn of(child: &Child) -> Result<Self, Failure> {
        if child.terminal().is_none() {
            return Ok(Self(None));
        }
        let hear = || -> std::io::Result<Heard> {
            let stop = unix::signal(SignalKind::from_raw(Signal::TSTP.as_raw()))?;
            let go_on = unix::signal(SignalKind::from_raw(Signal::CONT.as_raw()))?;
            Ok(Heard { stop, go_on })
        };
        hear()
            .map(|heard| Self(Some(heard)))
            .map_err(|e| Failure::new(Exit::Protocol, format!("cannot listen for signals: {e}")))
    }

    /// Ctrl-Z while the command is not the one that reads from the terminal.
    pub(super) async fn asked_to_stop(&mut self) {
        match &mut self.0 {
            Some(heard) => drop(heard.stop.recv().await),
            None => pending().await,
        }
    }

    /// The command was stopped. Either it only wants the terminal, or this process stops too, so that the shell gets
    /// its prompt; when that lets it go on, the command may, unless its time is over by then.
    pub(super) async fn stopped(&mut self, signal: i32, child: &mut Child, guard: &Guard, console: &Console) {
        let (Some(heard), Some(terminal)) = (&mut self.0, child.terminal()) else { return };
        let wants_terminal = signal == Signal::TTIN.as_raw() || signal == Signal::TTOU.as_raw();
        if wants_terminal && terminal.is_ours() {
            child.go_on(true);
            return;
        }
        if has_a_shell() {
            console.remark(&what_it_means(guard));
            heard.stop_here(signal).await;
        }
        if guard.is_valid() {
            let foreground = child.terminal().is_some_and(Terminal::is_ours);
            child.go_on(foreground);
        }
    }
}

impl Heard {
    /// Back when somebody has let this process go on. Not before, even if the stop comes a moment late.
    ///
    /// What a terminal sends is meant for the whole job: a script that waits for this process has to stop as well, or
    /// the shell above it would not get its prompt. The shim may be in the same group: it does not hear TSTP.
    async fn stop_here(&mut self, signal: i32) {
        let mut nobody = Context::from_waker(Waker::noop());
        // What was said before the stop does not count.
        while self.go_on.poll_recv(&mut nobody).is_ready() {}
        if signal != Signal::STOP.as_raw() {
            let _ = kill_current_process_group(Signal::TSTP);
        }
        if kill_process(getpid(), Signal::STOP).is_ok() {
            self.go_on.recv().await;
        }
        // What was sent to the group came here as well.
        let mut nobody = Context::from_waker(Waker::noop());
        while self.stop.poll_recv(&mut nobody).is_ready() {}
    }
}

fn what_it_means(guard: &Guard) -> String {
    let name = guard.name();
    match guard.remaining() {
        None => format!("stopped; {name:?} stays held, others wait until the job goes on and ends"),
        Some(left) => {
            let left = words(left);
            format!("stopped; {name:?} is not renewed: in {left} it is lost and the command is killed")
        }
    }
}
