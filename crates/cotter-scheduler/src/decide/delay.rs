//! The slot of a fixed delay: a fixed time after the last run, on whichever replica it ran.

use super::planner::{Plan, Planner};
use std::time::Duration;

impl Planner<'_> {
    /// It is never too late: if the slot were dropped, there would be no next one.
    pub(super) fn delay(&self, delay: Duration) -> Plan {
        let ended = self.state.run.as_ref().and_then(|run| run.ended);
        let slot = ended.map_or(self.floor, |at| self.floor.max(at + delay));
        match slot <= self.now {
            true => Plan { due: Some(slot), ..Plan::default() },
            false => Plan { next: Some(slot), ..Plan::default() },
        }
    }
}
