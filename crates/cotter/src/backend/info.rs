//! What a store is, promises and can do.

use super::Mode;
use crate::{Error, Result};
use std::time::Duration;

/// What a store promises; see `docs/guarantees.md`.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Level {
    /// L0: two holders are possible without any pause or clock fault.
    BestEffort,
    /// L1: no two holders inside their own validity at once, under the assumptions of the store.
    LeaseExclusive,
}

/// What a store is and can do.
#[non_exhaustive]
#[derive(Debug, Clone)]
pub struct Info {
    /// The scheme of its URLs.
    pub scheme: &'static str,
    /// What errors call it where what it can do depends on more than the scheme: `redis in mode=plain`.
    pub variant: &'static str,
    /// What it promises.
    pub level: Level,
    /// What it can do.
    pub capabilities: Capabilities,
    /// Which one it is, for people; never with a password.
    pub instance: String,
    /// What whoever uses it should be told once, on one line.
    pub caution: Option<&'static str>,
}

impl Info {
    /// A store of this scheme that can do nothing special yet.
    pub fn new(scheme: &'static str, instance: impl Into<String>) -> Self {
        Self {
            scheme,
            variant: scheme,
            level: Level::LeaseExclusive,
            capabilities: Capabilities::default(),
            instance: instance.into(),
            caution: None,
        }
    }
}

/// What a store can do. A call that needs what is false is refused as [`Unsupported`](crate::ErrorKind::Unsupported) before
/// any I/O, and the conformance cases about it expect that.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, Default)]
pub struct Capabilities {
    /// Grants end after their ttl. False: they live with a process or session, and the ttl is ignored.
    pub leases: bool,
    /// Waiters are served in order of arrival, and a newcomer does not pass one that listens.
    pub ordered: bool,
    /// Each name is a lock of its own. False: all names mean one lock.
    pub names: bool,
    /// A grant is told apart from every other by what the store keeps for it. False: others may store the same value.
    pub distinct: bool,
    /// The store shows its holders, with label and token, lists names, and tells an evicted holder so.
    pub records: bool,
    /// Shared locks.
    pub shared: bool,
    /// An exclusive grant becomes a shared one without a gap.
    pub downgrade: bool,
    /// Permits.
    pub permits: bool,
    /// The name can stay locked after a release ([`Leave::keep_for`](super::Leave::keep_for)) without a living process.
    pub keep_for: bool,
    /// Notes.
    pub notes: bool,
    /// Notes can be written by compare and set, without holding the name.
    pub swap: bool,
    /// Every call but a waiting `acquire` completes in its first poll and needs no runtime.
    pub immediate: bool,
    /// A connection is driven by the runtime that made it: each runtime that calls gets one of its own. Waiting and
    /// renewal use the engine's only.
    pub per_runtime: bool,
    /// [`Until::InLine`](super::Until::InLine) is understood: a claim that is going to wait is queued by its first request.
    pub in_line: bool,
    /// Shorter leases are refused.
    pub min_ttl: Duration,
    /// Leases are counted in steps of this length, so that one may end up to a step late. Zero: exactly.
    pub ttl_step: Duration,
}

/// Something that not every store can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Feature {
    SharedLocks,
    Downgrade,
    Permits,
    Notes,
    Swap,
    Admin,
}

impl Feature {
    /// What it is called, and the stores that have it.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::SharedLocks => ("shared locks", "memory: or file:"),
            Self::Downgrade => ("a downgrade from exclusive to shared", "memory: or file:"),
            Self::Permits => ("semaphores", "memory:"),
            Self::Notes => ("notes", "memory:, file: or redis:"),
            Self::Swap => ("compare-and-set on notes", "memory:, file: or redis:"),
            Self::Admin => ("looking at locks from outside", "memory:, file: or redis:"),
        }
    }

    const fn is_in(self, capabilities: &Capabilities) -> bool {
        match self {
            Self::SharedLocks => capabilities.shared,
            Self::Downgrade => capabilities.downgrade,
            Self::Permits => capabilities.permits,
            Self::Notes => capabilities.notes,
            Self::Swap => capabilities.swap,
            // A store that has no records may still show that a name is held.
            Self::Admin => true,
        }
    }

    /// The refusal by a store that lacks it.
    pub(crate) fn missing(self, info: &Info) -> Error {
        let (what, stores) = self.words();
        Error::unsupported(&format!("{what} (use {stores})"), info.variant)
    }
}

impl Info {
    /// Refuses what this store cannot do.
    pub(crate) fn require(&self, feature: Feature) -> Result<()> {
        if feature.is_in(&self.capabilities) { Ok(()) } else { Err(feature.missing(self)) }
    }

    /// Refuses a mode that this store does not have.
    pub(crate) fn supports(&self, mode: Mode) -> Result<()> {
        match mode {
            Mode::Exclusive => Ok(()),
            Mode::Shared => self.require(Feature::SharedLocks),
            Mode::Permits { .. } => self.require(Feature::Permits),
        }
    }
}
