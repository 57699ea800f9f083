//! The shim: a small process between cotter and the command, which ends the command when cotter cannot.
//!
//! It is told by packets on its standard input (see `wire`). It stops all that came of the command
//! - when it is told to;
//! - when cotter is dead, however it died: the socket ends;
//! - when the deadline that it was told last comes near and it hears of no later one (a cotter that is stopped or
//!   starved must not let the command outlive the lease).
//!
//! It keeps the descriptors that the lock lives on until nobody is left, so that the next holder starts after the last
//! write of this one, also when cotter is dead. No signal but KILL and STOP reaches it while the
//! command runs.

mod family;
mod keeper;
mod script;
mod start;

use super::boot;
use super::wire::{News, Order, Place};
use keeper::Keeper;
use nix::sys::prctl::set_name;
use nix::sys::signal::SigSet;
use std::ffi::CStr;
use std::io::stdin;
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;
use std::time::Duration;

/// The first word of its command line.
pub(crate) const WORD: &str = "__child";

/// What it is called in lists of processes. Not after cotter: who kills all that is called so (`pkill cotter`) leaves the
/// one alive that ends their commands.
pub(super) const NAME: &CStr = c"lock-shim";

/// Runs a command as the socket on standard input says.
pub(crate) fn main() -> ExitCode {
    let _ = set_name(NAME);
    let Ok(socket) = stdin().as_fd().try_clone_to_owned() else { return ExitCode::FAILURE };
    let Some((start, until)) = orders(&socket) else { return ExitCode::FAILURE };
    if until.is_some_and(|(term, _)| boot::left(term).is_zero()) {
        News::Overdue.send(&socket);
        return ExitCode::SUCCESS;
    }
    match start::start(start.place, start.descriptors) {
        Ok(started) => {
            // Not earlier: the command inherits what is blocked.
            let _ = SigSet::all().thread_block();
            News::Started { group: started.group.0, command: started.command }.send(&socket);
            match Keeper::new(socket, started, start.grace) {
                Ok(keeper) => keeper.run(until),
                Err(_) => return ExitCode::FAILURE,
            }
        }
        Err(e) => News::Failed(e.raw_os_error().unwrap_or_default()).send(&socket),
    }
    ExitCode::SUCCESS
}

struct Start {
    grace: Duration,
    place: Place,
    descriptors: Vec<OwnedFd>,
}

/// The order to start. The one that says until when comes before it, where there is one: between the two a cotter could
/// be paused.
fn orders(socket: &OwnedFd) -> Option<(Start, Option<(u64, u64)>)> {
    let mut until = None;
    loop {
        match Order::receive(socket).ok()?? {
            (Order::Until { term, kill }, _) => until = Some((term, kill)),
            (Order::Start { grace, place }, descriptors) => {
                return Some((Start { grace, place, descriptors }, until));
            }
            _ => return None,
        }
    }
}
