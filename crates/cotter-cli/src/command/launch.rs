//! The command to run and its environment; starting its shim.

use super::argv;
use super::shim;
use super::shims::Shim;
use super::wire::Request;
use cotter::{FencingToken, Guard};
use cotter_console::{Exit, Failure, clean};
use rustix::io::ioctl_fionbio;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, ErrorKind, stdin};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

/// This program, even if the file at its path was replaced.
const OURSELVES: &str = "/proc/self/exe";

/// A command to run.
#[derive(Debug, Clone)]
pub(crate) struct Launch {
    /// The program and its arguments; not empty.
    pub(crate) argv: Vec<OsString>,
    /// Additional environment variables. `COTTER_NAME` and `COTTER_TOKEN` are set from the guard; without one they are removed.
    pub(crate) env: Vec<(String, String)>,
    /// `COTTER_TOKEN`, if it is not the token of the guard.
    pub(crate) token: Option<FencingToken>,
    /// Variables to remove from the environment.
    pub(crate) without: &'static [&'static str],
    /// The working directory, if not that of this process.
    pub(crate) cwd: Option<PathBuf>,
    /// Where its output goes, if not where that of this process goes.
    pub(crate) output: Option<Streams>,
    /// Whether it inherits the standard input of this process; otherwise its input is empty.
    pub(crate) has_input: bool,
    /// Whether it may read from the terminal of this process.
    pub(crate) has_terminal: bool,
}

/// The standard output and standard error of a command.
#[derive(Debug, Clone)]
pub(crate) struct Streams {
    stdout: Arc<OwnedFd>,
    stderr: Arc<OwnedFd>,
}

impl Streams {
    pub(crate) fn new(stdout: OwnedFd, stderr: OwnedFd) -> Self {
        Self { stdout: stdout.into(), stderr: stderr.into() }
    }

    fn of(&self, command: &mut Command) -> io::Result<()> {
        command.stdout(self.stdout.try_clone()?).stderr(self.stderr.try_clone()?);
        Ok(())
    }
}

impl Launch {
    /// The command for a shell script.
    pub(crate) fn script(text: impl Into<OsString>) -> Vec<OsString> {
        vec!["sh".into(), "-c".into(), text.into()]
    }

    /// Starts the shim, with the environment of the command. Returns the socket to it.
    pub(super) fn start_shim(&self, guard: Option<&Guard>) -> Result<(OwnedFd, Shim), Failure> {
        let pair = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None);
        let (ours, theirs) = pair.map_err(|e| cannot("create a socket", &e.into()))?;
        ioctl_fionbio(&ours, true).map_err(|e| cannot("create a socket", &e.into()))?;
        let mut command = Command::new(OURSELVES);
        command
            .arg0(shim::NAME.to_str().unwrap_or_default())
            .arg(shim::WORD)
            // Not affected by signals to the group of this process.
            .process_group(0)
            .stdin(Stdio::from(theirs))
            // The inherited values may name another store.
            .env_remove("COTTER_STORE")
            .env_remove("COTTER_PASSWORD_FILE")
            .envs(self.env.iter().map(|(key, value)| (key, value)));
        match guard {
            Some(guard) => {
                let token = self.token.unwrap_or(guard.token());
                command.env("COTTER_NAME", guard.name().as_str()).env("COTTER_TOKEN", token.to_string());
            }
            None => drop(command.env_remove("COTTER_NAME").env_remove("COTTER_TOKEN")),
        }
        for key in self.without {
            command.env_remove(key);
        }
        if let Some(output) = &self.output {
            output.of(&mut command).map_err(|e| cannot("forward the output", &e))?;
        }
        if let Some(cwd) = &self.cwd {
            check_directory(cwd)?;
            command.current_dir(cwd);
        }
        let shim = Shim::spawn(&mut command).map_err(|e| no_shim(&e))?;
        Ok((ours, shim))
    }

    /// Sends the first request, with the command's standard input, its arguments, and the descriptors of the lock.
    pub(super) fn hand_over(
        &self,
        socket: &OwnedFd,
        order: Request,
        descriptors: &[OwnedFd],
    ) -> Result<(), Failure> {
        let words = argv::pack(&self.argv).map_err(|e| cannot("pass the command to the shim", &e))?;
        let hand_over = |input: BorrowedFd<'_>| {
            let of_command = [input, words.as_fd()];
            let all: Vec<_> = of_command.into_iter().chain(descriptors.iter().map(AsFd::as_fd)).collect();
            order.send(socket, &all);
        };
        if self.has_input {
            hand_over(stdin().as_fd());
        } else {
            let nothing = File::open("/dev/null").map_err(|e| cannot("open /dev/null", &e))?;
            hand_over(nothing.as_fd());
        }
        Ok(())
    }

    pub(super) fn not_started(&self, errno: i32) -> Failure {
        let error = io::Error::from_raw_os_error(errno);
        let program = &self.argv[0];
        let shown = clean(&program.to_string_lossy());
        let path = self.cwd.as_deref().unwrap_or(Path::new("")).join(program);
        let is_path = Path::new(program).components().count() > 1;
        let (exit, why) = match error.kind() {
            ErrorKind::NotFound if is_path && path.exists() => {
                (Exit::NotFound, "the interpreter in its first line was not found".to_owned())
            }
            ErrorKind::NotFound => {
                (Exit::NotFound, "command not found: check its spelling and PATH".to_owned())
            }
            ErrorKind::PermissionDenied if path.is_dir() => {
                (Exit::CannotExecute, "is a directory".to_owned())
            }
            ErrorKind::PermissionDenied => {
                (Exit::CannotExecute, "not executable: check its permissions".to_owned())
            }
            _ => (Exit::CannotExecute, format!("cannot be executed: {error}")),
        };
        Failure::new(exit, format!("{shown:?}: {why}"))
    }
}

/// Checks the directory, because the error of the system would look as if the shim were missing.
fn check_directory(path: &Path) -> Result<(), Failure> {
    let why = match path.metadata() {
        Ok(found) if found.is_dir() => return Ok(()),
        Ok(_) => "is not a directory".to_owned(),
        Err(e) => e.to_string(),
    };
    let shown = clean(&path.to_string_lossy());
    Err(Failure::new(Exit::CannotExecute, format!("the working directory {shown:?}: {why}")))
}

/// The error for a shim that cannot be started. Without `/proc` the descendants of the command could not be found either.
fn no_shim(error: &io::Error) -> Failure {
    match error.kind() {
        ErrorKind::NotFound => {
            let why =
                "cannot start the shim: there is no /proc/self/exe; mount /proc, which `cotter run` needs";
            Failure::new(Exit::CannotExecute, why)
        }
        _ => cannot("start the shim, /proc/self/exe", error),
    }
}

pub(super) fn cannot(what: &str, error: &io::Error) -> Failure {
    Failure::new(Exit::CannotExecute, format!("cannot {what}: {error}"))
}
