//! The time limit for waiting for a lock, and the exit code when it is exceeded.

use clap::Args;
use cotter_console::Exit;
use cotter_console::duration::parse;
use std::time::Duration;
use tokio::time::Instant;

#[derive(Debug, Clone, Args)]
pub(crate) struct WaitOptions {
    /// Give up immediately if the lock is held
    #[arg(short, long, conflicts_with = "wait")]
    pub(crate) no_wait: bool,
    /// Give up after this time, for example 5s or 1m30s [default: never, but a store that is away is given up after 30s]
    #[arg(short, long, value_name = "DUR", allow_hyphen_values = true, value_parser = parse)]
    pub(crate) wait: Option<Duration>,
    /// The exit code if the lock was not acquired
    #[arg(short = 'E', long, value_name = "N", default_value_t = Exit::BUSY)]
    pub(crate) busy_code: u8,
}

/// How long a store that is away is waited for, if there is no limit: as long as the library waits for a lock without an answer.
const GIVE_UP: Duration = Duration::from_secs(30);

impl WaitOptions {
    /// When a store that is away is given up.
    pub(crate) fn store_by(&self) -> Instant {
        let wait = if self.no_wait { Duration::ZERO } else { self.wait.unwrap_or(GIVE_UP) };
        let now = Instant::now();
        now.checked_add(wait).unwrap_or(now + GIVE_UP)
    }

    /// What is left for the lock of the time that began then.
    pub(crate) fn since(&self, began: Instant) -> Self {
        Self { wait: self.wait.map(|wait| wait.saturating_sub(began.elapsed())), ..self.clone() }
    }
}
