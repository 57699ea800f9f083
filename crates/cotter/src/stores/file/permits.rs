//! The permits of a name that are taken.
//!
//! Each grant has a file, locked by its holder like a ticket, with the token and the number of permits in its name: however
//! many permits a claim takes, it takes them in one step. The kernel unlocks the file of a holder that dies, and wakes the
//! waiter that listens to it. A record beside it tells who the holder is.
//!
//! Such files are made only behind the gate, which is the exclusive lock on the lock file of the name, so nobody else counts
//! meanwhile. They go without it.

use super::access::Access;
use super::errors::{errno, fault};
use super::lock::LockFile;
use super::peer::{self, Peer};
use super::state::State;
use crate::sys::FileId;
use crate::sys::holders::{self, KernelLock};
use crate::{Error, ErrorKind, Result};
use rustix::fs::{Mode, OFlags, fstat, open, rename, rmdir, unlink};
use rustix::io::Errno;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// The permits of one name. The first holder makes the directory.
#[derive(Debug, Clone)]
pub(super) struct Permits {
    pub(super) directory: PathBuf,
    pub(super) access: Access,
}

/// The permits that another grant has taken.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) count: u32,
    pub(super) holder: Peer,
}

/// The suffix of records.
const RECORD: &str = ".holder";
/// Somebody may remove the directory, but not this often in a row.
const MAX_RESTARTS: usize = 100;

impl Permits {
    /// The permits whose holders live, in order of token. Removes those of dead holders.
    pub(super) fn taken(&self) -> Result<Vec<Taken>> {
        self.living(self.names()?)
    }

    /// The same, and removes what was never finished because its owner died. Only behind the gate, where nobody is about to
    /// finish it.
    pub(super) fn clean(&self) -> Result<Vec<Taken>> {
        let names = self.names()?;
        for name in &names {
            let is_left = match name.strip_suffix(RECORD) {
                Some(holder) => names.iter().all(|name| name != holder),
                None => count_of(name).is_none(),
            };
            if is_left {
                let _ = unlink(self.directory.join(name));
            }
        }
        self.living(names)
    }

    fn living(&self, mut names: Vec<String>) -> Result<Vec<Taken>> {
        names.sort_unstable();
        let mut taken = Vec::new();
        for name in names {
            let Some(count) = count_of(&name) else { continue };
            let Some(holder) = Peer::open(&self.directory, &name)? else { continue };
            if holder.lives() {
                taken.push(Taken { count, holder });
            } else {
                // A token never comes again, so neither does its path.
                drop(Own { path: holder.path().to_owned() });
            }
        }
        Ok(taken)
    }

    /// Takes the permits of this state, behind the gate.
    pub(super) fn enter(&self, state: &State) -> Result<(Own, LockFile)> {
        for _ in 0..MAX_RESTARTS {
            match self.try_enter(state) {
                Ok(Some(own)) => return Ok(own),
                Ok(None) => {}
                Err(e) => return Err(fault("taking permits in", &self.directory, e)),
            }
        }
        let why = format!("{} keeps being removed", self.directory.display());
        Err(Error::new(ErrorKind::Unavailable, why).with_backend(super::SCHEME))
    }

    /// `None` when the directory was removed between two steps.
    fn try_enter(&self, state: &State) -> rustix::io::Result<Option<(Own, LockFile)>> {
        self.access.make(&self.directory)?;
        let name = format!("{:020}-{}", state.first, state.take);
        let own = Own { path: self.directory.join(&name) };
        let unseen = self.directory.join(format!(".{name}"));
        let made = self.describe(&own.record(), state).and_then(|()| peer::make(&unseen, &self.access));
        match made.and_then(|file| rename(&unseen, &own.path).map(|()| file)) {
            Ok(Some(file)) => Ok(Some((own, LockFile::from_fd(file)?))),
            Ok(None) | Err(Errno::NOENT) => Ok(None),
            Err(e) => {
                let _ = unlink(&unseen);
                Err(e)
            }
        }
    }

    fn describe(&self, path: &Path, state: &State) -> rustix::io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file = open(path, flags, self.access.file)?;
        self.access.open_up(&file)?;
        // Only people read it.
        let _ = state.clone().write(file.as_fd(), path);
        Ok(())
    }

    /// The records of the present holders, in order of token.
    pub(super) fn now(&self, locks: Option<&[KernelLock]>) -> Vec<State> {
        let taken = self.taken().unwrap_or_default();
        taken.iter().filter_map(|taken| taken.record(locks)).collect()
    }

    /// Removes everything. Only for a caller behind the gate who knows that no permits are taken.
    pub(super) fn clear(&self) {
        for name in self.names().unwrap_or_default() {
            let _ = unlink(self.directory.join(name));
        }
        let _ = rmdir(&self.directory);
    }

    fn names(&self) -> Result<Vec<String>> {
        let unreadable = |e: &std::io::Error| fault("reading the permits in", &self.directory, errno(e));
        let entries = match std::fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(unreadable(&e)),
        };
        let name = |entry: std::io::Result<std::fs::DirEntry>| {
            entry.map_err(|e| unreadable(&e)).map(|e| e.file_name().into_string().unwrap_or_default())
        };
        entries.map(name).collect()
    }
}

/// The number of permits in the name of a file; `None` for any other file.
fn count_of(name: &str) -> Option<u32> {
    name.split_once('-').filter(|(token, _)| token.parse::<u64>().is_ok())?.1.parse().ok()
}

impl Taken {
    fn record(&self, locks: Option<&[KernelLock]>) -> Option<State> {
        let path = record_of(self.holder.path());
        let file = open(&path, super::lock::SAFE | OFlags::RDONLY, Mode::empty()).ok()?;
        let mut state = State::read(file.as_fd(), &path).ok()?.filter(|state| state.take > 0)?;
        let file = FileId::of(&fstat(self.holder.fd()).ok()?);
        if !holders::is_likely(state.pid, file, locks) {
            state.pid = holders::heir(file, state.pid);
        }
        Some(state)
    }
}

fn record_of(path: &Path) -> PathBuf {
    let mut record = path.as_os_str().to_owned();
    record.push(RECORD);
    record.into()
}

/// The path of permits that we hold, or that nobody holds any more. Dropped, it is removed.
#[derive(Debug)]
pub(super) struct Own {
    pub(super) path: PathBuf,
}

impl Own {
    fn record(&self) -> PathBuf {
        record_of(&self.path)
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let _ = unlink(&self.path);
        let _ = unlink(self.record());
    }
}
