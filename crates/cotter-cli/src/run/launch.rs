//! Starting the shim.

use super::held::{self, Held};
use super::shim;
use super::wire::Order;
use crate::args::Run;
use crate::exit::Exit;
use crate::output::{Failure, clean};
use crate::store::Chosen;
use cotter::Guard;
use rustix::io::ioctl_fionbio;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::Pid;
use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind, stdin};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// This program, also when another one stands at its path by now.
const OURSELVES: &str = "/proc/self/exe";

/// Starts it, with the environment of the command; answers the way to it.
pub(super) fn start_shim(
    args: &Run,
    guard: &Guard,
    store: &Chosen,
    held: &Held,
) -> Result<(OwnedFd, Pid), Failure> {
    let pair = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None);
    let (ours, theirs) = pair.map_err(|e| cannot("make a socket", &e.into()))?;
    ioctl_fionbio(&ours, true).map_err(|e| cannot("make a socket", &e.into()))?;
    let mut command = Command::new(OURSELVES);
    command
        .arg0("cotter")
        .arg(shim::WORD)
        .args(words(args))
        // Out of reach of the signals that go to this process and those beside it.
        .process_group(0)
        .stdin(Stdio::from(theirs))
        .env("COTTER_NAME", guard.name().as_str())
        .env("COTTER_TOKEN", guard.token().to_string())
        .env("COTTER_URL", store.public_url())
        .env(held::KEY, held.text());
    // One that was inherited may mean another store than the one in use.
    match &store.name {
        Some(name) => command.env("COTTER_STORE", name),
        None => command.env_remove("COTTER_STORE"),
    };
    let child = command.spawn().map_err(|e| cannot("start the shim, /proc/self/exe", &e))?;
    Ok((ours, Pid::from_child(&child)))
}

/// The first order, with the command's standard input and what the lock lives on.
pub(super) fn hand_over(socket: &OwnedFd, order: Order, descriptors: &[OwnedFd]) {
    let input = stdin();
    let all: Vec<_> = [input.as_fd()].into_iter().chain(descriptors.iter().map(AsFd::as_fd)).collect();
    order.send(socket, &all);
}

fn words(args: &Run) -> Vec<OsString> {
    if args.shell {
        return vec!["sh".into(), "-c".into(), args.command.join(OsStr::new(" "))];
    }
    args.command.clone()
}

pub(super) fn cannot(what: &str, error: &io::Error) -> Failure {
    Failure::new(Exit::CannotExecute, format!("cannot {what}: {error}"))
}

pub(super) fn not_started(args: &Run, errno: i32) -> Failure {
    let error = io::Error::from_raw_os_error(errno);
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
