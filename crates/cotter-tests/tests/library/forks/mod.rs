//! Processes that fork and go on without `exec`.
//!
//! | file | concept |
//! |---|---|
//! | `apart` | a child that has the number of its parent, in a pid namespace of its own |
//! | `asleep` | a child that sleeps on the clock of its parent |
//! | `inherited` | a child that has the descriptors of locks |

#[cfg(not(cotter_portable))]
mod apart;
mod asleep;
mod inherited;

use cotter_testkit::in_own_process;
use cotter_testkit::servers::forking_library;
use cotter_testkit::timing::until;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);

/// Runs the body of a test in a process of its own, where [`fork`] works.
pub(crate) fn forking(test: &str, body: impl FnOnce()) {
    let prepare = |command: &mut Command| {
        let folder = tempfile::tempdir().unwrap();
        command.env("LD_PRELOAD", forking_library(folder.path()).unwrap());
        folder
    };
    in_own_process(test, prepare, body);
}

/// A child. Dropped, it is killed: a test that fails leaves nobody behind, who would keep its output open.
pub(crate) struct Fork(Pid);

/// Makes a child that does this and ends.
pub(crate) fn fork(child: impl FnOnce()) -> Fork {
    let pid = std::os::unix::process::parent_id() as i32;
    if pid == 0 {
        // It has no other thread to which a panic would matter.
        let done = catch_unwind(AssertUnwindSafe(child));
        std::process::exit(i32::from(done.is_err()));
    }
    Fork(Pid::from_raw(pid).filter(|_| pid > 0).expect("a fork"))
}

impl Fork {
    /// Waits until it has done what it had to. A child that hangs is killed.
    pub(crate) fn end(self) {
        let this = ManuallyDrop::new(self);
        let end = Instant::now() + Duration::from_secs(20);
        let status = loop {
            if let Some((_, status)) = waitpid(Some(this.0), WaitOptions::NOHANG).unwrap() {
                break status;
            }
            if Instant::now() > end {
                drop(ManuallyDrop::into_inner(this));
                panic!("the child hangs");
            }
            std::thread::sleep(MS);
        };
        assert_eq!(status.exit_status(), Some(0), "the child: {status:?}");
    }

    /// It outlives this process.
    pub(crate) fn leave(self) {
        std::mem::forget(self);
    }
}

impl Drop for Fork {
    fn drop(&mut self) {
        let _ = kill_process(self.0, Signal::KILL);
        let _ = waitpid(Some(self.0), WaitOptions::empty());
    }
}
