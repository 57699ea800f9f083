//! The process of a server.

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// A process that is killed when this is dropped, or none yet.
#[derive(Debug, Default)]
pub(super) struct Process(Option<Child>);

/// The time for a process to stand still.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

impl Process {
    /// Starts a program, in place of the one that has run.
    pub(super) fn start(&mut self, command: &mut Command) {
        self.kill();
        let program = command.get_program().to_string_lossy().into_owned();
        let child = command.spawn();
        self.0 = Some(
            child.unwrap_or_else(|e| panic!("{program} does not start ({e}); scripts/servers installs it")),
        );
    }

    pub(super) fn is_running(&self) -> bool {
        self.0.is_some()
    }

    /// Whether it was started, and has ended by itself.
    pub(super) fn has_ended(&mut self) -> bool {
        self.0.as_mut().is_some_and(|child| child.try_wait().is_ok_and(|status| status.is_some()))
    }

    /// Kills it, without any chance to write.
    pub(super) fn kill(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Stops it as it is: connections stay, and nothing is answered until it goes on.
    pub(super) fn stop(&self) {
        stop(self.0.as_ref().expect("it runs"));
    }

    /// Lets it go on.
    pub(super) fn go_on(&self) {
        let child = self.0.as_ref().expect("it runs");
        kill_process(Pid::from_child(child), Signal::CONT).expect("it is ours");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Stops a process. Returns when all of its threads stand still: on a busy machine some go on for a while.
fn stop(child: &Child) {
    let (pid, end) = (Pid::from_child(child), Instant::now() + STOP_TIMEOUT);
    kill_process(pid, Signal::STOP).expect("it is ours");
    let stands =
        || waitpid(Some(pid), WaitOptions::UNTRACED | WaitOptions::NOHANG).is_ok_and(|told| told.is_some());
    // One that stood still before reports nothing.
    while !stands() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(1));
    }
}
