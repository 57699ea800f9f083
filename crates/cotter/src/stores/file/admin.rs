//! Listing and eviction. On Linux neither ever takes a lock; pruning does.
//!
//! The file names the holder, and the kernel says whether that is still true: a holder that was killed had no time to write,
//! and may have left the lock to a child process. Holders in a pid namespace outside of ours count as gone.

use super::backend::Files;
use super::errors::{errno, fault};
use super::names::{decode, encode};
use super::paths::{LOCK, LockPaths};
use super::state::State;
use crate::backend::{Admin, Cursor, EvictOrder, PruneOrder, PrunePage};
use crate::backend::{Filter, Finding, Holder, Page, Record};
use crate::sys::FileId;
use crate::sys::holders::{self, KernelLock};
use crate::{Eviction, Name, Result};
use async_trait::async_trait;
use rustix::fs::{OFlags, fstat, open};
use rustix::io::Errno;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Records in one page.
const PAGE_SIZE: usize = 100;

#[async_trait]
impl Admin for Files {
    async fn list(&self, filter: &Filter, from: Option<&Cursor>) -> Result<Page> {
        let locks = holders::flocked();
        let names = self.names(filter)?;
        Page::by_name(PAGE_SIZE, filter, names, from, |name| self.record(name, locks.as_deref()))
    }

    async fn evict(&self, name: &Name, order: EvictOrder) -> Result<Eviction> {
        let paths = self.paths(name);
        let Some(found) = Found::read(&paths.lock)? else { return Ok(Eviction::NotHeld) };
        let holders = found.holders(&paths, holders::flocked().as_deref());
        let meant = holders.iter().find(|holder| order.token.is_none_or(|t| holder.has(t.get())));
        let Some(State { pid, .. }) = meant else { return Ok(Eviction::NotHeld) };
        // The user is going to end this process, so it has to be the right one.
        let is_it = found.state.limit != 0 || holders::has(*pid, found.file).unwrap_or(true);
        let pid = if is_it { *pid } else { holders::heir(found.file, *pid) };
        Ok(Eviction::HolderMustExit { pid })
    }

    async fn prune(&self, order: &PruneOrder, from: Option<&Cursor>) -> Result<PrunePage> {
        self.prune_page(order, from).await
    }

    async fn diagnose(&self) -> Result<Vec<Finding>> {
        Ok(self.findings())
    }
}

impl Files {
    /// All matching names.
    fn names(&self, filter: &Filter) -> Result<Vec<Name>> {
        let wanted = |name: &Name| filter.admits(name);
        if let Some(exact) = &filter.exact {
            return Ok(Some(exact.clone()).filter(wanted).into_iter().collect());
        }
        let files = file_names(&self.directory.path)?;
        let locks = files.iter().filter_map(|file| file.strip_suffix(LOCK));
        Ok(locks.filter_map(|file| self.name_of(file)).filter(wanted).collect())
    }

    /// The name that a lock file is for. One that is too long for a file name is in the file.
    pub(super) fn name_of(&self, file: &str) -> Option<Name> {
        decode(file).or_else(|| {
            let path = self.directory.path.join(format!("{file}{LOCK}"));
            let found = Found::read(&path).ok()??;
            found.belongs_in(&format!("{file}{LOCK}")).then(|| Name::new(found.state.name).ok())?
        })
    }

    fn record(&self, name: &Name, locks: Option<&[KernelLock]>) -> Result<Option<Record>> {
        let paths = self.paths(name);
        // A file that is not ours, or has gone, is not a lock.
        let Ok(Some(found)) = Found::read(&paths.lock) else { return Ok(None) };
        let mut record = Record::free(name.clone());
        record.waiters = Some(paths.queue.waiters()? as u32);
        record.last_token = Some(found.state.last.into());
        record.holders = found.holders(&paths, locks).iter().map(holder).collect();
        Ok(Some(record))
    }
}

/// A lock file that was read.
pub(super) struct Found {
    state: State,
    file: FileId,
    /// False where the lock was tried and nobody has it.
    may_be_locked: bool,
}

impl Found {
    pub(super) fn read(path: &Path) -> Result<Option<Self>> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let fd = match open(path, flags, rustix::fs::Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::NOENT) => return Ok(None),
            Err(e) => return Err(fault("opening", path, e)),
        };
        let stat = fstat(&fd).map_err(|e| fault("looking at", path, e))?;
        let state = State::read(fd.as_fd(), path)?;
        let may_be_locked = holders::is_locked(&fd).unwrap_or(true);
        Ok(state.map(|state| Self { state, file: FileId::of(&stat), may_be_locked }))
    }

    /// The holders, according to the kernel.
    fn holders(&self, paths: &LockPaths, locks: Option<&[KernelLock]>) -> Vec<State> {
        if self.state.limit != 0 {
            let mut holders = paths.permits.now(locks);
            // Each record has the limit of its time.
            holders.iter_mut().for_each(|holder| holder.limit = self.state.limit);
            return holders;
        }
        if !self.may_be_locked {
            return Vec::new();
        }
        if self.state.shared {
            return paths.readers.now(self.file, locks);
        }
        let Self { state, file, .. } = self;
        if !state.held {
            return Vec::new();
        }
        let is_confirmed = locks.is_none_or(|all| all.iter().any(|l| l.is_on(*file, state.pid)));
        let heir = || holders::holders(*file).into_iter().find(|h| h.exclusive).map(|h| h.pid);
        let pid = match is_confirmed {
            true if holders::is_likely(state.pid, *file, locks) => Some(state.pid),
            true => Some(heir().unwrap_or(state.pid)),
            false => heir(),
        };
        pid.map(|pid| state.held_by(pid)).into_iter().collect()
    }

    /// Whether this is the right file for the name that it contains.
    pub(super) fn belongs_in(&self, file: &str) -> bool {
        self.state.name.is_empty() || file.strip_suffix(LOCK) == Some(&*encode(&self.state.name))
    }
}

fn holder(state: &State) -> Holder {
    let mut holder = Holder::new(&*state.label, state.mode(), state.first);
    holder.turns = state.turns();
    holder.pid = Some(state.pid);
    holder.since = Some(SystemTime::UNIX_EPOCH + Duration::from_micros(state.since));
    holder
}

/// The names of the files in a directory. Names that are not UTF-8 are not ours.
pub(super) fn file_names(path: &Path) -> Result<Vec<String>> {
    let unreadable = |e: std::io::Error| fault("reading the directory", path, errno(&e));
    let mut names = Vec::new();
    for entry in std::fs::read_dir(path).map_err(unreadable)? {
        names.extend(entry.map_err(unreadable)?.file_name().into_string());
    }
    Ok(names)
}
