//! The outcome of a command, and stopping what is left of it.

use super::child::Child;
use super::grace::Grace;
use cotter::{Expiring, Guard, Lost};
use std::process::ExitStatus;
use std::time::Duration;

/// The outcome of a command.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// It ended by itself, and this number of its descendants is still running.
    Exited { status: ExitStatus, left: usize },
    /// The lock is lost.
    Lost(Lost),
    /// The lock is about to be lost: there is just enough time to stop.
    Expiring(Expiring),
    /// It reached its maximum duration.
    MaxHold(Duration),
    /// The shim stopped it, because it was not told in time that the lock is still held.
    Overdue,
    /// The shim was killed. The status of the command, if it is known.
    NoShim(Option<ExitStatus>),
}

/// Why a command is stopped that is overdue. Which of the two it was is not known.
pub(crate) const OVERDUE: &str = "it was not known in time whether the lock is still held, because cotter was paused or the store was away";

/// Stops all processes of the command, so that the lock can be released.
pub(crate) async fn stop(
    child: &mut Child,
    guard: &Guard,
    mut end: Outcome,
    grace: Grace,
    warn: impl Fn(&str),
) -> Outcome {
    let time = match &end {
        // Its time ended while it was stopped: it must not continue.
        Outcome::Lost(_) | Outcome::Expiring(_) if child.is_stopped() => Duration::ZERO,
        Outcome::Lost(lost) => grace.on_loss(lost, guard),
        _ => grace.in_time(guard),
    };
    match &mut end {
        Outcome::Exited { left, .. } => warn_about_descendants(*left, warn),
        Outcome::NoShim(status) => {
            warn("the shim was killed: stopping the command");
            *status = child.end_without_shim(time).await;
        }
        _ => {}
    }
    child.stop(time).await;
    end
}

fn warn_about_descendants(left: usize, warn: impl Fn(&str)) {
    match left {
        0 => {}
        1 => warn("the command ended and left a process running: stopping it"),
        n => warn(&format!("the command ended and left {n} processes running: stopping them")),
    }
}
