//! What `doctor` finds out about a store.

use super::Level;
use std::fmt;
#[cfg(any(feature = "redis", feature = "postgres", feature = "mysql"))]
use std::time::{Duration, SystemTime};

/// The name of the lock that `doctor` takes and gives back, and of the notes that it writes. Programs must not use names that
/// begin with it.
pub(crate) const RESERVED: &str = "cotter:doctor";

/// One finding of [`Admin::diagnose`](crate::Admin::diagnose). What it does to the guarantees decides both its severity and the
/// level that is left: there is a constructor for each case, and no finding without one.
///
/// | constructor | severity | two holders are possible |
/// |---|---|---|
/// | [`ok`](Self::ok) | ok | |
/// | [`limits`](Self::limits) | warning | as without it |
/// | [`weakens`](Self::weakens) | warning | after a fault from outside |
/// | [`breaks`](Self::breaks) | problem | as without it, but something does not work |
/// | [`voids`](Self::voids) | problem | in ordinary operation |
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Finding {
    /// The severity of the finding.
    pub severity: Severity,
    /// The subject of the check, in a word or two.
    pub subject: String,
    /// A description of the finding, and of what to do about it.
    pub message: String,
    /// The guarantee that remains in spite of this finding, if it is reduced.
    pub level: Option<Level>,
}

impl Finding {
    /// Nothing is wrong.
    pub fn ok(subject: impl Into<String>, message: impl Into<String>) -> Self {
        Self::with(Severity::Ok, None, subject.into(), message.into())
    }

    /// A limitation worth knowing, which touches no guarantee.
    pub fn limits(subject: impl Into<String>, message: impl Into<String>) -> Self {
        Self::with(Severity::Warning, None, subject.into(), message.into())
    }

    /// A fault from outside, such as a crash, a power failure or a failover, makes two holders possible: only best effort is
    /// left.
    pub fn weakens(subject: impl Into<String>, message: impl Into<String>) -> Self {
        Self::with(Severity::Warning, Some(Level::BestEffort), subject.into(), message.into())
    }

    /// Something does not work until this is fixed. Two holders are no more possible than without it.
    pub fn breaks(subject: impl Into<String>, message: impl Into<String>) -> Self {
        Self::with(Severity::Problem, None, subject.into(), message.into())
    }

    /// Two holders are possible in ordinary operation, until this is fixed.
    pub fn voids(subject: impl Into<String>, message: impl Into<String>) -> Self {
        Self::with(Severity::Problem, Some(Level::BestEffort), subject.into(), message.into())
    }

    /// Private: the severity and the level of a finding belong together.
    fn with(severity: Severity, level: Option<Level>, subject: String, message: String) -> Self {
        Self { severity, subject, message, level }
    }

    /// The same fault in a part of the store, which the other parts make up for as long as nobody loses what was acknowledged.
    pub(crate) fn of_part(mut self, part: &str) -> Self {
        self.severity = self.severity.min(Severity::Warning);
        self.message = format!("{part}: {}", self.message);
        self
    }

    /// Compares the clock of a server that grants leases by it with this host's, read before and after.
    #[cfg(any(feature = "redis", feature = "postgres", feature = "mysql"))]
    pub(crate) fn of_clocks(before: SystemTime, theirs: SystemTime, after: SystemTime) -> Self {
        let ahead = theirs.duration_since(after).unwrap_or_default();
        let behind = before.duration_since(theirs).unwrap_or_default();
        // A larger difference is reported, although it does no harm by itself.
        if ahead.max(behind) <= Duration::from_secs(1) {
            return Self::ok("clock", "the server's clock agrees with this host's");
        }
        let (offset, way) = if ahead > behind { (ahead, "ahead of") } else { (behind, "behind") };
        let message = format!("the server's clock is {} s {way} this host's", offset.as_secs());
        Self::limits(
            "clock",
            message + "; tokens follow the server's clock, and leases do not depend on the time of day",
        )
    }

    /// A store that has no time of day that could be compared.
    #[cfg(any(feature = "etcd", feature = "zookeeper"))]
    pub(crate) fn without_clock() -> Self {
        let message = "leases and tokens do not depend on the time of day; slots of jobs follow the clock of each host, which this store \
                       cannot check: keep them synchronized";
        Self::ok("clock", message)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.severity, self.subject, self.message)
    }
}

/// The severity of a finding.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Severity {
    /// No problem.
    Ok,
    /// Works, with a limitation worth knowing; two holders are possible only after a fault from outside, if at all.
    Warning,
    /// Something does not work, or two holders are possible in ordinary operation, until this is fixed.
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
