//! A command that needs no lock. It runs in a shim as others do, so that none of its processes outlives cotter.

use super::child::Child;
use super::launch::Launch;
use super::wire::ShimEvent;
use cotter_console::{Failure, boot_clock};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

/// The time between TERM and KILL.
const GRACE: Duration = Duration::from_secs(2);

/// Runs a command to its end, or until it has to stop: after `limit`, or when `stop` completes. Returns the status of the
/// command, and `None` if it was stopped.
pub(crate) async fn run_alone(
    launch: Launch,
    limit: Duration,
    stop: impl Future,
) -> Result<Option<ExitStatus>, Failure> {
    let end = (boot_clock::after(limit), boot_clock::after(limit + GRACE));
    let mut child = Child::start(&launch, None, GRACE, Some(end)).await?;
    // Its output ends when no other process has these descriptors.
    drop(launch);
    let mut stop = std::pin::pin!(stop);
    let status = loop {
        tokio::select! {
            biased;
            news = child.news() => match news? {
                ShimEvent::Ended { status, .. } => break Some(ExitStatus::from_raw(status)),
                ShimEvent::Overdue | ShimEvent::Over | ShimEvent::Gone => break None,
                // A stopped command is still there when its time is over.
                _ => {}
            },
            _ = &mut stop => break None,
        }
    };
    child.stop(GRACE).await;
    child.kill_and_wait();
    Ok(status)
}
