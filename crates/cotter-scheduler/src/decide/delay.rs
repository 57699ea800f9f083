//! The slot of a fixed delay: so long after the last run, wherever it ran.

use super::plan::{Look, Plan};
use std::time::Duration;

impl Look<'_> {
    /// It is never too late for it: were it dropped, there would be no next one.
    pub(super) fn delay(&self, delay: Duration) -> Plan {
        let ended = self.state.run.as_ref().and_then(|run| run.ended);
        let slot = ended.map_or(self.floor, |at| self.floor.max(at + delay));
        match slot <= self.now {
            true => Plan { due: Some(slot), ..Plan::default() },
            false => Plan { next: Some(slot), ..Plan::default() },
        }
    }
}
