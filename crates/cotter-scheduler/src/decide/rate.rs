//! The slots of a fixed rate: a grid that begins with the first start ever.

use super::Followed;
use super::planner::{Plan, Planner, TICK};
use crate::{Concurrency, UnixTime};
use std::time::Duration;

/// The slots `anchor + k * period`.
struct Grid {
    anchor: UnixTime,
    period: u128,
}

impl Grid {
    /// The number of the first slot after `t`.
    fn after(&self, t: UnixTime) -> u128 {
        if t < self.anchor { 0 } else { t.since(self.anchor).as_nanos() / self.period + 1 }
    }

    fn slot(&self, k: u128) -> UnixTime {
        let nanos = k.saturating_mul(self.period);
        let seconds = u64::try_from(nanos / 1_000_000_000).unwrap_or(u64::MAX);
        self.anchor + Duration::new(seconds, (nanos % 1_000_000_000) as u32)
    }
}

/// The first slot after `t`.
pub(crate) fn next_on_grid(anchor: UnixTime, period: Duration, t: UnixTime) -> UnixTime {
    let grid = Grid { anchor, period: period.as_nanos() };
    grid.slot(grid.after(t))
}

/// The last slot before `t`.
pub(super) fn last_on_grid(anchor: UnixTime, period: Duration, t: UnixTime) -> Option<UnixTime> {
    let grid = Grid { anchor, period: period.as_nanos() };
    grid.after(t - TICK).checked_sub(1).map(|k| grid.slot(k))
}

impl Planner<'_> {
    pub(super) fn rate(&self, period: Duration) -> Plan {
        let anchor = self.state.anchor + self.policy.initial_delay;
        let grid = Grid { anchor, period: period.as_nanos() };
        // The slots in `first..end` are due.
        let (first, end) = (grid.after(self.baseline()), grid.after(self.now));
        let too_old = (first - grid.after(self.settled())) as u64;
        if first >= end {
            let last = (too_old > 0).then(|| grid.slot(first - 1));
            return Plan { last, missed: too_old, next: Some(grid.slot(first)), ..Plan::default() };
        }
        let plan = self.in_window(&grid, first, end);
        Plan { missed: plan.missed + too_old, ..plan }
    }

    fn in_window(&self, grid: &Grid, first: u128, end: u128) -> Plan {
        let follows = self.followed == Followed::Held && self.policy.concurrency == Concurrency::Forbid;
        if follows || self.wants_all() {
            return self.backlog(grid, first, end);
        }
        // The newest slot, and those that passed while this process waited for a worker to run it.
        let since = match self.followed {
            Followed::Since(since) => since.min(self.now),
            _ => self.now,
        };
        let kept = grid.after(since).saturating_sub(1).max(first);
        let on_time = grid.after(self.now - self.policy.late_within - TICK).max(kept);
        if on_time < end {
            return Plan { missed: (on_time - first) as u64, ..self.backlog(grid, on_time, end) };
        }
        let newest = grid.slot(end - 1);
        let late = (end - first) as u64;
        if self.wants_latest() {
            return Plan { due: Some(newest), last: Some(newest), missed: late - 1, ..Plan::default() };
        }
        Plan { last: Some(newest), missed: late, next: Some(grid.slot(end)), ..Plan::default() }
    }

    /// Overdue slots run one after the other; if there are too many, the oldest are merged into one.
    fn backlog(&self, grid: &Grid, first: u128, end: u128) -> Plan {
        let most = u128::from(self.policy.max_backlog);
        let merged = (end - first).saturating_sub(most);
        Plan { due: Some(grid.slot(first + merged)), merged: merged as u64, ..Plan::default() }
    }
}
