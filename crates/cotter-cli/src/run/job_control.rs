//! Job control: Ctrl-Z and `fg`.

use crate::command::Child;
use crate::command::signals::cannot_listen;
use crate::command::terminal::{Terminal, from_the_background, has_a_shell};
use cotter::Guard;
use cotter_console::duration::words;
use cotter_console::{Console, Failure};
use nix::sys::pthread::{pthread_kill, pthread_self};
use nix::sys::signal::{SigSet, Signal::SIGTTIN};
use rustix::process::{Signal, kill_current_process_group};
use std::future::pending;
use std::task::{Context, Waker};
use std::time::Duration;
use tokio::signal::unix::{self, SignalKind};
use tokio::time::timeout;

/// How long a signal to the own group may take from its handler to the listener.
const OWN_SIGNAL: Duration = Duration::from_millis(20);

/// Job control, if there is a terminal; otherwise a command that stops itself stays stopped.
pub(super) struct JobControl(Option<Signals>);

struct Signals {
    stop: unix::Signal,
    go_on: unix::Signal,
}

impl JobControl {
    pub(super) fn of(child: &Child) -> Result<Self, Failure> {
        if child.terminal().is_none() {
            return Ok(Self(None));
        }
        let listen = || -> std::io::Result<Signals> {
            let stop = unix::signal(SignalKind::from_raw(Signal::TSTP.as_raw()))?;
            let go_on = unix::signal(SignalKind::from_raw(Signal::CONT.as_raw()))?;
            Ok(Signals { stop, go_on })
        };
        listen().map(|signals| Self(Some(signals))).map_err(|e| cannot_listen(&e))
    }

    /// Completes on Ctrl-Z while the command is not in the foreground.
    pub(super) async fn asked_to_stop(&mut self) {
        match &mut self.0 {
            Some(signals) => drop(signals.stop.recv().await),
            None => pending().await,
        }
    }

    /// Handles a stopped command. If it only wants the terminal, it gets it. Otherwise this process stops too, so that the shell
    /// gets its prompt; when the shell continues it, the command continues, unless the lease has ended by then.
    pub(super) async fn stopped(&mut self, signal: i32, child: &mut Child, guard: &Guard, console: &Console) {
        let (Some(signals), Some(terminal)) = (&mut self.0, child.terminal()) else { return };
        let wants_terminal = signal == Signal::TTIN.as_raw() || signal == Signal::TTOU.as_raw();
        if wants_terminal && terminal.is_ours() {
            child.go_on(true);
            return;
        }
        if has_a_shell() {
            // With `stty tostop` the message itself would stop this process, and `fg` be needed twice.
            from_the_background(|| console.remark(&stopped_message(guard)));
            signals.stop_here(signal).await;
        }
        if guard.is_valid() {
            let foreground = child.terminal().is_some_and(Terminal::is_ours);
            child.go_on(foreground);
        }
    }
}

impl Signals {
    /// Stops this process, and returns when it was continued.
    ///
    /// A signal of the terminal is meant for the whole job: a script that waits for this process has to stop as well, or the
    /// shell above it would not get its prompt. The shim may be in the same group; it ignores TSTP.
    ///
    /// That shell knows of the stop as soon as the script has stopped, and may continue the job before this process has. So what
    /// stops this process is pending before: a CONT that arrives in between takes it away.
    async fn stop_here(&mut self, signal: i32) {
        let mut no_waker = Context::from_waker(Waker::noop());
        // Discard signals from before the stop.
        while self.go_on.poll_recv(&mut no_waker).is_ready() {}
        let mut stop = SigSet::empty();
        stop.add(SIGTTIN);
        let is_pending = stop.thread_block().is_ok() && pthread_kill(pthread_self(), SIGTTIN).is_ok();
        if signal != Signal::STOP.as_raw() {
            let _ = kill_current_process_group(Signal::TSTP);
        }
        let _ = stop.thread_unblock();
        if is_pending {
            self.go_on.recv().await;
        }
        // This process has received TSTP as well, unless it was continued before, and is not to take it for another Ctrl-Z.
        let _ = timeout(OWN_SIGNAL, self.stop.recv()).await;
        while self.stop.poll_recv(&mut no_waker).is_ready() {}
    }
}

fn stopped_message(guard: &Guard) -> String {
    let name = guard.name();
    match guard.remaining() {
        None => format!("stopped; {name:?} stays held, and others wait until the job continues and ends"),
        Some(left) => {
            let left = words(left);
            format!("stopped; {name:?} is not renewed: in {left} it will be lost and the command killed")
        }
    }
}
