//! Identity, guarantees and capabilities of a store.

use super::Mode;
use crate::{Error, ErrorKind, Result};
use std::time::Duration;

/// The guarantee that a store gives; see `docs/guarantees.md`.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Level {
    /// L0: two holders are possible even without a pause or clock fault.
    BestEffort,
    /// L1: no two holders are within their own validity at the same time, under the assumptions of the store.
    LeaseExclusive,
}

/// The identity and capabilities of a store.
#[non_exhaustive]
#[derive(Debug, Clone)]
pub struct Info {
    /// The scheme of the store's URLs.
    pub scheme: &'static str,
    /// The name used in errors, for stores whose capabilities depend on more than the scheme: `redis in mode=plain`.
    pub variant: &'static str,
    /// The guarantee that the store gives.
    pub level: Level,
    /// The supported operations.
    pub capabilities: Capabilities,
    /// A human-readable description of the instance; never contains a password.
    pub instance: String,
    /// A one-line caution to show once to users of this store.
    pub caution: Option<&'static str>,
    /// The reason for which the store cannot support semaphores, for the error.
    pub(crate) no_semaphores: Option<&'static str>,
    /// What else tells a lock from one of the same name at this instance: prefixes, schemas, tables.
    pub(crate) place: String,
    /// Names are those of other programs: keys, nodes or rows of theirs, and users may have rights to no others.
    pub(crate) names_are_given: bool,
}

impl Info {
    /// Creates the description of a store with this scheme and no capabilities.
    pub fn new(scheme: &'static str, instance: impl Into<String>) -> Self {
        Self {
            scheme,
            variant: scheme,
            level: Level::LeaseExclusive,
            capabilities: Capabilities::default(),
            instance: instance.into(),
            caution: None,
            no_semaphores: None,
            names_are_given: false,
            place: String::new(),
        }
    }
}

/// The capabilities of a store. A call that needs a capability whose flag is false is refused with
/// [`Unsupported`](crate::ErrorKind::Unsupported) before any I/O, and the conformance cases expect that.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, Default)]
pub struct Capabilities {
    /// Grants expire after their ttl. False: they live as long as a process or session, and the ttl is ignored.
    pub leases: bool,
    /// What a claim leaves behind ends with a session that the claims of a client share, and that the client keeps
    /// alive for the others: after a release that had no answer, the lock stays taken for longer than the claim's ttl,
    /// even where grants expire. A release is therefore repeated until the store has answered. Implied where
    /// [`leases`](Self::leases) is false.
    pub shared_session: bool,
    /// Waiters are served in order of arrival, and a newcomer does not overtake a waiter that is listening.
    pub ordered: bool,
    /// Each name is a separate lock. False: all names refer to one lock.
    pub names: bool,
    /// The store can tell a grant from every other by the value that it keeps. False: others may store the same value.
    pub distinct: bool,
    /// The store reports holders with label and token, lists names, and tells an evicted holder that it was evicted.
    pub records: bool,
    /// Shared locks.
    pub shared: bool,
    /// An exclusive grant can become a shared one without a gap.
    pub downgrade: bool,
    /// Permits.
    pub permits: bool,
    /// A name can stay locked after a release ([`Leave::keep_for`](super::Leave::keep_for)) without a living process.
    pub keep_for: bool,
    /// A grant can pass from one claim to another, so that another process continues with it.
    pub tickets: bool,
    /// Notes.
    pub notes: bool,
    /// Notes can be written by compare-and-set, without holding the name.
    pub swap: bool,
    /// Every call except a waiting `acquire` completes in its first poll and needs no runtime.
    pub immediate: bool,
    /// A connection is driven by the runtime that made it, so each runtime that makes calls gets its own. Waiting and
    /// renewal use only the engine's connection.
    pub per_runtime: bool,
    /// [`Until::InLine`](super::Until::InLine) is supported: the first request of a claim that is going to wait queues
    /// it.
    pub in_line: bool,
    /// The shortest lease that is not refused.
    pub min_ttl: Duration,
    /// The granularity of leases: a lease may end up to one step late. Zero means exact.
    pub ttl_step: Duration,
}

/// Longer leases overflow what stores can count.
pub(crate) const MAX_TTL: Duration = Duration::from_secs(366 * 24 * 3600);

impl Capabilities {
    /// Those of a store that has leases and supports every operation of the contract.
    pub(crate) fn complete(min_ttl: Duration) -> Self {
        Self {
            leases: true,
            ordered: true,
            names: true,
            distinct: true,
            records: true,
            shared: true,
            downgrade: true,
            permits: true,
            keep_for: true,
            tickets: true,
            notes: true,
            swap: true,
            min_ttl,
            ..Self::default()
        }
    }

    /// Whether what a claim leaves behind can outlive its ttl.
    pub(crate) const fn lives_with_session(&self) -> bool {
        self.shared_session || !self.leases
    }

    /// Whether there can be a lease of this length.
    pub(crate) fn check_ttl(&self, ttl: Duration) -> Result<()> {
        let min_ttl = self.min_ttl;
        if ttl < min_ttl || ttl.is_zero() {
            let what = format!("a ttl of {ttl:?} is too short for this store; the minimum is {min_ttl:?}");
            return Err(Error::new(ErrorKind::InvalidInput, what));
        }
        if ttl > MAX_TTL {
            let what = format!("a ttl of {ttl:?} is too long; the maximum is a year");
            return Err(Error::new(ErrorKind::InvalidInput, what));
        }
        Ok(())
    }
}

/// A feature that not every store supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Feature {
    SharedLocks,
    Downgrade,
    Permits,
    Tickets,
    Notes,
    Swap,
    Admin,
}

/// The stores that have nearly all features.
const MOST: &str = "memory:, file:, redis:, etcd:, zookeeper:, postgres:, mysql: or sqlite:";

impl Feature {
    /// Returns the name of the feature, and the stores that support it.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::SharedLocks => ("shared locks", MOST),
            Self::Downgrade => (
                "a downgrade from exclusive to shared",
                "memory:, file:, redis:, postgres:, mysql: or sqlite:",
            ),
            Self::Permits => ("semaphores", MOST),
            Self::Tickets => ("tickets", "memory:, redis:, postgres:, mysql: or sqlite:"),
            Self::Notes => ("notes", MOST),
            Self::Swap => ("compare-and-set on notes", MOST),
            Self::Admin => ("inspecting locks", MOST),
        }
    }

    const fn is_in(self, capabilities: &Capabilities) -> bool {
        match self {
            Self::SharedLocks => capabilities.shared,
            Self::Downgrade => capabilities.downgrade,
            Self::Permits => capabilities.permits,
            Self::Tickets => capabilities.tickets,
            Self::Notes => capabilities.notes,
            Self::Swap => capabilities.swap,
            // A store without records may still report whether a name is held.
            Self::Admin => true,
        }
    }

    /// Returns the error for a store that lacks this feature.
    pub(crate) fn missing(self, info: &Info) -> Error {
        let (what, stores) = self.words();
        let why = info.no_semaphores.filter(|_| self == Self::Permits);
        let why = why.map(|why| format!(": {why}")).unwrap_or_default();
        Error::unsupported(&format!("{what} (use {stores}){why}"), info.variant)
    }
}

impl Info {
    /// Returns an error if this store lacks the feature.
    pub(crate) fn require(&self, feature: Feature) -> Result<()> {
        if feature.is_in(&self.capabilities) { Ok(()) } else { Err(feature.missing(self)) }
    }

    /// Refuses a mode that this store does not support: the first step of `acquire`.
    ///
    /// # Errors
    /// [`Unsupported`](crate::ErrorKind::Unsupported), with the stores that support it.
    pub fn supports(&self, mode: Mode) -> Result<()> {
        match mode {
            Mode::Exclusive => Ok(()),
            Mode::Shared => self.require(Feature::SharedLocks),
            Mode::Permits { .. } => self.require(Feature::Permits),
        }
    }
}
