//! Further processes of this program, on the same store.

use cotter_console::{Exit, Failure};
use std::{env, io, process::Stdio};
use tokio::process::{Child, Command};

/// A command of this program with these arguments. Its input and output are pipes, and it ends when the handle is dropped.
///
/// The arguments are visible to every user, so the URL, which may contain a password, is passed in the environment.
pub(crate) fn command(words: &[&str], secret_url: &str) -> Result<Command, Failure> {
    let mut command = Command::new(env::current_exe().map_err(|e| failed(&e))?);
    command.arg("--quiet").args(words).env("COTTER_URL", secret_url);
    // The inherited values may name another store, or its password again.
    command.env_remove("COTTER_STORE").env_remove("COTTER_PASSWORD_FILE");
    // Not affected by Ctrl-C of the terminal: it is stopped by this process, and releases its locks first.
    command.process_group(0).kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    Ok(command)
}

pub(crate) fn spawn(command: &mut Command) -> Result<Child, Failure> {
    command.spawn().map_err(|e| failed(&e))
}

fn failed(error: &io::Error) -> Failure {
    Failure::new(Exit::CannotExecute, format!("cannot start another process of cotter: {error}"))
}
