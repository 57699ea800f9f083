//! The slots of a cron expression.

use super::planner::{Plan, Planner, TICK};
use crate::{Cron, UnixTime, Zone};

/// The largest number of missed slots that is counted.
const MAX_COUNTED: usize = 10_000;

impl Planner<'_> {
    pub(super) fn cron(&self, cron: &Cron, zone: &Zone) -> Plan {
        let (settled, base) = (self.settled(), self.baseline());
        let Some(latest) = self.calendar.previous(cron, zone, self.now + TICK, settled) else {
            let next = self.calendar.next(cron, zone, base.max(self.now)).look();
            return Plan { next, ..Plan::default() };
        };
        // What is due is not counted, nor are those after it, if all of them are run.
        let in_window = self.calendar.next_until(cron, zone, base, latest).filter(|first| *first <= latest);
        let (due, end) = match in_window {
            Some(first) if self.wants_all() => (Some(first), first),
            Some(_) => (self.newest_due(latest, base, cron, zone), latest),
            None => (None, latest),
        };
        let after = |slot: UnixTime| self.calendar.next_until(cron, zone, slot, end);
        let slots =
            std::iter::successors(after(settled), |slot| after(*slot)).take_while(|slot| *slot <= end);
        let (missed, skipped, more) = self.count(slots.filter(|slot| Some(*slot) != due));
        // The start of one of them all settles that one.
        let last = if due.is_some() && self.wants_all() { None } else { Some(latest) };
        let next = if due.is_none() { self.calendar.next(cron, zone, self.now).look() } else { None };
        Plan { due, last, missed, skipped, more, merged: 0, next }
    }

    /// How many were missed, how many passed during the last run, and whether there may be more.
    fn count(&self, slots: impl Iterator<Item = UnixTime>) -> (u64, u64, bool) {
        let (mut missed, mut skipped) = (0, 0);
        for (counted, slot) in slots.enumerate() {
            if counted == MAX_COUNTED {
                return (missed, skipped, true);
            }
            *if self.overlaps_last_run(slot) { &mut skipped } else { &mut missed } += 1;
        }
        (missed, skipped, false)
    }

    /// The slot that is run for all of those in the window.
    fn newest_due(&self, latest: UnixTime, base: UnixTime, cron: &Cron, zone: &Zone) -> Option<UnixTime> {
        let candidate = self.latest_free(latest, base, cron, zone);
        candidate.filter(|slot| self.is_on_time(*slot) || self.wants_latest())
    }

    /// The latest slot that did not pass during the last run.
    fn latest_free(&self, latest: UnixTime, base: UnixTime, cron: &Cron, zone: &Zone) -> Option<UnixTime> {
        match self.last_run {
            Some((from, _)) if self.overlaps_last_run(latest) => {
                self.calendar.previous(cron, zone, from, base)
            }
            _ => Some(latest),
        }
    }
}
