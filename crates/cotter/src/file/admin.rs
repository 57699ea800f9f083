//! Looking at locks from outside, without ever taking one.
//!
//! The file says who holds, the kernel's table of locks whether that is still so: a holder that was killed had no time
//! to write. Holders in another pid namespace do not stand in that table and count as gone.

use super::backend::Files;
use super::encode::{decode, encode};
use super::fault::fault;
use super::lock::FileId;
use super::process::{self, Flocked};
use super::spot::{LOCK, Spot};
use super::state::State;
use crate::backend::{Admin, EvictOrder};
use crate::record::{Filter, Finding, Holder, Page, Record};
use crate::{Eviction, Mode, Name, Result};
use async_trait::async_trait;
use rustix::fs::{OFlags, fstat, open};
use rustix::io::Errno;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Records in one page.
const PAGE: usize = 100;

#[async_trait]
impl Admin for Files {
    async fn list(&self, filter: &Filter, after: Option<&Name>) -> Result<Page> {
        let locks = process::flocked();
        let names = self.names(filter, after)?;
        Page::fill(PAGE, filter, names, |name| self.record(name, locks.as_deref()))
    }

    async fn evict(&self, name: &Name, order: EvictOrder) -> Result<Eviction> {
        let spot = self.spot(name);
        let Some(found) = Found::read(&spot.lock)? else { return Ok(Eviction::NotHeld) };
        let meant = |holder: &State| order.token.is_none_or(|t| holder.has(t));
        let holders = found.holders(&spot, process::flocked().as_deref());
        let must_exit = |holder: &State| Eviction::HolderMustExit { pid: holder.pid };
        Ok(holders.iter().find(|h| meant(h)).map_or(Eviction::NotHeld, must_exit))
    }

    async fn diagnose(&self) -> Result<Vec<Finding>> {
        Ok(self.findings())
    }
}

impl Files {
    /// All names that match, in order.
    fn names(&self, filter: &Filter, after: Option<&Name>) -> Result<Vec<Name>> {
        let wanted = |name: &Name| filter.admits(name) && after.is_none_or(|a| name > a);
        if let Some(exact) = &filter.exact {
            return Ok(Some(exact.clone()).filter(wanted).into_iter().collect());
        }
        let files = file_names(&self.directory.path)?;
        let locks = files.iter().filter_map(|file| file.strip_suffix(LOCK));
        let mut names: Vec<Name> = locks.filter_map(|file| self.name_of(file)).filter(wanted).collect();
        names.sort_unstable();
        Ok(names)
    }

    /// A name that was too long for a file name stands in the file.
    fn name_of(&self, file: &str) -> Option<Name> {
        decode(file).or_else(|| {
            let path = self.directory.path.join(format!("{file}{LOCK}"));
            let found = Found::read(&path).ok()??;
            found.belongs_in(&format!("{file}{LOCK}")).then(|| Name::new(found.state.name).ok())?
        })
    }

    fn record(&self, name: &Name, locks: Option<&[Flocked]>) -> Result<Option<Record>> {
        let spot = self.spot(name);
        // What is not ours, or went away, is not a lock.
        let Ok(Some(found)) = Found::read(&spot.lock) else { return Ok(None) };
        let mut record = Record::free(name.clone());
        record.waiters = Some(spot.queue.waiters()? as u32);
        record.last_token = Some(found.state.last.into());
        record.holders = found.holders(&spot, locks).iter().map(holder).collect();
        Ok(Some(record))
    }
}

/// A lock file as it was read.
pub(super) struct Found {
    state: State,
    file: FileId,
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
        Ok(state.map(|state| Self { state, file: FileId::of(&stat) }))
    }

    fn is_held(&self, locks: Option<&[Flocked]>) -> bool {
        let Some(locks) = locks else { return self.state.held };
        self.state.held && locks.iter().any(|l| l.is_on(self.file, self.state.pid))
    }

    /// Those who hold it, as the kernel says.
    fn holders(&self, spot: &Spot, locks: Option<&[Flocked]>) -> Vec<State> {
        match (self.state.shared, self.is_held(locks)) {
            (true, _) => spot.readers.now(self.file, locks),
            (false, true) => vec![self.state.clone()],
            (false, false) => Vec::new(),
        }
    }

    /// Whether a file of this name is where the name that stands in it belongs.
    pub(super) fn belongs_in(&self, file: &str) -> bool {
        self.state.name.is_empty() || file.strip_suffix(LOCK) == Some(&*encode(&self.state.name))
    }
}

fn holder(state: &State) -> Holder {
    let mode = if state.shared { Mode::Shared } else { Mode::Exclusive };
    let mut holder = Holder::new(&*state.label, mode, state.first);
    holder.pid = Some(state.pid);
    holder.since = Some(SystemTime::UNIX_EPOCH + Duration::from_micros(state.since));
    holder
}

/// What stands in a directory; names that are no text are nobody's.
pub(super) fn file_names(path: &Path) -> Result<Vec<String>> {
    let trouble = |e: std::io::Error| {
        fault("reading the directory", path, Errno::from_io_error(&e).unwrap_or(Errno::IO))
    };
    let mut names = Vec::new();
    for entry in std::fs::read_dir(path).map_err(trouble)? {
        names.extend(entry.map_err(trouble)?.file_name().into_string());
    }
    Ok(names)
}
