//! Tickets: who waits for a name, in order of arrival.
//!
//! A ticket is a file in the directory of the queue, numbered by the boot clock and kept locked by its owner. It
//! becomes visible only when it is locked, so one that can be locked belongs to nobody any more, and whoever sees it
//! takes it away. It is open for writing, so that its end raises an event for the one behind it.

use super::directory::Access;
use super::fault::fault;
use super::process;
use crate::{Error, ErrorKind, Result};
use rustix::fs::{FlockOperation, Mode, OFlags, flock, fstat, open, rename, rmdir, unlink};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// The queue of one name; its directory is there only while somebody waits.
#[derive(Debug, Clone)]
pub(super) struct Queue {
    pub(super) directory: PathBuf,
    pub(super) access: Access,
}

/// Where a ticket stands.
#[derive(Debug)]
pub(super) enum Rank {
    /// Nobody who listens is before it.
    First,
    Behind(Rival),
    /// Somebody took it away.
    Missing,
}

/// Directories come and go under our hands, but not that often.
const RESTARTS: usize = 100;

impl Queue {
    /// Whether somebody who listens waits. What the dead left behind is tidied up.
    pub(super) fn is_awaited(&self) -> Result<bool> {
        let Some(tickets) = self.tickets()? else { return Ok(false) };
        for ticket in tickets {
            if self.rival(&ticket)?.is_some_and(|r| r.is_listening()) {
                return Ok(true);
            }
        }
        // It stays when somebody is in it.
        let _ = rmdir(&self.directory);
        Ok(false)
    }

    /// How many wait, listening or not.
    pub(super) fn waiters(&self) -> Result<usize> {
        let tickets = self.tickets()?.unwrap_or_default();
        tickets.iter().try_fold(0, |sum, t| Ok(sum + usize::from(self.rival(t)?.is_some())))
    }

    /// Takes the place of this number.
    pub(super) fn enter(&self, number: u64) -> Result<Ticket> {
        for _ in 0..RESTARTS {
            if let Some(ticket) =
                self.try_enter(number).map_err(|e| fault("queueing in", &self.directory, e))?
            {
                return Ok(ticket);
            }
        }
        let why = format!("{} is taken away again and again", self.directory.display());
        Err(Error::new(ErrorKind::Unavailable, why).with_backend(super::SCHEME))
    }

    /// `None` when somebody tidied up between two steps.
    fn try_enter(&self, number: u64) -> rustix::io::Result<Option<Ticket>> {
        self.access.make(&self.directory)?;
        let name = format!("{number:020}-{}-{:016x}", std::process::id(), rand::random::<u64>());
        let unseen = self.directory.join(format!(".{name}"));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file = match open(&unseen, flags, self.access.file) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(e) => return Err(e),
        };
        self.access.open_up(&file, &fstat(&file)?)?;
        let path = self.directory.join(&name);
        let shown =
            flock(&file, FlockOperation::NonBlockingLockExclusive).and_then(|()| rename(&unseen, &path));
        match shown {
            Ok(()) => Ok(Some(Ticket { number, name, queue: self.clone(), _file: file })),
            Err(e) => {
                let _ = unlink(&unseen);
                // Who tidies up may have looked before it was locked.
                if matches!(e, Errno::NOENT | Errno::WOULDBLOCK) { Ok(None) } else { Err(e) }
            }
        }
    }

    pub(super) fn rank(&self, ticket: &Ticket) -> Result<Rank> {
        let tickets = self.tickets()?.unwrap_or_default();
        let Some(at) = tickets.iter().position(|t| *t == ticket.name) else { return Ok(Rank::Missing) };
        for before in tickets[..at].iter().rev() {
            if let Some(rival) = self.rival(before)?.filter(Rival::is_listening) {
                return Ok(Rank::Behind(rival));
            }
        }
        Ok(Rank::First)
    }

    /// All visible tickets, in order; those that were never finished are tidied up. `None` when nobody queues.
    fn tickets(&self) -> Result<Option<Vec<String>>> {
        let trouble = |e: &std::io::Error| {
            fault("reading the queue", &self.directory, Errno::from_io_error(e).unwrap_or(Errno::IO))
        };
        let entries = match std::fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(trouble(&e)),
        };
        let mut tickets = Vec::new();
        for entry in entries {
            let Ok(name) = entry.map_err(|e| trouble(&e))?.file_name().into_string() else { continue };
            if name.starts_with('.') {
                self.rival(&name)?;
            } else {
                tickets.push(name);
            }
        }
        tickets.sort_unstable();
        Ok(Some(tickets))
    }

    /// The owner of a ticket, if it lives; a dead one's ticket is taken away.
    fn rival(&self, name: &str) -> Result<Option<Rival>> {
        let path = self.directory.join(name);
        let file = match open(&path, OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(e) => return Err(fault("opening", &path, e)),
        };
        let pid = name.split('-').nth(1).and_then(|pid| pid.parse().ok()).unwrap_or_default();
        let rival = Rival { pid, file, path };
        if rival.lives() {
            return Ok(Some(rival));
        }
        let _ = unlink(&rival.path);
        Ok(None)
    }
}

/// Somebody else's ticket.
#[derive(Debug)]
pub(super) struct Rival {
    pid: u32,
    file: OwnedFd,
    path: PathBuf,
}

impl Rival {
    /// What to watch for its end.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether its owner waits and could notice that its turn has come.
    pub(super) fn is_listening(&self) -> bool {
        self.lives() && !(self.pid != std::process::id() && process::is_stopped(self.pid))
    }

    fn lives(&self) -> bool {
        let free = flock(&self.file, FlockOperation::NonBlockingLockShared).is_ok();
        if free {
            let _ = flock(&self.file, FlockOperation::Unlock);
        }
        !free
    }
}

/// A place in the queue. Dropped, it leaves; the directory goes with the last.
#[derive(Debug)]
pub(super) struct Ticket {
    pub(super) number: u64,
    name: String,
    queue: Queue,
    /// Closed last: its event tells the one behind.
    _file: OwnedFd,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let _ = unlink(self.queue.directory.join(&self.name));
        let _ = rmdir(&self.queue.directory);
    }
}

/// The number of one who comes now: the same clock for all processes, and it never goes back.
pub(super) fn arrival() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
