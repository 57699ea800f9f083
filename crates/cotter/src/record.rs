//! What one sees of a lock from outside.

use crate::backend::{Admin, Backend, Notes};
use crate::engine::Core;
use crate::{Error, FencingToken, Level, Mode, Name, Result};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Which names to list.
#[non_exhaustive]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Names that begin so.
    pub prefix: String,
    /// Just this name.
    pub exact: Option<Name>,
    /// Free names too, as far as the store remembers them.
    pub free_too: bool,
}

impl Filter {
    /// Every name that is held.
    pub fn held() -> Self {
        Self::default()
    }

    /// Every held name that begins so.
    pub fn prefix(prefix: impl Into<String>) -> Self {
        Self { prefix: prefix.into(), ..Self::default() }
    }

    /// This name, if it is held.
    pub fn exactly(name: &Name) -> Self {
        Self { exact: Some(name.clone()), ..Self::default() }
    }

    /// Also names that are free, as far as the store remembers them.
    #[must_use]
    pub fn with_free(mut self) -> Self {
        self.free_too = true;
        self
    }

    /// Whether a name passes.
    pub fn admits(&self, name: &str) -> bool {
        name.starts_with(&self.prefix) && self.exact.as_ref().is_none_or(|e| e.as_str() == name)
    }
}

/// One name as the store shows it at one moment.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The name.
    pub name: Name,
    /// Those who hold it, the longest first; empty when it is free.
    pub holders: Vec<Holder>,
    /// How many wait in the store's queue, where it can be told.
    pub waiters: Option<u32>,
    /// The last token that was given, where the store keeps it.
    pub last_token: Option<FencingToken>,
}

impl Record {
    /// A name that nobody holds.
    pub fn free(name: Name) -> Self {
        Self { name, holders: Vec::new(), waiters: None, last_token: None }
    }
}

/// One who holds a name.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Who it says it is: host, process, label.
    pub label: String,
    /// How it holds.
    pub mode: Mode,
    /// Its fencing token; the first of its block when its process takes several turns. Zero where the store knows none.
    pub token: FencingToken,
    /// The process on this host, where the store knows it.
    pub pid: Option<u32>,
    /// Since when, by the store's clock.
    pub since: Option<SystemTime>,
    /// How long its lease still runs; `None` when it lives with a process or session.
    pub remaining: Option<Duration>,
}

impl Holder {
    /// A holder of which no more than this is known.
    pub fn new(label: impl Into<String>, mode: Mode, token: u64) -> Self {
        Self { label: label.into(), mode, token: token.into(), pid: None, since: None, remaining: None }
    }
}

/// One page of a listing.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// In order of name.
    pub records: Vec<Record>,
    /// Ask for more after the last record.
    pub more: bool,
}

impl Page {
    /// The first `size` of these that the filter wants; `read` answers `None` for what is no lock (any more).
    pub(crate) fn fill(
        size: usize,
        filter: &Filter,
        names: Vec<Name>,
        read: impl Fn(&Name) -> Result<Option<Record>>,
    ) -> Result<Self> {
        let mut page = Self::default();
        for name in names {
            let Some(record) = read(&name)? else { continue };
            if record.holders.is_empty() && !filter.free_too {
                continue;
            }
            if page.records.len() == size {
                page.more = true;
                break;
            }
            page.records.push(record);
        }
        Ok(page)
    }
}

/// A listing, read page by page. Names that come or go meanwhile may be missed.
#[derive(Debug)]
pub struct Records {
    core: Arc<Core>,
    filter: Filter,
    page: VecDeque<Record>,
    after: Option<Name>,
    done: bool,
}

impl Records {
    pub(crate) fn new(core: Arc<Core>, filter: Filter) -> Self {
        Self { core, filter, page: VecDeque::new(), after: None, done: false }
    }

    /// The next record; `None` at the end. Cancel safe: a dropped call loses no record.
    ///
    /// # Errors
    /// The store did not answer, or cannot list.
    pub async fn next(&mut self) -> Result<Option<Record>> {
        loop {
            if let Some(record) = self.page.pop_front() {
                return Ok(Some(record));
            }
            if self.done {
                return Ok(None);
            }
            self.core.usable()?;
            let (asked, filter, after) = (self.core.clone(), self.filter.clone(), self.after.clone());
            let list = async move { admin(&asked.backend)?.list(&filter, after.as_ref()).await };
            let page = self.core.on_engine(list).await?;
            self.done = !page.more || page.records.is_empty();
            self.after = page.records.last().map(|r| r.name.clone());
            self.page = page.records.into();
        }
    }
}

pub(crate) fn admin(backend: &Arc<dyn Backend>) -> Result<&dyn Admin> {
    backend.admin().ok_or_else(|| Error::unsupported("looking at locks from outside", backend.info().variant))
}

pub(crate) fn notes(backend: &Arc<dyn Backend>) -> Result<&dyn Notes> {
    backend.notes().ok_or_else(|| Error::unsupported("keeping notes", backend.info().variant))
}

/// What became of an eviction.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Eviction {
    /// The holder was marked or removed.
    Evicted {
        /// The token of the evicted holder.
        token: FencingToken,
    },
    /// Nobody (or nobody with that token) holds the name.
    NotHeld,
    /// The lock lives with this process: it has to end.
    HolderMustExit {
        /// The process on this host.
        pid: u32,
    },
}

/// One finding of [`Client::diagnose`](crate::Client::diagnose).
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// What was looked at, in a word or two.
    pub subject: String,
    /// What was found, and what to do about it.
    pub message: String,
    /// What the store promises no more than, because of this.
    pub level: Option<Level>,
}

impl Finding {
    /// A finding.
    pub fn new(severity: Severity, subject: impl Into<String>, message: impl Into<String>) -> Self {
        Self { severity, subject: subject.into(), message: message.into(), level: None }
    }

    /// The same, with what it leaves of the store's promise.
    #[must_use]
    pub fn leaving(mut self, level: Level) -> Self {
        self.level = Some(level);
        self
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.severity, self.subject, self.message)
    }
}

/// How bad a finding is.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// As it should be.
    Ok,
    /// Works, with a limit worth knowing.
    Warning,
    /// A promise is void until this is mended.
    Problem,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Problem => "problem",
        })
    }
}

/// A small value beside a name that outlives the lock.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// What was written.
    pub bytes: Vec<u8>,
    /// The token of the holder that wrote it; 0 when it was swapped in by nobody's guard.
    pub token: FencingToken,
    /// Changes with every write.
    pub revision: u64,
}

impl Note {
    /// The most that a note may hold, in bytes.
    pub const MAX_BYTES: usize = 64 * 1024;
    /// The longest key of a note, in bytes.
    pub const MAX_KEY: usize = 128;

    /// A note as a backend read it.
    pub fn new(bytes: Vec<u8>, token: u64, revision: u64) -> Self {
        Self { bytes, token: token.into(), revision }
    }
}
