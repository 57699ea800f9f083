//! What cotter and its shim say to each other: one line in a packet.

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

/// Longer than every line.
const LINE: usize = 128;
/// The command's standard input and its words, and what a lock lives on.
const DESCRIPTORS: usize = 8;

/// What cotter tells the shim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// Start the command. The first descriptor that comes with it is the command's standard input, the second one has its
    /// words, the others are to be kept. `grace` is for the time when cotter is dead.
    Start { grace: Duration, place: Place },
    /// Stop by yourself: TERM at `term`, KILL at `kill`, on the boot clock. Replaces what was said before.
    Until { term: u64, kill: u64 },
    /// To the group.
    Signal(i32),
    /// Let the stopped group go on, and give it the terminal if `foreground`.
    Continue { foreground: bool },
    /// TERM now, KILL after this.
    Stop(Duration),
}

/// What a command has to do with a terminal; the group is the one that gets it back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// It has none.
    Nowhere,
    /// It gets it when it asks for it.
    Background(Pid),
    /// It has it from the start.
    Foreground(Pid),
}

/// What the shim tells cotter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum News {
    /// The command runs, in this group.
    Started { group: Pid, command: Pid },
    /// The command cannot run, for this reason.
    Failed(i32),
    /// The command was stopped by this signal.
    Stopped(i32),
    /// The command has ended with this status and has left so many processes. None: this is the last word.
    Ended { status: i32, left: usize },
    /// Nothing new was heard in time: the shim stops the group.
    Overdue,
    /// Nobody is left.
    Over,
    /// The shim is dead.
    Gone,
}

impl Order {
    fn line(self) -> String {
        match self {
            Self::Start { grace, place } => {
                let (word, group) = match place {
                    Place::Nowhere => ("start", 0),
                    Place::Background(pid) => ("start-behind", pid.as_raw_nonzero().get()),
                    Place::Foreground(pid) => ("start-before", pid.as_raw_nonzero().get()),
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
            "start" => Self::Start { grace: Duration::from_nanos(a), place: Place::Nowhere },
            "start-behind" => {
                Self::Start { grace: Duration::from_nanos(a), place: Place::Background(pid(b)?) }
            }
            "start-before" => {
                Self::Start { grace: Duration::from_nanos(a), place: Place::Foreground(pid(b)?) }
            }
            "until" => Self::Until { term: a, kill: b },
            "signal" => Self::Signal(i32::try_from(a).ok()?),
            "continue" => Self::Continue { foreground: a != 0 },
            "stop" => Self::Stop(Duration::from_nanos(a)),
            _ => return None,
        })
    }

    /// Sends it, with descriptors if there are some. That nobody hears it is seen elsewhere.
    pub(super) fn send(self, socket: impl AsFd, descriptors: &[BorrowedFd<'_>]) {
        send(socket.as_fd(), &self.line(), descriptors);
    }

    /// The next order and its descriptors; `None` when there will be no more.
    pub(super) fn receive(socket: impl AsFd) -> rustix::io::Result<Option<(Self, Vec<OwnedFd>)>> {
        let (line, descriptors) = receive(socket.as_fd())?;
        Ok(Self::parse(&line).map(|order| (order, descriptors)))
    }
}

impl News {
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

    /// The next news; an error with [`Errno::AGAIN`] when there are none yet.
    pub(super) fn receive(socket: impl AsFd) -> rustix::io::Result<Self> {
        loop {
            match receive(socket.as_fd()) {
                Ok((line, _)) => return Ok(Self::parse(&line)),
                // Told once when the shim ended without having read everything; what it said is still to come.
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
    // A shim that does not read is found out by what it does not do.
    while sendmsg(socket, &line, &mut control, SendFlags::NOSIGNAL) == Err(Errno::INTR) {}
}

/// An empty line is the end.
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
    fn what_is_said_is_what_is_heard() {
        let pid = Pid::from_raw(77);
        for order in [
            Order::Start { grace: Duration::from_secs(5), place: Place::Foreground(pid.unwrap()) },
            Order::Start { grace: Duration::from_secs(5), place: Place::Background(pid.unwrap()) },
            Order::Start { grace: Duration::ZERO, place: Place::Nowhere },
            Order::Until { term: 1, kill: u64::MAX },
            Order::Signal(15),
            Order::Continue { foreground: true },
            Order::Stop(Duration::from_millis(3)),
        ] {
            assert_eq!(Order::parse(&order.line()), Some(order));
        }
        for news in [
            News::Started { group: pid.unwrap(), command: pid.unwrap() },
            News::Failed(2),
            News::Stopped(20),
            News::Ended { status: 256, left: 3 },
            News::Overdue,
            News::Over,
            News::Gone,
        ] {
            assert_eq!(News::parse(&news.line()), news);
        }
        assert_eq!(Order::parse("stop"), None);
        assert_eq!(News::parse("what 1 2"), News::Gone);
    }
}
