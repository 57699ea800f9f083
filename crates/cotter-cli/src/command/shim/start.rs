//! Starting the command in its process group.

use super::{descendants, script};
use crate::command::argv;
use crate::command::group::Group;
use crate::command::signals;
use crate::command::terminal::Terminal;
use crate::command::wire::TerminalAccess;
use rustix::io::Errno;
use rustix::process::{Pid, getpid, setpgid};
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The running command, and what has to be cleaned up after it.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) command: Pid,
    pub(super) group: Group,
    /// The descriptors of the lock, in ascending order.
    pub(super) kept: Vec<OwnedFd>,
    /// The terminal, and the group that gets it back.
    pub(super) terminal: Option<(Terminal, Pid)>,
}

/// The first descriptor is the command's standard input, the second one contains its arguments.
pub(super) fn start(place: TerminalAccess, descriptors: Vec<OwnedFd>) -> io::Result<Started> {
    let mut kept = descriptors.into_iter();
    let (Some(input), Some(words)) = (kept.next(), kept.next()) else {
        return Err(ErrorKind::InvalidInput.into());
    };
    let words = argv::unpack(words)?;
    descendants::become_subreaper()?;
    let started = match run(&words, place, &input) {
        Err(e) if e.raw_os_error() == Some(Errno::NOEXEC.raw_os_error()) => {
            match script::by_a_shell(&words) {
                Some(words) => run(&words, place, &input)?,
                None => return Err(e),
            }
        }
        other => other?,
    };
    Ok(Started { kept: kept.collect(), ..started })
}

fn run(words: &[OsString], place: TerminalAccess, input: &OwnedFd) -> io::Result<Started> {
    let (program, arguments) = words.split_first().ok_or(ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(input.try_clone()?);
    let terminal = match place {
        TerminalAccess::None => None,
        TerminalAccess::Background(ours) | TerminalAccess::Foreground(ours) => {
            Terminal::controlling().map(|t| (t, ours))
        }
    };
    let (command, group) = match (&terminal, place) {
        (Some((terminal, ours)), TerminalAccess::Foreground(_)) => in_front(&mut command, terminal, *ours)?,
        _ => {
            let process = Pid::from_child(&command.process_group(0).spawn()?);
            (process, process)
        }
    };
    Ok(Started { command, group: Group(group), kept: Vec::new(), terminal })
}

/// Gives the terminal to the group of the shim before the command is started, because a command that reads too early would be
/// stopped. Then the shim leaves the group.
fn in_front(command: &mut Command, terminal: &Terminal, ours: Pid) -> io::Result<(Pid, Pid)> {
    let group = getpid();
    handle_signals()?;
    terminal.give_to(group);
    match command.spawn() {
        Ok(child) => {
            setpgid(None, Some(ours))?;
            Ok((Pid::from_child(&child), group))
        }
        Err(e) => {
            terminal.give_to(ours);
            Err(e)
        }
    }
}

/// While the shim is in the foreground group it receives the signals of the terminal, which must not end or stop it. The
/// signals are handled and not blocked or ignored, so that the command starts with default actions.
fn handle_signals() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let _inside = runtime.enter();
    signals::handle_all()
}
