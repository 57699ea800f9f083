//! The time limit for waiting for a lock, and the exit code when it is exceeded.

use crate::duration::parse;
use crate::exit::Exit;
use clap::Args;
use std::time::Duration;

#[derive(Debug, Clone, Args)]
pub(crate) struct WaitOptions {
    /// Give up immediately if the lock is held
    #[arg(short, long, conflicts_with = "wait")]
    pub(crate) no_wait: bool,
    /// Give up after this time, for example 5s or 1m30s [default: wait forever]
    #[arg(short, long, value_name = "DUR", allow_hyphen_values = true, value_parser = parse)]
    pub(crate) wait: Option<Duration>,
    /// The exit code if the lock was not acquired
    #[arg(short = 'E', long, value_name = "N", default_value_t = Exit::BUSY)]
    pub(crate) busy_code: u8,
}
