//! The slots of a cron expression.

use super::planner::{Plan, Planner, TICK};
use crate::{Cron, UnixTime, Zone};

/// The largest number of missed slots that is counted.
const MAX_COUNTED: usize = 10_000;

impl Planner<'_> {
    pub(super) fn cron(&self, cron: &Cron, zone: &Zone) -> Plan {
        let base = self.baseline();
        let latest = self.calendar.previous(cron, zone, self.now + TICK, base);
        let Some(latest) = latest else {
            let next = self.calendar.next(cron, zone, base.max(self.now)).look();
            return Plan { next, ..Plan::default() };
        };
        if self.wants_all() {
            return Plan { due: self.calendar.next_until(cron, zone, base, latest), ..Plan::default() };
        }
        let candidate = self.latest_free(latest, base, cron, zone);
        let due = candidate.filter(|slot| self.is_on_time(*slot) || self.wants_latest());
        let after = |slot: UnixTime| self.calendar.next_until(cron, zone, slot, latest);
        let slots = std::iter::successors(after(base), |slot| after(*slot)).filter(|slot| Some(*slot) != due);
        let (mut missed, mut skipped, mut more) = (0, 0, false);
        for (counted, slot) in slots.take_while(|slot| *slot <= latest).enumerate() {
            more = counted == MAX_COUNTED;
            if more {
                break;
            }
            *if self.overlaps_last_run(slot) { &mut skipped } else { &mut missed } += 1;
        }
        let next = if due.is_none() { self.calendar.next(cron, zone, self.now).look() } else { None };
        Plan { due, last: Some(latest), missed, skipped, more, merged: 0, next }
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
