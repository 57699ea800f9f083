//! Tickets: who waits for a name, in order of arrival.
//!
//! A ticket is a pipe in the directory of the queue, numbered by the boot clock and kept locked by its owner. It becomes
//! visible only when it is locked, so one that can be locked belongs to nobody any more, and whoever sees it takes it
//! away. The one behind it waits for the end of the pipe, which comes when its owner leaves or dies.

use super::access::Access;
use super::errors::{errno, fault};
use super::lock::unlock;
use super::rival::{self, Rival};
use crate::{Error, ErrorKind, Result};
use rustix::fs::{rename, rmdir, stat, unlink};
use rustix::io::{Errno, write};
use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// The queue of one name; its directory is there only while somebody waits.
#[derive(Debug, Clone)]
pub(super) struct Queue {
    pub(super) directory: PathBuf,
    pub(super) access: Access,
}

/// Where a ticket stands.
#[derive(Debug)]
pub(super) enum Rank {
    /// Nobody who listens is before it. `passing`: somebody who does not.
    First {
        passing: bool,
    },
    Behind(Rival),
    /// Somebody took it away.
    Missing,
}

/// So many are asked at once whether they listen; all who wait do that at the same time.
const AT_ONCE: usize = 32;
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

    /// Asks those who seem to listen whether they do: the first in line, but nobody behind this ticket.
    pub(super) fn ask(&self, before: Option<&Ticket>) -> Result<()> {
        let tickets = self.tickets()?.unwrap_or_default();
        let mut asked = 0;
        for name in tickets.iter().take_while(|name| before.is_none_or(|ticket| **name < ticket.name)) {
            if let Some(rival) = self.rival(name)?.filter(Rival::is_listening) {
                rival.ask();
                asked += 1;
            }
            if asked == AT_ONCE {
                break;
            }
        }
        Ok(())
    }

    /// Takes the place of this number.
    pub(super) fn enter(&self, number: u64) -> Result<Ticket> {
        let mut last = Errno::NOENT;
        for _ in 0..RESTARTS {
            match self.try_enter(number) {
                Ok(Some(ticket)) => return Ok(ticket),
                Ok(None) => {}
                // Others make and take away what we make, and may do it just now.
                Err(e @ (Errno::NOENT | Errno::ACCESS | Errno::PERM)) if self.access.group.is_some() => {
                    last = e
                }
                Err(e) => return Err(fault("queueing in", &self.directory, e)),
            }
        }
        if last != Errno::NOENT {
            return Err(fault("queueing in", &self.directory, last));
        }
        let why = format!("{} is taken away again and again", self.directory.display());
        Err(Error::new(ErrorKind::Unavailable, why).with_backend(super::SCHEME))
    }

    /// `None` when somebody tidied up between two steps.
    fn try_enter(&self, number: u64) -> rustix::io::Result<Option<Ticket>> {
        self.access.make(&self.directory)?;
        let name = rival::name_of(number);
        let unseen = self.directory.join(format!(".{name}"));
        let path = self.directory.join(&name);
        let shown = match rival::make(&unseen, &self.access) {
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

    /// Fails where even the directory above the queue has gone.
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

    /// All visible tickets, in order; those that were never finished are tidied up. `None` when nobody queues.
    fn tickets(&self) -> Result<Option<Vec<String>>> {
        let trouble = |e: &std::io::Error| fault("reading the queue", &self.directory, errno(e));
        let entries = match std::fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(trouble(&e)),
        };
        let mut tickets = Vec::new();
        for entry in entries {
            let Ok(name) = entry.map_err(|e| trouble(&e))?.file_name().into_string() else { continue };
            if name.starts_with('.') {
                self.tidy(&name)?;
            } else {
                tickets.push(name);
            }
        }
        tickets.sort_unstable();
        Ok(Some(tickets))
    }

    fn tidy(&self, unfinished: &str) -> Result<()> {
        if let Some(rival) = Rival::open(&self.directory, unfinished)?.filter(Rival::is_abandoned) {
            let _ = unlink(rival.path());
        }
        Ok(())
    }

    /// The owner of a ticket, if it lives; a dead one's ticket is taken away.
    fn rival(&self, name: &str) -> Result<Option<Rival>> {
        let Some(rival) = Rival::open(&self.directory, name)? else { return Ok(None) };
        if rival.lives() {
            return Ok(Some(rival));
        }
        let _ = unlink(rival.path());
        Ok(None)
    }
}

/// A place in the queue. Dropped, it leaves; the directory goes with the last.
#[derive(Debug)]
pub(super) struct Ticket {
    pub(super) number: u64,
    name: String,
    queue: Queue,
    file: OwnedFd,
}

impl Ticket {
    /// Whether nobody took it away.
    pub(super) fn stands(&self) -> bool {
        stat(self.queue.directory.join(&self.name)).is_ok()
    }

    /// The pipe once more, to hear the questions of others.
    pub(super) fn pipe(&self) -> std::io::Result<OwnedFd> {
        self.file.try_clone()
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let _ = unlink(self.queue.directory.join(&self.name));
        // By word: a child that was forked a moment ago has the descriptor too, and the pipe no end until its `exec`.
        unlock(&self.file);
        let _ = write(&self.file, b"!");
        let _ = rmdir(&self.queue.directory);
    }
}

/// The number of one who comes now: the same clock for all processes, and it never goes back.
pub(super) fn arrival() -> u64 {
    crate::sys::clock::boot_nanos()
}
