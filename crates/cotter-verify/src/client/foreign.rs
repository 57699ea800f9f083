//! A process that becomes another program.

use super::end_with_parent;
use clap::Args;
use cotter_console::{Exit, Failure};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Run CMD, which ends when this process does.
#[derive(Debug, Args)]
pub(crate) struct Foreign {
    command: String,
}

/// Replaces this process, which keeps its number and ends with its parent. Returns only if that fails.
pub(crate) fn become_foreign(args: &Foreign) -> Failure {
    if let Err(failure) = end_with_parent() {
        return failure;
    }
    let error = Command::new("/bin/sh").arg("-c").arg(&args.command).exec();
    Failure::new(Exit::CannotExecute, format!("cannot start /bin/sh: {error}"))
}
