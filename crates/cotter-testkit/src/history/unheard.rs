//! Holds whose sessions were ended, until their processes have heard of it.

use super::{History, Hold};

impl History {
    /// Whether sessions were ended before the next one got the lock, and the process of this hold had not run for longer since when
    /// the hold ended. So it may have been believed in, and even have begun, while the next one held the lock.
    pub(super) fn had_not_heard(&self, hold: &Hold, next: &Hold, unheard: u64) -> bool {
        let life = &self.processes[&hold.process];
        self.ended.iter().any(|&(from, to)| from <= next.got && hold.end <= life.after_running(to, unheard))
    }
}
