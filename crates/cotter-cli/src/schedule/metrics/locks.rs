//! This process's own figures for the locks that its jobs take, under the names of [`cotter::metrics`].

use super::figures::Histogram;
use cotter::{Event, EventKind};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

/// The figures of all locks.
pub(super) struct Locks {
    /// The locks of the jobs themselves, which are as many as there are jobs, are counted as one.
    own: String,
    all: Mutex<AllLocks>,
}

/// What has been seen since this process was started.
#[derive(Clone, Default)]
pub(super) struct AllLocks {
    /// The names that the file gives to locks and limits.
    named: BTreeSet<String>,
    pub(super) locks: BTreeMap<String, LockFigures>,
    pub(super) outages: u64,
    pub(super) is_down: bool,
    pub(super) dropped: u64,
}

/// The figures of one lock.
#[derive(Clone, Default)]
pub(super) struct LockFigures {
    pub(super) held: u64,
    pub(super) acquired: u64,
    pub(super) busy: u64,
    pub(super) gave_up: u64,
    pub(super) renewal_failures: u64,
    /// Calls that ended with an error, by its kind.
    pub(super) failed: BTreeMap<&'static str, u64>,
    /// By cause.
    pub(super) lost: BTreeMap<&'static str, u64>,
    pub(super) wait: Histogram,
    pub(super) hold: Histogram,
}

impl Locks {
    pub(super) fn new(group: &str) -> Self {
        Self { own: format!("{group}/*"), all: Mutex::default() }
    }

    /// Sets the names of the file, so that all of them have figures from the beginning. Others are dropped, unless they are held.
    pub(super) fn names<'a>(&self, names: impl Iterator<Item = &'a str>) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.named = names.map(str::to_owned).collect();
        let mut old = std::mem::take(&mut all.locks);
        let shown = all.named.iter().chain([&self.own]);
        let locks = shown.map(|name| (name.clone(), old.remove(name).unwrap_or_default())).collect();
        all.locks = locks;
        all.locks.extend(old.into_iter().filter(|(_, lock)| lock.held > 0));
    }

    pub(super) fn all(&self) -> AllLocks {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn event(&self, event: &Event) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(name) = event.name.as_deref().filter(|_| event.mode.is_some()) else {
            return all.of_store(&event.kind);
        };
        let is_shown = all.named.contains(name) || all.locks.get(name).is_some_and(|lock| lock.held > 0);
        let name = if is_shown { name } else { &self.own };
        all.locks.entry(name.to_owned()).or_default().event(&event.kind);
    }
}

impl AllLocks {
    fn of_store(&mut self, kind: &EventKind) {
        match kind {
            EventKind::Outage { .. } => (self.outages, self.is_down) = (self.outages + 1, true),
            EventKind::Recovered { .. } => self.is_down = false,
            EventKind::Dropped { events } => self.dropped += events,
            _ => {}
        }
    }
}

impl LockFigures {
    fn event(&mut self, kind: &EventKind) {
        match kind {
            EventKind::Acquired { waited, .. } => {
                (self.acquired, self.held) = (self.acquired + 1, self.held + 1);
                self.wait.add(*waited);
            }
            EventKind::Released { held, .. } => {
                self.held = self.held.saturating_sub(1);
                self.hold.add(*held);
            }
            EventKind::Lost { cause, held, .. } => {
                self.held = self.held.saturating_sub(1);
                self.hold.add(*held);
                *self.lost.entry(cause.as_str()).or_default() += 1;
            }
            EventKind::Busy { .. } => self.busy += 1,
            EventKind::Failed { kind, .. } => *self.failed.entry(kind.as_str()).or_default() += 1,
            EventKind::GaveUp { .. } => self.gave_up += 1,
            EventKind::RenewalFailed { .. } => self.renewal_failures += 1,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cotter::{LossCause, Mode, Name, ReleasedTo};
    use std::time::Duration;

    fn told(locks: &Locks, name: &str, kind: EventKind) {
        locks.event(&Event::of_lock(Name::new(name).unwrap(), Mode::Exclusive, kind));
    }

    fn acquired() -> EventKind {
        let token = cotter::FencingToken::from(7);
        EventKind::Acquired { token, waited: Duration::ZERO, passed_on: false }
    }

    fn ended(cause: Option<LossCause>) -> EventKind {
        let (token, held) = (cotter::FencingToken::from(7), Duration::from_secs(2));
        match cause {
            Some(cause) => EventKind::Lost { token, cause, held, silent_for: None },
            None => EventKind::Released { token, held, to: ReleasedTo::Store },
        }
    }

    #[test]
    fn each_lock_of_the_file_has_figures_and_those_of_jobs_are_one() {
        let locks = Locks::new("g");
        locks.names(["db"].into_iter());
        for name in ["db", "g/a", "g/b"] {
            told(&locks, name, acquired());
        }
        told(&locks, "g/a", ended(Some(LossCause::Evicted)));
        told(&locks, "db", ended(None));
        let all = locks.all().locks;
        assert_eq!(all.keys().collect::<Vec<_>>(), ["db", "g/*"]);
        assert_eq!((all["db"].acquired, all["db"].held, all["db"].hold.count), (1, 0, 1));
        assert_eq!(
            (all["g/*"].acquired, all["g/*"].held, &all["g/*"].lost),
            (2, 1, &[("evicted", 1)].into())
        );
    }

    #[test]
    fn a_lock_that_left_the_file_is_shown_until_it_is_free() {
        let locks = Locks::new("g");
        locks.names(["db"].into_iter());
        told(&locks, "db", acquired());
        locks.names(std::iter::empty());
        told(&locks, "db", ended(None));
        assert_eq!(locks.all().locks["db"].held, 0);
        locks.names(std::iter::empty());
        assert!(!locks.all().locks.contains_key("db"));
    }

    #[test]
    fn an_outage_ends_when_the_store_answers() {
        let locks = Locks::new("g");
        let kind = EventKind::Outage {
            doing: "renewing",
            error: cotter::Error::new(cotter::ErrorKind::Unavailable, "x"),
        };
        locks.event(&Event::of_store(kind));
        assert!(locks.all().is_down);
        locks.event(&Event::of_store(EventKind::Recovered { after: Duration::ZERO, failures: 3 }));
        assert_eq!((locks.all().is_down, locks.all().outages), (false, 1));
    }
}
