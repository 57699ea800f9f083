//! Starting the command in its group.

use super::family;
use crate::command::group::Group;
use crate::command::signals;
use crate::command::terminal::Terminal;
use crate::command::wire::Place;
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

/// The first descriptor is the command's standard input.
pub(super) fn start(words: &[OsString], place: Place, descriptors: Vec<OwnedFd>) -> io::Result<Started> {
    let mut kept = descriptors.into_iter();
    let (Some(input), Some((program, arguments))) = (kept.next(), words.split_first()) else {
        return Err(ErrorKind::InvalidInput.into());
    };
    family::adopt()?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(input);
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
    Ok(Started { command, group: Group(group), kept: kept.collect(), terminal })
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
