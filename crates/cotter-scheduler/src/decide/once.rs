//! A single slot.

use super::planner::{Plan, Planner};
use crate::UnixTime;

impl Planner<'_> {
    /// A slot that passed before the first start is late; one that passed before a change or during a pause is dropped.
    pub(super) fn once(&self, at: UnixTime) -> Plan {
        let changed = self.state.since > self.state.anchor && at < self.state.since;
        if self.state.last >= Some(at) || changed || at < self.resumed {
            return Plan::default();
        }
        if at > self.now {
            return Plan { next: Some(at), ..Plan::default() };
        }
        let late = self.now.since(at);
        if self.is_on_time(at) || self.wants_latest() && late <= self.policy.misfire_window {
            return Plan { due: Some(at), ..Plan::default() };
        }
        Plan { last: Some(at), missed: 1, ..Plan::default() }
    }
}
