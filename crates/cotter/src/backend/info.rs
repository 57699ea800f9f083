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

/// What a store can do. What is false is refused with a clear error before any I/O.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, Default)]
pub struct Capabilities {
    /// Grants end after their ttl; false: they live with the process or session and the ttl is ignored.
    pub leases: bool,
    /// Shared locks.
    pub shared: bool,
    /// Permits.
    pub permits: bool,
    /// The lease can be left behind (`leave_for`) without a living process.
    pub keep_for: bool,
    /// Every call but a waiting `acquire` ends in its first poll and needs no runtime.
    pub immediate: bool,
    /// A connection is driven by the runtime that made it: each runtime that calls gets one of its own. Waiting and
    /// renewal use the engine's only.
    pub per_runtime: bool,
    /// [`Until::InLine`] is understood: who is going to wait gets in line with its first question.
    pub in_line: bool,
    /// Shorter leases are refused.
    pub min_ttl: Duration,
}

impl Capabilities {
    pub(crate) fn supports(&self, mode: Mode, scheme: &str) -> Result<()> {
        match mode {
            Mode::Shared if !self.shared => Err(Error::unsupported("a shared lock", scheme)),
            Mode::Permits { .. } if !self.permits => Err(Error::unsupported("a semaphore", scheme)),
            _ => Ok(()),
        }
    }
}
