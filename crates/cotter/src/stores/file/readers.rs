//! The readers of a lock. The lock file has room for one holder, so every reader has a record of its own in a directory.
//!
//! A record is written after the reader got the lock, and removed before it gives the lock back. The record of a reader
//! that was killed does not count, because the kernel knows that the reader is gone; the next writer removes it.

use super::access::Access;
use super::errors::fault;
use super::state::State;
use crate::sys::FileId;
use crate::sys::holders::{self, KernelLock};
use crate::{Error, ErrorKind, Result};
use rustix::fs::{Mode, OFlags, open, rmdir, unlink};
use rustix::io::Errno;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// The records of one name. The first reader makes their directory.
#[derive(Debug, Clone)]
pub(super) struct Readers {
    pub(super) directory: PathBuf,
    pub(super) access: Access,
}

/// One reader's record. Dropping this removes it.
#[derive(Debug)]
pub(super) struct Record(PathBuf);

impl Drop for Record {
    fn drop(&mut self) {
        let _ = unlink(&self.0);
    }
}

/// Other processes create and remove the same directory, but not this often in a row.
const MAX_RESTARTS: usize = 100;

impl Readers {
    /// Writes the record of the reader with the first token of this state.
    pub(super) fn enter(&self, state: &State) -> Result<Record> {
        let path = self.directory.join(format!("{:020}", state.first));
        for _ in 0..MAX_RESTARTS {
            match self.write(&path, state)? {
                Some(record) => return Ok(record),
                None => self
                    .access
                    .make(&self.directory)
                    .map_err(|e| fault("creating the directory", &self.directory, e))?,
            }
        }
        let why = format!("{} keeps being removed", self.directory.display());
        Err(Error::new(ErrorKind::Unavailable, why).with_backend(super::SCHEME))
    }

    /// `None` when the directory does not exist.
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

    /// The present readers, in order of arrival. Without the kernel's table, all that have a record.
    pub(super) fn now(&self, file: FileId, locks: Option<&[KernelLock]>) -> Vec<State> {
        let mut readers = self.records();
        let Some(locks) = locks else { return readers };
        let mut pids: Vec<u32> = locks.iter().filter_map(|l| l.pid_on(file)).collect();
        // As many of a process as it has locks. Records of an earlier process with the same number are older.
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

    /// Removes the records of killed readers. Only for a caller that knows that nobody reads.
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
