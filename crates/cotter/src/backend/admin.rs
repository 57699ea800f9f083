//! Inspecting and evicting locks.

use super::finding::Finding;
use super::{Mode, PruneOrder, PrunePage};
use crate::{Error, ErrorKind, FencingToken, Name, Result};
use async_trait::async_trait;
use std::time::{Duration, SystemTime};

/// Inspection and eviction of locks.
#[async_trait]
pub trait Admin: Send + Sync {
    /// Returns one page of the names that match: the first page, or the one at `from`. The order is unspecified. A
    /// name that exists throughout the listing is listed at least once; a name that appears or disappears during the
    /// listing may be missed or listed twice.
    ///
    /// # Errors
    /// The store did not answer.
    async fn list(&self, filter: &Filter, from: Option<&Cursor>) -> Result<Page>;

    /// Takes the lock away from its holder, or from all of its holders.
    ///
    /// # Errors
    /// The store did not answer, or does not support this way of evicting.
    async fn evict(&self, name: &Name, order: EvictOrder) -> Result<Eviction>;

    /// Reports notable facts about this store, for `cotter doctor`.
    ///
    /// # Errors
    /// The store did not answer.
    async fn diagnose(&self) -> Result<Vec<Finding>>;

    /// Prepares a new store for use, where it cannot know by itself that no lock is held.
    ///
    /// # Errors
    /// [`Unsupported`](crate::ErrorKind::Unsupported) where there is nothing to do; the store did not answer.
    async fn initialize(&self) -> Result<()> {
        let why = "this store needs no initialization";
        Err(Error::new(ErrorKind::Unsupported, why))
    }

    /// Deletes what is left of names that are free, have no waiters, and have been unused for the time in the order:
    /// the first page of them, or the one at `from`. A lock that is taken on such a name meanwhile is not lost, and the
    /// tokens of the name keep rising with the clock.
    ///
    /// # Errors
    /// [`Unsupported`](crate::ErrorKind::Unsupported) where unused names disappear by themselves, or stay; the store
    /// did not answer.
    async fn prune(&self, order: &PruneOrder, from: Option<&Cursor>) -> Result<PrunePage> {
        let _ = (order, from);
        let why = "nothing to prune: only `file:` keeps files of unused names; other stores forget them, or have to keep them";
        Err(Error::new(ErrorKind::Unsupported, why))
    }
}

/// The holder to evict, and when.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, Default)]
pub struct EvictOrder {
    /// Evicts only the holder that [owns](Holder::owns) this token. Without it, all holders are evicted.
    pub token: Option<FencingToken>,
    /// Evicts immediately instead of when the lease ends. This voids the exclusion.
    pub now: bool,
}

impl EvictOrder {
    /// Evicts the current holder, or all of them, when its lease ends.
    pub const fn new() -> Self {
        Self { token: None, now: false }
    }

    /// Evicts only the holder that [owns](Holder::owns) this token. Of the tasks of a process between which the lock passes under
    /// one block of tokens, the one that holds it now is evicted.
    #[must_use]
    pub const fn only(mut self, token: FencingToken) -> Self {
        self.token = Some(token);
        self
    }

    /// Evicts immediately instead of when the lease ends. This voids the exclusion: the holder may still be working.
    #[must_use]
    pub const fn at_once(mut self) -> Self {
        self.now = true;
        self
    }
}

/// The names to list.
#[non_exhaustive]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Lists only names that begin with this prefix.
    pub prefix: String,
    /// Lists only this name.
    pub exact: Option<Name>,
    /// Also lists free names, as far as the store remembers them.
    pub free_too: bool,
}

impl Filter {
    /// Lists every held name.
    pub fn held() -> Self {
        Self::default()
    }

    /// Lists every held name that begins with this prefix.
    pub fn prefix(prefix: impl Into<String>) -> Self {
        Self { prefix: prefix.into(), ..Self::default() }
    }

    /// Lists this name, if it is held.
    pub fn exactly(name: &Name) -> Self {
        Self { exact: Some(name.clone()), ..Self::default() }
    }

    /// Also lists free names, as far as the store remembers them.
    #[must_use]
    pub fn with_free(mut self) -> Self {
        self.free_too = true;
        self
    }

    /// Returns true if the name matches.
    pub fn admits(&self, name: &str) -> bool {
        name.starts_with(&self.prefix) && self.exact.as_ref().is_none_or(|e| e.as_str() == name)
    }
}

/// The state of one name at one moment.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Record {
    /// The name.
    pub name: Name,
    /// The holders, the longest-standing first; empty if the name is free.
    pub holders: Vec<Holder>,
    /// The number of holders that are not among [`holders`](Self::holders), because there are too many to list.
    #[cfg_attr(feature = "serde", serde(default))]
    pub unlisted: u64,
    /// The number of waiters in the store's queue, where the store can tell.
    pub waiters: Option<u32>,
    /// The last token that was granted, where the store keeps it.
    pub last_token: Option<FencingToken>,
    /// Why the record is incomplete: a part of it could not be read, because another program wrote to its key, or because this
    /// user has no access to it. `None` if it is complete.
    #[cfg_attr(feature = "serde", serde(default))]
    pub problem: Option<String>,
}

impl Record {
    /// Creates the record of a free name.
    pub fn free(name: Name) -> Self {
        Self { name, holders: Vec::new(), unlisted: 0, waiters: None, last_token: None, problem: None }
    }
}

/// A holder of a name.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Holder {
    /// The holder's description of itself: host, process, label.
    pub label: String,
    /// The mode in which it holds the name.
    pub mode: Mode,
    /// Its fencing token; the first of its block if its process takes several turns. Zero where the store knows none.
    pub token: FencingToken,
    /// The number of tokens in its block: its guards have this one or one of those that follow
    /// ([`owns`](Self::owns)).
    #[cfg_attr(feature = "serde", serde(default = "one"))]
    pub turns: u16,
    /// The process id on this host, where the store knows it.
    pub pid: Option<u32>,
    /// The time of the grant, by the store's clock.
    pub since: Option<SystemTime>,
    /// The time left on its lease; `None` if it lives as long as a process or session.
    pub remaining: Option<Duration>,
}

impl Holder {
    /// Creates a holder about which nothing more is known.
    pub fn new(label: impl Into<String>, mode: Mode, token: u64) -> Self {
        let (label, token) = (label.into(), token.into());
        Self { label, mode, token, turns: 1, pid: None, since: None, remaining: None }
    }

    /// Returns true if the token is one of its block. While the lock passes from task to task within a process
    /// ([`local_turns`](crate::Builder::local_turns)), each guard has the next token of the block, and the store knows only
    /// the block.
    pub fn owns(&self, token: FencingToken) -> bool {
        let (first, token) = (self.token.get(), token.get());
        first > 0 && token >= first && token - first < u64::from(self.turns)
    }
}

#[cfg(feature = "serde")]
const fn one() -> u16 {
    1
}

/// The start of the next page of a listing. Its contents are opaque to the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor(String);

impl Cursor {
    /// Creates a cursor from the store's own representation.
    pub fn new(cursor: impl Into<String>) -> Self {
        Self(cursor.into())
    }

    /// Returns the string passed to [`new`](Self::new).
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// One page of a listing.
#[non_exhaustive]
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// The records of this page; may be empty even if more pages follow.
    pub records: Vec<Record>,
    /// The start of the next page; `None` on the last one.
    pub next: Option<Cursor>,
    /// Why the listing may be out of date, if it may.
    pub caution: Option<String>,
}

impl Page {
    /// Creates a page with the start of the next one.
    pub fn new(records: Vec<Record>, next: Option<Cursor>) -> Self {
        Self { records, next, caution: None }
    }

    /// Returns the first `size` names after the cursor (the last name of the previous page) that match the filter.
    /// `read` returns `None` for a name that is not, or no longer, a lock.
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
    /// The holder was marked as evicted, or removed.
    Evicted {
        /// The token of the evicted holder, or of one of them.
        token: FencingToken,
    },
    /// The name is not held, or not by a holder with that token.
    NotHeld,
    /// The lock lives as long as this process, which has to exit.
    HolderMustExit {
        /// The process id on this host.
        pid: u32,
    },
}
