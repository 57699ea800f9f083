//! Pauses of a job or of the whole group.

use super::super::instant;
use super::super::run::is_default;
use crate::UnixTime;
use serde::{Deserialize, Serialize};

/// The author of a pause of a job or a group, the reason, and when it begins and ends.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pause {
    #[serde(rename = "b")]
    pub(crate) by: String,
    #[serde(rename = "w", default, skip_serializing_if = "is_default")]
    pub(crate) reason: String,
    /// When it was asked for; `None` where an earlier version was.
    #[serde(rename = "t", with = "instant::maybe", default, skip_serializing_if = "is_default")]
    pub(crate) since: Option<UnixTime>,
    /// When it ends by itself; `None` if somebody has to resume.
    #[serde(rename = "u", with = "instant::maybe", default, skip_serializing_if = "is_default")]
    pub(crate) until: Option<UnixTime>,
}

impl Pause {
    /// Whether it has ended by itself.
    pub(crate) fn is_over(&self, now: UnixTime) -> bool {
        self.until.is_some_and(|end| end <= now)
    }

    fn outlasts(&self, other: &Self) -> bool {
        match (self.until, other.until) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(own), Some(other)) => own > other,
        }
    }
}

/// Of two pauses, the one that ends later counts: whoever asked for it relies on that. Returns whether anything has changed.
pub(super) fn begin(pause: &mut Option<Pause>, new: Pause) -> bool {
    let changes = pause.as_ref().is_none_or(|old| new.outlasts(old));
    if changes {
        *pause = Some(new);
    }
    changes
}

/// Ends a pause by request. Returns whether anything has changed.
pub(super) fn end(pause: &mut Option<Pause>, resumed_at: &mut Option<UnixTime>, now: UnixTime) -> bool {
    let changes = pause.take().is_some();
    if changes {
        *resumed_at = Some(now);
    }
    changes
}

/// Ends a pause whose time is over, as if it had been resumed at that time. Returns whether anything has changed.
pub(super) fn expire(pause: &mut Option<Pause>, resumed_at: &mut Option<UnixTime>, now: UnixTime) -> bool {
    let changes = pause.as_ref().is_some_and(|pause| pause.is_over(now));
    if changes {
        let end = pause.take().and_then(|pause| pause.until);
        *resumed_at = end.max(*resumed_at);
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn until(seconds: Option<i64>) -> Pause {
        Pause { until: seconds.map(UnixTime::from_seconds), ..Pause::default() }
    }

    #[test]
    fn the_pause_that_ends_later_counts() {
        for (old, new, changes) in [
            (Some(10), Some(20), true),
            (Some(20), Some(10), false),
            (Some(10), Some(10), false),
            (Some(10), None, true),
            (None, Some(10), false),
            (None, None, false),
        ] {
            let mut pause = Some(until(old));
            assert_eq!(begin(&mut pause, until(new)), changes, "{old:?}, then {new:?}");
            assert_eq!(pause, Some(until(if changes { new } else { old })), "{old:?}, then {new:?}");
        }
    }

    #[test]
    fn a_pause_ends_at_its_time_and_not_when_that_is_seen() {
        let at = UnixTime::from_seconds;
        let (mut pause, mut resumed) = (Some(until(Some(10))), Some(at(1)));
        assert!(!expire(&mut pause, &mut resumed, at(9)));
        assert_eq!((pause.is_some(), resumed), (true, Some(at(1))));
        assert!(expire(&mut pause, &mut resumed, at(15)));
        assert_eq!((pause, resumed), (None, Some(at(10))));
    }
}
