//! The ticket of another waiter: whether its owner lives, and whether it listens.

use super::access::Access;
use super::errors::fault;
use super::lock::{SAFE, unlock};
use crate::Result;
use crate::sys::{process, ticket};
use rustix::fs::{FlockOperation, Mode, OFlags, Stat, flock, fstat, futimens, open};
use rustix::fs::{Timespec, Timestamps, UTIME_NOW};
use rustix::io::{Errno, write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A waiter that does not answer a question for this long does not listen.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(950);
/// A ticket that is not finished by then never will be.
const CREATION_TIMEOUT: Duration = Duration::from_secs(10);

/// A ticket, open for reading. A byte in it is a question to its owner.
#[derive(Debug)]
pub(super) struct Rival {
    owner: process::Id,
    file: OwnedFd,
    path: PathBuf,
}

impl Rival {
    /// Opens it; `None` when it is gone, or is no ticket.
    pub(super) fn open(directory: &Path, name: &str) -> Result<Option<Self>> {
        let path = directory.join(name);
        let file = match open(&path, SAFE | OFlags::RDONLY, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            // It gets its permissions before its final name, so this one is not finished.
            Err(Errno::ACCESS) if name.starts_with('.') => return Ok(None),
            Err(e) => return Err(fault("opening", &path, e)),
        };
        let stat = fstat(&file).map_err(|e| fault("looking at", &path, e))?;
        if !ticket::is_one(&stat) {
            return Ok(None);
        }
        let owner = owner(name);
        Ok(Some(Self { owner, file, path }))
    }

    /// Whether its owner lives: it keeps its ticket locked.
    pub(super) fn lives(&self) -> bool {
        let free = flock(&self.file, FlockOperation::NonBlockingLockShared).is_ok();
        if free {
            unlock(&self.file);
        }
        !free
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
        let Ok(pipe) = open(&self.path, SAFE | OFlags::WRONLY, Mode::empty()) else { return };
        // Not on every file system a write to a pipe changes its times.
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        let _ = futimens(&pipe, &Timestamps { last_access: now, last_modification: now });
        let _ = write(&pipe, b"?");
    }

    /// Whether a question waits for its answer. A waiter that listens takes it out at once.
    fn is_asked(&self) -> bool {
        ticket::is_asked(&self.file)
    }

    /// How long ago it was asked; `None` when that cannot be told.
    fn age(&self) -> Option<Duration> {
        fstat(&self.file).ok().and_then(|stat| since(&stat))
    }

    /// Whether its owner died before it was finished.
    pub(super) fn is_abandoned(&self) -> bool {
        !self.lives() && self.age().is_none_or(|age| age >= CREATION_TIMEOUT)
    }

    /// Another descriptor of it, to wait for its end.
    pub(super) fn duplicate(&self) -> std::io::Result<OwnedFd> {
        self.file.try_clone()
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
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

/// Creates and locks the file of a ticket, under a name that does not count yet. `None` when another process removed it
/// meanwhile.
pub(super) fn make(path: &Path, access: &Access) -> rustix::io::Result<Option<OwnedFd>> {
    ticket::create(path, access.file)?;
    // For reading and writing: a pipe without a writer would have ended as soon as it is opened.
    let file = match open(path, SAFE | OFlags::RDWR, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Ok(None),
        Err(e) => return Err(e),
    };
    access.open_up(&file)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        // A process that cleans up may be looking at it.
        Err(Errno::WOULDBLOCK) => return Ok(None),
        Err(e) => return Err(e),
    }
    ticket::shrink(&file);
    Ok(Some(file))
}
