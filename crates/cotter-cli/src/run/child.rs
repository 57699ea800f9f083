//! The command: started with the lock's data in its environment, stopped with all of its group.

use super::group::Group;
use crate::args::Run;
use crate::exit::Exit;
use crate::output::{Failure, clean};
use crate::store::Chosen;
use cotter::Guard;
use rustix::process::{Pid, Signal};
use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;
use tokio::process::Command;
use tokio::time::{sleep, timeout};

/// How long the kernel may take to carry out KILL before we go on without.
const KILLED: Duration = Duration::from_secs(1);

/// The running command.
#[derive(Debug)]
pub(super) struct Child {
    process: tokio::process::Child,
    pub(super) group: Group,
}

/// Starts the command in a process group of its own.
pub(super) fn spawn(args: &Run, guard: &Guard, store: &Chosen) -> Result<Child, Failure> {
    let mut command = command(args);
    command
        .process_group(0)
        // Only an error on the way lets go of it before it has ended.
        .kill_on_drop(true)
        .env("COTTER_NAME", guard.name().as_str())
        .env("COTTER_TOKEN", guard.token().to_string())
        .env("COTTER_URL", store.public_url());
    // One that was inherited may mean another store than the one in use.
    match &store.name {
        Some(name) => command.env("COTTER_STORE", name),
        None => command.env_remove("COTTER_STORE"),
    };
    let process = command.spawn().map_err(|e| not_started(args, &e))?;
    let pid = process.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    let pid = pid.ok_or_else(|| Failure::new(Exit::CannotExecute, "the command has no process id"))?;
    Ok(Child { process, group: Group::led_by(pid) })
}

fn command(args: &Run) -> Command {
    if args.shell {
        let mut command = Command::new("sh");
        command.arg("-c").arg(args.command.join(OsStr::new(" ")));
        return command;
    }
    let mut words = args.command.iter();
    let mut command = Command::new(words.next().map_or(OsStr::new(""), OsString::as_os_str));
    command.args(words);
    command
}

fn not_started(args: &Run, error: &io::Error) -> Failure {
    let program = if args.shell { OsStr::new("sh") } else { &args.command[0] };
    let shown = clean(&program.to_string_lossy());
    let path = Path::new(program);
    let (exit, why) = match error.kind() {
        ErrorKind::NotFound if path.components().count() > 1 && path.exists() => {
            (Exit::NotFound, "the interpreter in its first line was not found".to_owned())
        }
        ErrorKind::NotFound => (Exit::NotFound, "command not found: check its spelling and PATH".to_owned()),
        ErrorKind::PermissionDenied if path.is_dir() => (Exit::CannotExecute, "is a directory".to_owned()),
        ErrorKind::PermissionDenied => {
            (Exit::CannotExecute, "not executable: check its permissions".to_owned())
        }
        _ => (Exit::CannotExecute, format!("cannot be executed: {error}")),
    };
    Failure::new(exit, format!("{shown:?}: {why}"))
}

impl Child {
    /// When the command's own process has ended. Can be asked again.
    pub(super) async fn exited(&mut self) -> Result<ExitStatus, Failure> {
        let status = self.process.wait().await;
        status.map_err(|e| Failure::new(Exit::Protocol, format!("cannot wait for the command: {e}")))
    }

    /// TERM to the group, KILL after `grace`; back when nobody of the group is left.
    pub(super) async fn stop(&mut self, grace: Duration) -> Result<(), Failure> {
        if self.is_gone() {
            return Ok(());
        }
        if !grace.is_zero() {
            self.group.send(Signal::TERM);
            // A stopped process sees no TERM before it goes on.
            self.group.send(Signal::CONT);
        }
        if timeout(grace, self.gone()).await.is_err() {
            self.group.send(Signal::KILL);
            // What does not go now hangs in the kernel; no lock can wait for that.
            let _ = timeout(KILLED, self.gone()).await;
        }
        Ok(())
    }

    fn is_gone(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(Some(_))) && self.group.members() == 0
    }

    /// There is no event for the end of somebody else's children.
    async fn gone(&mut self) {
        let _ = self.process.wait().await;
        let mut pause = Duration::from_millis(1);
        while self.group.members() > 0 {
            sleep(pause).await;
            pause = (2 * pause).min(Duration::from_millis(50));
        }
    }
}
