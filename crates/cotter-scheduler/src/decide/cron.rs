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
            return Plan { next: self.calendar.next(cron, zone, base.max(self.now)), ..Plan::default() };
        };
        if self.wants_all() {
            return Plan { due: self.calendar.next(cron, zone, base), ..Plan::default() };
        }
        let candidate = self.latest_free(latest, base, cron, zone);
        let due = candidate.filter(|slot| self.is_on_time(*slot) || self.wants_latest());
        let others = cron.after(base, zone).take_while(|slot| *slot <= latest);
        let others = others.filter(|slot| !self.calendar.excludes(*slot, zone)).take(MAX_COUNTED);
        let (mut missed, mut skipped) = (0, 0);
        for slot in others.filter(|slot| Some(*slot) != due) {
            *if self.overlaps_last_run(slot) { &mut skipped } else { &mut missed } += 1;
        }
        let next = if due.is_none() { self.calendar.next(cron, zone, self.now) } else { None };
        Plan { due, last: Some(latest), missed, skipped, merged: 0, next }
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
