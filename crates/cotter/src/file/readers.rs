//! Who reads: the lock file has room for one holder, so every reader has a record of its own beside it.
//!
//! A record is written when the lock is had and goes before the lock does. What a reader that was killed left behind
//! counts for nothing, because the kernel knows that it does not read any more; the next writer clears it away.

use super::access::Access;
use super::errors::fault;
use super::state::State;
use crate::sys::FileId;
use crate::sys::holders::{self, Flocked};
use crate::{Error, ErrorKind, Result};
use rustix::fs::{Mode, OFlags, open, rmdir, unlink};
use rustix::io::Errno;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// The records of one name; their directory is made by the first reader.
#[derive(Debug, Clone)]
pub(super) struct Readers {
    pub(super) directory: PathBuf,
    pub(super) access: Access,
}

/// One reader's record; it goes when this is dropped.
#[derive(Debug)]
pub(super) struct Record(PathBuf);

impl Drop for Record {
    fn drop(&mut self) {
        let _ = unlink(&self.0);
    }
}

/// Directories come and go under our hands, but not that often.
const RESTARTS: usize = 100;

impl Readers {
    /// Writes who reads with the first token of this state.
    pub(super) fn enter(&self, state: &State) -> Result<Record> {
        let path = self.directory.join(format!("{:020}", state.first));
        for _ in 0..RESTARTS {
            match self.write(&path, state)? {
                Some(record) => return Ok(record),
                None => self
                    .access
                    .make(&self.directory)
                    .map_err(|e| fault("making the directory", &self.directory, e))?,
            }
        }
        let why = format!("{} is taken away again and again", self.directory.display());
        Err(Error::new(ErrorKind::Unavailable, why).with_backend(super::SCHEME))
    }

    /// `None` when the directory is not there.
    fn write(&self, path: &Path, state: &State) -> Result<Option<Record>> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file = match open(path, flags, self.access.file) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(e) => return Err(fault("opening", path, e)),
        };
        let record = Record(path.to_owned());
        self.access.open_up(&file).map_err(|e| fault("opening to the group", path, e))?;
        state.clone().write(file.as_fd(), path)?;
        Ok(Some(record))
    }

    /// Those who read now, the longest first. Without the kernel's table, all who said so.
    pub(super) fn now(&self, file: FileId, locks: Option<&[Flocked]>) -> Vec<State> {
        let mut readers = self.records();
        let Some(locks) = locks else { return readers };
        let mut pids: Vec<u32> = locks.iter().filter_map(|l| l.pid_on(file)).collect();
        // As many of a process as it has locks. What it had in a former life, under the same number, is older.
        let mut reads = |reader: &State| {
            pids.iter().position(|pid| *pid == reader.pid).map(|at| pids.swap_remove(at)).is_some()
        };
        readers = readers.into_iter().rev().filter(|r| reads(r)).collect();
        readers.reverse();
        for reader in readers.iter_mut().filter(|r| !holders::is_likely(r.pid, file, Some(locks))) {
            reader.pid = holders::heir(file, reader.pid);
        }
        readers
    }

    /// All records that can be read, in order of token. They may go at any moment.
    fn records(&self) -> Vec<State> {
        let mut readers: Vec<State> = self.files().iter().filter_map(|path| read(path)).collect();
        readers.sort_unstable_by_key(|r| r.first);
        readers
    }

    /// Takes away what the dead left behind. Only for who knows that nobody reads.
    pub(super) fn clear(&self) {
        for path in self.files() {
            let _ = unlink(&path);
        }
        let _ = rmdir(&self.directory);
    }

    fn files(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.directory).into_iter().flatten();
        entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
    }
}

/// A record; `None` when it is gone, or not written yet.
fn read(path: &Path) -> Option<State> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = open(path, flags, Mode::empty()).ok()?;
    State::read(file.as_fd(), path).ok()?.filter(|state| state.shared && state.pid != 0)
}
