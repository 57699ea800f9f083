//! How a command came to its end, and what is done about it.

use super::child::Child;
use super::grace::Grace;
use cotter::{Expiring, Guard, Lost};
use std::process::ExitStatus;
use std::time::Duration;

/// How the command came to its end.
#[derive(Debug)]
pub(crate) enum End {
    /// By itself, and so many that came of it live on.
    Exited { status: ExitStatus, left: usize },
    /// The lock is lost.
    Lost(Lost),
    /// It is about to be: there is just the time to stop.
    Expiring(Expiring),
    /// It has run for as long as it may.
    MaxHold(Duration),
    /// The shim stopped it, because cotter had not run for too long.
    Overdue,
    /// The shim was killed. The command's own status, when it is known.
    NoShim(Option<ExitStatus>),
}

/// Nothing of the command is left after this, so that the lock can be given back. What is worth a warning is said.
pub(crate) async fn stop(
    child: &mut Child,
    guard: &Guard,
    mut end: End,
    grace: Grace,
    warn: impl Fn(&str),
) -> End {
    let time = match &end {
        // Its time was over while it was stopped: it is not let go on.
        End::Lost(_) | End::Expiring(_) if child.is_stopped() => Duration::ZERO,
        End::Lost(lost) => grace.on_loss(lost, guard),
        _ => grace.in_time(guard),
    };
    match &mut end {
        End::Exited { left, .. } => say_what_is_left(*left, warn),
        End::NoShim(status) => {
            warn("the shim was killed: stopping the command");
            *status = child.end_without_shim(time).await;
        }
        _ => {}
    }
    child.stop(time).await;
    end
}

fn say_what_is_left(left: usize, warn: impl Fn(&str)) {
    match left {
        0 => {}
        1 => warn("the command ended and left a process running: stopping it"),
        n => warn(&format!("the command ended and left {n} processes running: stopping them")),
    }
}
