//! The protocol between cotter and its shim: one line per packet.

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use rustix::process::Pid;
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// The maximum length of a line.
const LINE: usize = 128;
/// The maximum number of descriptors: the command's standard input, its arguments, and those of the lock.
const DESCRIPTORS: usize = 8;

/// A request from cotter to the shim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Request {
    /// Start the command. The first descriptor is the command's standard input, the second one contains its arguments, the
    /// others have to be kept. `grace` applies if cotter is dead.
    Start { grace: Duration, place: TerminalAccess },
    /// Stop the command without a further request: TERM at `term`, KILL at `kill`, on the boot clock. Replaces earlier limits.
    Until { term: u64, kill: u64 },
    /// Send a signal to the group.
    Signal(i32),
    /// Continue the stopped group, and give it the terminal if `foreground`.
    Continue { foreground: bool },
    /// Send TERM now and KILL after this time.
    Stop(Duration),
}

/// The access of a command to the terminal, with the group that gets the terminal back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TerminalAccess {
    /// No terminal.
    None,
    /// It gets the terminal when it asks for it.
    Background(Pid),
    /// It has the terminal from the start.
    Foreground(Pid),
}

/// An event from the shim to cotter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShimEvent {
    /// The command was started in this group.
    Started { group: Pid, command: Pid },
    /// The command cannot be started, with this errno.
    Failed(i32),
    /// The command was stopped by this signal.
    Stopped(i32),
    /// The command has ended with this status and left this number of processes. If it is zero, no more events follow.
    Ended { status: i32, left: usize },
    /// No new deadline arrived in time: the shim stops the group.
    Overdue,
    /// No process is left.
    Over,
    /// The shim is dead.
    Gone,
}

impl Request {
    fn line(self) -> String {
        match self {
            Self::Start { grace, place } => {
                let (word, group) = match place {
                    TerminalAccess::None => ("start", 0),
                    TerminalAccess::Background(pid) => ("start-background", pid.as_raw_nonzero().get()),
                    TerminalAccess::Foreground(pid) => ("start-foreground", pid.as_raw_nonzero().get()),
                };
                format!("{word} {} {group}", grace.as_nanos())
            }
            Self::Until { term, kill } => format!("until {term} {kill}"),
            Self::Signal(signal) => format!("signal {signal} 0"),
            Self::Continue { foreground } => format!("continue {} 0", u8::from(foreground)),
            Self::Stop(grace) => format!("stop {} 0", grace.as_nanos()),
        }
    }

    fn parse(line: &str) -> Option<Self> {
        let (word, a, b) = parts(line)?;
        Some(match word {
            "start" => Self::Start { grace: Duration::from_nanos(a), place: TerminalAccess::None },
            "start-background" => {
                Self::Start { grace: Duration::from_nanos(a), place: TerminalAccess::Background(pid(b)?) }
            }
            "start-foreground" => {
                Self::Start { grace: Duration::from_nanos(a), place: TerminalAccess::Foreground(pid(b)?) }
            }
            "until" => Self::Until { term: a, kill: b },
            "signal" => Self::Signal(i32::try_from(a).ok()?),
            "continue" => Self::Continue { foreground: a != 0 },
            "stop" => Self::Stop(Duration::from_nanos(a)),
            _ => return None,
        })
    }

    /// Sends the request, with descriptors if there are any. A dead shim is detected elsewhere.
    pub(super) fn send(self, socket: impl AsFd, descriptors: &[BorrowedFd<'_>]) {
        send(socket.as_fd(), &self.line(), descriptors);
    }

    /// The next request and its descriptors; `None` at the end.
    pub(super) fn receive(socket: impl AsFd) -> rustix::io::Result<Option<(Self, Vec<OwnedFd>)>> {
        let (line, descriptors) = receive(socket.as_fd())?;
        Ok(Self::parse(&line).map(|order| (order, descriptors)))
    }
}

impl ShimEvent {
    fn line(self) -> String {
        match self {
            Self::Started { group, command } => {
                format!("started {} {}", group.as_raw_nonzero(), command.as_raw_nonzero())
            }
            Self::Failed(errno) => format!("failed {errno} 0"),
            Self::Stopped(signal) => format!("stopped {signal} 0"),
            Self::Ended { status, left } => format!("ended {status} {left}"),
            Self::Overdue => "overdue 0 0".to_owned(),
            Self::Over => "over 0 0".to_owned(),
            Self::Gone => String::new(),
        }
    }

    fn parse(line: &str) -> Self {
        Self::read(line).unwrap_or(Self::Gone)
    }

    fn read(line: &str) -> Option<Self> {
        let (word, a, b) = parts(line)?;
        let number = i32::try_from(a).ok()?;
        Some(match word {
            "started" => Self::Started { group: pid(a)?, command: pid(b)? },
            "failed" => Self::Failed(number),
            "stopped" => Self::Stopped(number),
            "ended" => Self::Ended { status: number, left: usize::try_from(b).ok()? },
            "overdue" => Self::Overdue,
            "over" => Self::Over,
            _ => return None,
        })
    }

    pub(super) fn send(self, socket: impl AsFd) {
        send(socket.as_fd(), &self.line(), &[]);
    }

    /// The next event; the error [`Errno::AGAIN`] if there is none yet.
    pub(super) fn receive(socket: impl AsFd) -> rustix::io::Result<Self> {
        loop {
            match receive(socket.as_fd()) {
                Ok((line, _)) => return Ok(Self::parse(&line)),
                // Reported once if the shim ended without having read everything; its events are still to come.
                Err(Errno::CONNRESET) => {}
                Err(e) => return Err(e),
            }
        }
    }
}

fn pid(number: u64) -> Option<Pid> {
    Pid::from_raw(i32::try_from(number).ok()?)
}

fn parts(line: &str) -> Option<(&str, u64, u64)> {
    let mut words = line.split(' ');
    Some((words.next()?, words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}

fn send(socket: BorrowedFd<'_>, line: &str, descriptors: &[BorrowedFd<'_>]) {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(descriptors));
    }
    let line = [IoSlice::new(line.as_bytes())];
    // A shim that does not read is detected by its missing reaction.
    while sendmsg(socket, &line, &mut control, SendFlags::NOSIGNAL) == Err(Errno::INTR) {}
}

/// Receives a line; it is empty at the end.
fn receive(socket: BorrowedFd<'_>) -> rustix::io::Result<(String, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut bytes = [0; LINE];
    let mut buffers = [IoSliceMut::new(&mut bytes)];
    let received = loop {
        match recvmsg(socket, &mut buffers, &mut control, RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => {}
            other => break other?,
        }
    };
    let rights = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
        _ => None,
    });
    let descriptors = rights.flatten().collect();
    let line = String::from_utf8_lossy(&bytes[..received.bytes.min(LINE)]).into_owned();
    Ok((line, descriptors))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_the_wire() {
        let pid = Pid::from_raw(77);
        for order in [
            Request::Start { grace: Duration::from_secs(5), place: TerminalAccess::Foreground(pid.unwrap()) },
            Request::Start { grace: Duration::from_secs(5), place: TerminalAccess::Background(pid.unwrap()) },
            Request::Start { grace: Duration::ZERO, place: TerminalAccess::None },
            Request::Until { term: 1, kill: u64::MAX },
            Request::Signal(15),
            Request::Continue { foreground: true },
            Request::Stop(Duration::from_millis(3)),
        ] {
            assert_eq!(Request::parse(&order.line()), Some(order));
        }
        for news in [
            ShimEvent::Started { group: pid.unwrap(), command: pid.unwrap() },
            ShimEvent::Failed(2),
            ShimEvent::Stopped(20),
            ShimEvent::Ended { status: 256, left: 3 },
            ShimEvent::Overdue,
            ShimEvent::Over,
            ShimEvent::Gone,
        ] {
            assert_eq!(ShimEvent::parse(&news.line()), news);
        }
        assert_eq!(Request::parse("stop"), None);
        assert_eq!(ShimEvent::parse("what 1 2"), ShimEvent::Gone);
    }
}
