//! The time of the run, and what the operator does meanwhile.

use super::Shared;
use super::program::failed;
use crate::args::Verify;
use crate::history::What;
use cotter_console::{Failure, StatusLine};
use std::process::Stdio;
use std::time::Duration;
use tokio::process::Command;
use tokio::time::{Instant, sleep, sleep_until};

/// Until the run is over: half of its time, what the operator does, and the other half.
pub(super) async fn act(args: &Verify, shared: &Shared, status: &StatusLine) -> Result<(), Failure> {
    let half = args.plan.time / 2;
    pass(half, "contending", status).await;
    if let Some(command) = &args.plan.during {
        status.clear();
        run(command, shared).await?;
    }
    pass(half, "contending", status).await;
    Ok(())
}

async fn pass(time: Duration, what: &str, status: &StatusLine) {
    let end = Instant::now() + time;
    while status.is_on() && Instant::now() < end {
        let left = end.saturating_duration_since(Instant::now()).as_secs() + 1;
        status.say(&format!("{what}: another {left} s"));
        sleep(Duration::from_secs(1).min(end.saturating_duration_since(Instant::now()))).await;
    }
    sleep_until(end).await;
}

/// Runs it to its end. Its output goes to standard error, where it is in nobody's way.
async fn run(text: &str, shared: &Shared) -> Result<(), Failure> {
    shared.log.record(0, What::During { text: text.to_owned() });
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(text).stdin(Stdio::null()).kill_on_drop(true);
    command.stdout(std::io::stderr());
    let status = command.status().await.map_err(|e| failed(&e))?;
    shared.log.record(0, What::DuringEnded { succeeded: status.success() });
    Ok(())
}
