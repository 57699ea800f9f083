//! The slots of a cron expression.

use super::planner::{Plan, Planner, TICK};
use crate::{Cron, UnixTime, Zone};

/// The largest number of missed slots that is counted.
const MAX_COUNTED: usize = 10_000;

impl Planner<'_> {
    pub(super) fn cron(&self, cron: &Cron, zone: &Zone) -> Plan {
        let base = self.baseline();
        let latest = cron.previous(self.now + TICK, zone).filter(|slot| *slot > base);
        let Some(latest) = latest else {
            return Plan { next: cron.next(base.max(self.now), zone), ..Plan::default() };
        };
        if self.wants_all() {
            return Plan { due: cron.next(base, zone), ..Plan::default() };
        }
        let candidate = self.latest_free(latest, cron, zone).filter(|slot| *slot > base);
        let due = candidate.filter(|slot| self.is_on_time(*slot) || self.wants_latest());
        let others = cron.after(base, zone).take_while(|slot| *slot <= latest).take(MAX_COUNTED);
        let (mut missed, mut skipped) = (0, 0);
        for slot in others.filter(|slot| Some(*slot) != due) {
            *if self.overlaps_last_run(slot) { &mut skipped } else { &mut missed } += 1;
        }
        let next = if due.is_none() { cron.next(self.now, zone) } else { None };
        Plan { due, last: Some(latest), missed, skipped, merged: 0, next }
    }

    /// The latest slot that did not pass during the last run.
    fn latest_free(&self, latest: UnixTime, cron: &Cron, zone: &Zone) -> Option<UnixTime> {
        match self.last_run {
            Some((from, _)) if self.overlaps_last_run(latest) => cron.previous(from, zone),
            _ => Some(latest),
        }
    }
}
