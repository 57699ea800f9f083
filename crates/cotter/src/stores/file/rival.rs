//! The ticket of another waiter: whether its owner lives, and whether it listens.

use super::lock::SAFE;
use super::peer::Peer;
use crate::Result;
use crate::sys::{process, ticket};
use rustix::fs::{Mode, OFlags, Stat, Timespec, Timestamps, UTIME_NOW, fstat, futimens, open};
use rustix::io::write;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// A waiter that does not answer a question for this long does not listen.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(950);
/// A ticket that is not finished by then never will be.
const CREATION_TIMEOUT: Duration = Duration::from_secs(10);

/// A ticket, open for reading. A byte in it is a question to its owner.
#[derive(Debug)]
pub(super) struct Rival {
    owner: process::Id,
    ticket: Peer,
}

impl Rival {
    /// Opens it; `None` when it is gone, or is no ticket.
    pub(super) fn open(directory: &Path, name: &str) -> Result<Option<Self>> {
        Ok(Peer::open(directory, name)?.map(|ticket| Self { owner: owner(name), ticket }))
    }

    /// Whether its owner lives.
    pub(super) fn lives(&self) -> bool {
        self.ticket.lives()
    }

    /// Whether its owner waits and could notice that its turn has come. A stopped process is recognised at once where its
    /// number means something here; any other that does not run, for whatever reason, by a question that it leaves
    /// unanswered.
    pub(super) fn is_listening(&self) -> bool {
        self.lives()
            && !self.owner.is_stopped()
            && !(self.is_asked() && self.age().is_none_or(|age| age >= ANSWER_TIMEOUT))
    }

    /// Asks whether it listens, which also wakes it.
    pub(super) fn ask(&self) {
        if self.is_asked() {
            return;
        }
        let Ok(pipe) = open(self.path(), SAFE | OFlags::WRONLY, Mode::empty()) else { return };
        // Not on every file system a write to a pipe changes its times.
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        let _ = futimens(&pipe, &Timestamps { last_access: now, last_modification: now });
        let _ = write(&pipe, b"?");
    }

    /// Whether a question waits for its answer. A waiter that listens takes it out at once.
    fn is_asked(&self) -> bool {
        ticket::is_asked(self.ticket.fd())
    }

    /// How long ago it was asked; `None` when that cannot be told.
    fn age(&self) -> Option<Duration> {
        fstat(self.ticket.fd()).ok().and_then(|stat| since(&stat))
    }

    /// Whether its owner died before it was finished.
    pub(super) fn is_abandoned(&self) -> bool {
        !self.lives() && self.age().is_none_or(|age| age >= CREATION_TIMEOUT)
    }

    /// Another descriptor of it, to wait for its end.
    pub(super) fn duplicate(&self) -> std::io::Result<OwnedFd> {
        self.ticket.duplicate()
    }

    pub(super) fn path(&self) -> &Path {
        self.ticket.path()
    }
}

/// How long ago it was changed; `None` when the clock was stepped back since.
fn since(stat: &Stat) -> Option<Duration> {
    let changed = Duration::new(stat.st_mtime.try_into().ok()?, stat.st_mtime_nsec.try_into().ok()?);
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?.checked_sub(changed)
}

/// The name of a ticket.
pub(super) fn name_of(number: u64) -> String {
    let process::Id { pid, namespace } = process::Id::own();
    format!("{number:020}-{pid}-{namespace:x}-{:016x}", crate::random::bits() as u64)
}

/// The owner of the ticket with this name.
fn owner(name: &str) -> process::Id {
    let mut parts = name.split('-').skip(1);
    let pid = parts.next().and_then(|pid| pid.parse().ok()).unwrap_or_default();
    let namespace = parts.next().and_then(|inode| u64::from_str_radix(inode, 16).ok()).unwrap_or_default();
    process::Id { pid, namespace }
}
