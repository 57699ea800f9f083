//! Which program the processes are.

use crate::args::{Store, Verify};
use crate::client::parent;
use cotter_console::duration::{exact, millis};
use cotter_console::{Exit, Failure};
use std::path::PathBuf;
use std::process::Stdio;
use std::{env, fmt};
use tokio::process::Command;

/// How a process is started.
#[derive(Debug)]
pub(super) struct Program {
    path: PathBuf,
    words: Vec<String>,
    environment: Vec<(String, String)>,
    is_foreign: bool,
}

impl Program {
    /// As the arguments ask for it. They are visible to every user, so a URL with a password is passed in the environment.
    pub(super) fn of(args: &Verify, store: &Store) -> Result<Self, Failure> {
        let path = env::current_exe().map_err(|e| failed(&e))?;
        let mut words: Vec<_> = ["--quiet", "verify"].map(str::to_owned).into();
        let ttl = ("COTTER_VERIFY_TTL_MS".to_owned(), millis(args.plan.ttl).to_string());
        let permits = ("COTTER_VERIFY_PERMITS".to_owned(), args.plan.permits.to_string());
        let Some(command) = &args.plan.client else {
            refuse_unshared(store)?;
            words.extend(["holder".to_owned(), "--ttl".to_owned(), exact(args.plan.ttl)]);
            words.extend(["--permits".to_owned(), permits.1]);
            let environment = vec![("COTTER_URL".to_owned(), store.secret_url.clone())];
            return Ok(Self { path, words, environment, is_foreign: false });
        };
        words.extend(["foreign".to_owned(), "--".to_owned(), command.clone()]);
        let environment = store.environment.iter().cloned().chain([ttl, permits]).collect();
        Ok(Self { path, words, environment, is_foreign: true })
    }

    /// For the process of this number. It is the head of a group of processes, which Ctrl-C of the terminal does not reach.
    pub(super) fn command(&self, number: u32) -> Command {
        let mut command = Command::new(&self.path);
        command.args(&self.words).process_group(0).kill_on_drop(true);
        // The inherited values may name another store, or its password again.
        for variable in ["COTTER_URL", "COTTER_STORE", "COTTER_PASSWORD_FILE"] {
            command.env_remove(variable);
        }
        command.envs(self.environment.iter().map(|(key, value)| (key, value)));
        command.env("COTTER_VERIFY_PROCESS", number.to_string()).envs([parent()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command
    }
}

/// Stores that processes do not share, or that have a single lock, which may be in use.
fn refuse_unshared(store: &Store) -> Result<(), Failure> {
    match store.client.as_ref().map(|client| client.info().scheme) {
        Some("memory") => {
            Err(Failure::usage("memory: is not shared between processes: verify another store"))
        }
        Some("flock") => Err(Failure::usage(
            "flock: is a single lock, which may be in use: verify file: in a directory next to it",
        )),
        _ => Ok(()),
    }
}

pub(super) fn failed(error: &std::io::Error) -> Failure {
    Failure::new(Exit::CannotExecute, format!("cannot start a process: {error}"))
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.words.last() {
            Some(command) if self.is_foreign => write!(f, "the client `{command}`"),
            _ => f.write_str("cotter"),
        }
    }
}
