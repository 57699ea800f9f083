//! Readers, and holders of permits, who have the grant of a task of their process that had left.

use super::{History, Hold, Life, Use, WaitEnded};
use std::collections::HashMap;

/// The waits with others that ended without a grant.
pub(super) struct Abandoned<'a> {
    lives: &'a History,
    /// By process, and by what was wanted: a grant serves those who want the same.
    of: HashMap<(u32, Use), Vec<Gone>>,
}

/// One that ended then, and the earliest begin of it and of all that ended later.
struct Gone {
    end: u64,
    wanted: u64,
}

impl<'a> Abandoned<'a> {
    pub(super) fn of(history: &'a History, name: &str) -> Self {
        let mut of: HashMap<(u32, Use), Vec<Gone>> = HashMap::new();
        let waits = history.waits.iter();
        for wait in waits.filter(|w| w.name == name && w.mode != Use::Exclusive && w.by == WaitEnded::Left) {
            of.entry((wait.process, wait.mode))
                .or_default()
                .push(Gone { end: wait.end, wanted: wait.wanted });
        }
        for gone in of.values_mut() {
            gone.sort_by_key(|gone| gone.end);
            let mut earliest = u64::MAX;
            for gone in gone.iter_mut().rev() {
                earliest = earliest.min(gone.wanted);
                gone.wanted = earliest;
            }
        }
        Self { lives: history, of }
    }

    /// When its grant may have been asked for: by itself, or by a task of its process that had left, and for which it was on its way
    /// for as long as `inherited` while the process ran.
    pub(super) fn asked(&self, hold: &Hold, inherited: u64) -> u64 {
        let Some(gone) = self.of.get(&(hold.process, hold.mode)) else { return hold.asked };
        let life: &Life = &self.lives.processes[&hold.process];
        let first = gone.partition_point(|gone| life.after_running(gone.end, inherited) < hold.asked);
        gone.get(first).map_or(hold.asked, |gone| gone.wanted.min(hold.asked))
    }
}
