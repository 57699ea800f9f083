//! Another process of this program, on the same store.

use crate::exit::Exit;
use crate::output::Failure;
use std::{env, io, process::Stdio};
use tokio::process::{Child, Command};

/// A command of this program with these words: what it reads and says goes through pipes, and it ends with the handle.
///
/// Everybody can read the arguments, so the URL, which may have a password, goes by the environment.
pub(crate) fn command(words: &[&str], secret_url: &str) -> Result<Command, Failure> {
    let mut command = Command::new(env::current_exe().map_err(|e| failed(&e))?);
    command.arg("--quiet").args(words).env("COTTER_URL", secret_url);
    // What was inherited may mean another store, or its password once more.
    command.env_remove("COTTER_STORE").env_remove("COTTER_PASSWORD_FILE");
    // Out of reach of the terminal's Ctrl-C: it is stopped from here, and gives back what it holds.
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
