//! Holds whose sessions were ended, until their processes have heard of it.

use super::{History, Hold};

impl History {
    /// Whether sessions were ended before the later of two holds was had, and the process of the earlier one had not run for longer
    /// since when that ended. So it may have been believed in, and even have begun, while the later one held the lock. Which of
    /// them was granted first, their tokens say: a process that stood still hears of its grant late.
    pub(super) fn had_not_heard(&self, a: &Hold, b: &Hold, unheard: u64) -> bool {
        let (hold, next) = if a.token < b.token { (a, b) } else { (b, a) };
        let life = &self.processes[&hold.process];
        self.ended.iter().any(|&(from, to)| from <= next.got && hold.end <= life.after_running(to, unheard))
    }
}
