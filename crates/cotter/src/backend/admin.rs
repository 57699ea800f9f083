//! Looking at locks from outside, and taking them away.

use super::{Level, Mode};
use crate::{FencingToken, Name, Result};
use async_trait::async_trait;
use std::fmt;
use std::time::{Duration, SystemTime};

/// Looking at locks, and taking them away.
#[async_trait]
pub trait Admin: Send + Sync {
    /// One page of the names that match: the first, or the one where `from` points. Nobody promises an order; a name that
    /// is there all the time is listed at least once, and one that comes or goes meanwhile may be missed or listed twice.
    ///
    /// # Errors
    /// The store did not answer.
    async fn list(&self, filter: &Filter, from: Option<&Cursor>) -> Result<Page>;

    /// Takes the lock away from its holder.
    ///
    /// # Errors
    /// The store did not answer, or cannot do it in this way.
    async fn evict(&self, name: &Name, order: EvictOrder) -> Result<Eviction>;

    /// What is worth knowing about this store, for `cotter doctor`.
    ///
    /// # Errors
    /// The store did not answer.
    async fn diagnose(&self) -> Result<Vec<Finding>>;
}

/// Which holder to evict, and how fast.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, Default)]
pub struct EvictOrder {
    /// Only the holder with this token.
    pub token: Option<FencingToken>,
    /// At once, instead of when its lease ends. This voids the exclusion.
    pub now: bool,
}

impl EvictOrder {
    /// Whoever holds it, when its lease ends.
    pub const fn new() -> Self {
        Self { token: None, now: false }
    }

    /// Only the holder with this token.
    #[must_use]
    pub const fn only(mut self, token: FencingToken) -> Self {
        self.token = Some(token);
        self
    }

    /// At once, instead of when the lease ends. This voids the exclusion: the holder may still be at work.
    #[must_use]
    pub const fn at_once(mut self) -> Self {
        self.now = true;
        self
    }
}

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
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
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
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
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

/// Where the next page of a listing begins. What it says is the store's own affair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor(String);

impl Cursor {
    /// A cursor as the store writes it.
    pub fn new(cursor: impl Into<String>) -> Self {
        Self(cursor.into())
    }

    /// What [`new`](Self::new) was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// One page of a listing.
#[non_exhaustive]
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// The records of this page; it may be empty although more follow.
    pub records: Vec<Record>,
    /// Where the next page begins; `None` on the last one.
    pub next: Option<Cursor>,
}

impl Page {
    /// A page, and where the next one begins.
    pub fn new(records: Vec<Record>, next: Option<Cursor>) -> Self {
        Self { records, next }
    }

    /// The first `size` of these names after the cursor, which is the last name of the page before, that the filter wants;
    /// `read` answers `None` for what is no lock (any more).
    pub(crate) fn by_name(
        size: usize,
        filter: &Filter,
        mut names: Vec<Name>,
        from: Option<&Cursor>,
        read: impl Fn(&Name) -> Result<Option<Record>>,
    ) -> Result<Self> {
        names.sort_unstable();
        let mut page = Self::default();
        for name in names.into_iter().filter(|name| from.is_none_or(|from| name.as_str() > from.as_str())) {
            let Some(record) = read(&name)? else { continue };
            if record.holders.is_empty() && !filter.free_too {
                continue;
            }
            if page.records.len() == size {
                page.next = page.records.last().map(|last| Cursor::new(last.name.as_str()));
                break;
            }
            page.records.push(record);
        }
        Ok(page)
    }
}

/// The outcome of an eviction.
#[must_use = "only `Evicted` means that the holder loses the lock"]
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
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
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
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
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
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
