//! Tickets: the queue of a name, in order of arrival.
//!
//! A ticket is a file in the directory of the queue (on Linux a named pipe), numbered by the boot clock and kept locked by
//! its owner. It becomes visible only after it was locked, so a ticket that can be locked belongs to nobody any more, and
//! the first process that sees it removes it. The owner of the next ticket waits for the end of the pipe, which comes when
//! the owner leaves or dies.

use super::access::Access;
use super::errors::{errno, fault};
use super::peer;
use super::rival::{self, Rival};
use crate::{Error, ErrorKind, Result};
use rustix::fs::{rename, rmdir, stat, unlink};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// The queue of one name. Its directory exists only while somebody waits.
#[derive(Debug, Clone)]
pub(super) struct Queue {
    pub(super) directory: PathBuf,
    pub(super) access: Access,
}

/// The place of a ticket in its queue.
#[derive(Debug)]
pub(super) enum Rank {
    /// No ticket whose owner listens is before it. `passing`: there are some whose owners do not.
    First {
        passing: bool,
    },
    Behind(Rival),
    /// Somebody removed it.
    Missing,
}

/// How many are asked at once whether they listen. All who wait may ask at the same time.
const MAX_QUESTIONS: usize = 32;
/// Other processes create and remove the same directories, but not this often in a row.
const MAX_RESTARTS: usize = 100;

impl Queue {
    /// Whether anybody waits and listens. Tickets of dead owners are removed.
    pub(super) fn is_awaited(&self) -> Result<bool> {
        let Some(tickets) = self.tickets()? else { return Ok(false) };
        for ticket in tickets {
            if self.rival(&ticket)?.is_some_and(|r| r.is_listening()) {
                return Ok(true);
            }
        }
        // It fails while there is a ticket in it.
        let _ = rmdir(&self.directory);
        Ok(false)
    }

    /// The number of waiters, listening or not.
    pub(super) fn waiters(&self) -> Result<usize> {
        let tickets = self.tickets()?.unwrap_or_default();
        tickets.iter().try_fold(0, |sum, t| Ok(sum + usize::from(self.rival(t)?.is_some())))
    }

    /// Asks the first waiters that seem to listen whether they do, but nobody behind this ticket.
    pub(super) fn ask(&self, before: Option<&Ticket>) -> Result<()> {
        let tickets = self.tickets()?.unwrap_or_default();
        let mut asked = 0;
        for name in tickets.iter().take_while(|name| before.is_none_or(|ticket| **name < ticket.name)) {
            if let Some(rival) = self.rival(name)?.filter(Rival::is_listening) {
                rival.ask();
                asked += 1;
            }
            if asked == MAX_QUESTIONS {
                break;
            }
        }
        Ok(())
    }

    /// Enters the queue at the place of this number.
    pub(super) fn enter(&self, number: u64) -> Result<Ticket> {
        let mut last = Errno::NOENT;
        for _ in 0..MAX_RESTARTS {
            match self.try_enter(number) {
                Ok(Some(ticket)) => return Ok(ticket),
                Ok(None) => {}
                // Another process may create or remove the same directory at this moment.
                Err(e @ (Errno::NOENT | Errno::ACCESS | Errno::PERM)) if self.access.group.is_some() => {
                    last = e
                }
                Err(e) => return Err(fault("queueing in", &self.directory, e)),
            }
        }
        if last != Errno::NOENT {
            return Err(fault("queueing in", &self.directory, last));
        }
        let why = format!("{} keeps being removed", self.directory.display());
        Err(Error::new(ErrorKind::Unavailable, why).with_backend(super::SCHEME))
    }

    /// `None` when another process cleaned up between two steps.
    fn try_enter(&self, number: u64) -> rustix::io::Result<Option<Ticket>> {
        self.access.make(&self.directory)?;
        let name = rival::name_of(number);
        let unseen = self.directory.join(format!(".{name}"));
        let path = self.directory.join(&name);
        let shown = match peer::make(&unseen, &self.access) {
            Ok(Some(file)) => rename(&unseen, &path).map(|()| file),
            Ok(None) | Err(Errno::NOENT) => return self.is_there().map(|()| None),
            Err(e) => Err(e),
        };
        match shown {
            Ok(file) => Ok(Some(Ticket { number, name, queue: self.clone(), file })),
            Err(Errno::NOENT) => Ok(None),
            Err(e) => {
                let _ = unlink(&unseen);
                Err(e)
            }
        }
    }

    /// Fails where the directory above the queue does not exist either.
    fn is_there(&self) -> rustix::io::Result<()> {
        let above = self.directory.parent().unwrap_or(&self.directory);
        stat(above).map(|_| ())
    }

    pub(super) fn rank(&self, ticket: &Ticket) -> Result<Rank> {
        let tickets = self.tickets()?.unwrap_or_default();
        let Some(at) = tickets.iter().position(|t| *t == ticket.name) else { return Ok(Rank::Missing) };
        let mut passing = false;
        for before in tickets[..at].iter().rev() {
            match self.rival(before)? {
                Some(rival) if rival.is_listening() => return Ok(Rank::Behind(rival)),
                Some(_) => passing = true,
                None => {}
            }
        }
        Ok(Rank::First { passing })
    }

    /// All visible tickets, in order; those that were never finished are removed. `None` when nobody queues.
    fn tickets(&self) -> Result<Option<Vec<String>>> {
        let unreadable = |e: &std::io::Error| fault("reading the queue", &self.directory, errno(e));
        let entries = match std::fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(unreadable(&e)),
        };
        let mut tickets = Vec::new();
        for entry in entries {
            let Ok(name) = entry.map_err(|e| unreadable(&e))?.file_name().into_string() else { continue };
            if name.starts_with('.') {
                self.remove_abandoned(&name)?;
            } else {
                tickets.push(name);
            }
        }
        tickets.sort_unstable();
        Ok(Some(tickets))
    }

    fn remove_abandoned(&self, unfinished: &str) -> Result<()> {
        if let Some(rival) = Rival::open(&self.directory, unfinished)?.filter(Rival::is_abandoned) {
            let _ = unlink(rival.path());
        }
        Ok(())
    }

    /// A ticket, if its owner lives; that of a dead owner is removed.
    fn rival(&self, name: &str) -> Result<Option<Rival>> {
        let Some(rival) = Rival::open(&self.directory, name)? else { return Ok(None) };
        if rival.lives() {
            return Ok(Some(rival));
        }
        let _ = unlink(rival.path());
        Ok(None)
    }
}

/// Our own place in the queue. Dropped, it leaves; the last one removes the directory.
#[derive(Debug)]
pub(super) struct Ticket {
    pub(super) number: u64,
    name: String,
    queue: Queue,
    file: OwnedFd,
}

impl Ticket {
    /// Whether nobody removed it.
    pub(super) fn is_linked(&self) -> bool {
        stat(self.queue.directory.join(&self.name)).is_ok()
    }

    /// Another descriptor of it, to hear the questions of other processes.
    pub(super) fn duplicate(&self) -> std::io::Result<OwnedFd> {
        self.file.try_clone()
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let _ = unlink(self.queue.directory.join(&self.name));
        peer::end(&self.file);
        let _ = rmdir(&self.queue.directory);
    }
}

/// The number of a ticket that is taken now, from a clock that all processes share and that never goes back.
pub(super) fn arrival() -> u64 {
    crate::sys::clock::boot_nanos()
}
