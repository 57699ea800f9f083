//! The shim: a small process between cotter and the command, which ends the command if cotter cannot.
//!
//! It receives requests as packets on its standard input (see `wire`). It stops the command and all its descendants
//! - on request;
//! - when cotter is dead, however it died: the socket is closed;
//! - when the last deadline it received is near and no later one arrives: a cotter that is stopped or starved must not let
//!   the command outlive the lease.
//!
//! It keeps the descriptors of the lock until no process is left, so that the next holder starts after the last write of
//! this one, even if cotter is dead. While the command runs, only KILL and STOP can reach it.
//!
//! | file | concept |
//! |---|---|
//! | `start`, `script` | starting the command in its group; scripts without an interpreter line |
//! | `supervisor` | the supervision of the running command |
//! | `descendants` | reaping and ending the descendants |

mod descendants;
mod script;
mod start;
mod supervisor;

use super::wire::{Request, ShimEvent, TerminalAccess};
use cotter_console::boot_clock;
use nix::sys::prctl::set_name;
use nix::sys::signal::SigSet;
use std::ffi::CStr;
use std::io::stdin;
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;
use std::time::Duration;
use supervisor::Supervisor;

/// The first argument of a shim.
pub(crate) const WORD: &str = "__child";

/// The process name. It does not contain "cotter", so that `pkill cotter` does not kill the processes that end the commands.
pub(super) const NAME: &CStr = c"lock-shim";

/// Runs a command as requested over the socket on standard input.
pub(crate) fn main() -> ExitCode {
    let _ = set_name(NAME);
    let Ok(socket) = stdin().as_fd().try_clone_to_owned() else { return ExitCode::FAILURE };
    let Some((start, until)) = orders(&socket) else { return ExitCode::FAILURE };
    if until.is_some_and(|(term, _)| boot_clock::left(term).is_zero()) {
        ShimEvent::Overdue.send(&socket);
        return ExitCode::SUCCESS;
    }
    match start::start(start.place, start.descriptors) {
        Ok(started) => {
            // Not earlier, because the command would inherit the blocked signals.
            let _ = SigSet::all().thread_block();
            ShimEvent::Started { group: started.group.0, command: started.command }.send(&socket);
            match Supervisor::new(socket, started, start.grace) {
                Ok(keeper) => keeper.run(until),
                Err(_) => return ExitCode::FAILURE,
            }
        }
        Err(e) => ShimEvent::Failed(e.raw_os_error().unwrap_or_default()).send(&socket),
    }
    ExitCode::SUCCESS
}

struct Start {
    grace: Duration,
    place: TerminalAccess,
    descriptors: Vec<OwnedFd>,
}

/// Receives the request to start. A limit, if there is one, is sent before it, because cotter could be paused between the
/// two.
fn orders(socket: &OwnedFd) -> Option<(Start, Option<(u64, u64)>)> {
    let mut until = None;
    loop {
        match Request::receive(socket).ok()?? {
            (Request::Until { term, kill }, _) => until = Some((term, kill)),
            (Request::Start { grace, place }, descriptors) => {
                return Some((Start { grace, place, descriptors }, until));
            }
            _ => return None,
        }
    }
}
