//! Starting the command in its group.

use super::{family, script};
use crate::command::group::Group;
use crate::command::signals;
use crate::command::terminal::Terminal;
use crate::command::wire::Place;
use crate::command::words;
use rustix::io::Errno;
use rustix::process::{Pid, getpid, setpgid};
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// A command that runs, and what is to be done once it does not.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) command: Pid,
    pub(super) group: Group,
    /// In order of their numbers.
    pub(super) kept: Vec<OwnedFd>,
    /// The terminal, and the group that gets it back.
    pub(super) terminal: Option<(Terminal, Pid)>,
}

/// The first descriptor is the command's standard input, the second one has its words.
pub(super) fn start(place: Place, descriptors: Vec<OwnedFd>) -> io::Result<Started> {
    let mut kept = descriptors.into_iter();
    let (Some(input), Some(words)) = (kept.next(), kept.next()) else {
        return Err(ErrorKind::InvalidInput.into());
    };
    let words = words::unpack(words)?;
    family::adopt()?;
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

fn run(words: &[OsString], place: Place, input: &OwnedFd) -> io::Result<Started> {
    let (program, arguments) = words.split_first().ok_or(ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(input.try_clone()?);
    let terminal = match place {
        Place::Nowhere => None,
        Place::Background(ours) | Place::Foreground(ours) => Terminal::controlling().map(|t| (t, ours)),
    };
    let (command, group) = match (&terminal, place) {
        (Some((terminal, ours)), Place::Foreground(_)) => in_front(&mut command, terminal, *ours)?,
        _ => {
            let process = Pid::from_child(&command.process_group(0).spawn()?);
            (process, process)
        }
    };
    Ok(Started { command, group: Group(group), kept: Vec::new(), terminal })
}

/// The group that was made for the shim gets the terminal before the command is there: a command that reads before it
/// may is stopped. Then the shim leaves the group to it.
fn in_front(command: &mut Command, terminal: &Terminal, ours: Pid) -> io::Result<(Pid, Pid)> {
    let group = getpid();
    hear_signals()?;
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

/// While the shim is in the group that reads from the terminal, what is typed reaches it too. It must not end or stop it;
/// a signal that is heard, other than one that is blocked or ignored, does for the command what it always does.
fn hear_signals() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let _inside = runtime.enter();
    signals::hear_all()
}
