//! Which notes of a list have changed, told in the note that runners watch.

use super::run::is_default;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// How many changed shards are named. Whoever has missed more loads all of them.
const RECENT: usize = 64;

/// The changes of a list that is spread over several notes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Changes {
    /// How many there were.
    #[serde(rename = "n", default, skip_serializing_if = "is_default")]
    number: u64,
    /// The shards of the last ones.
    #[serde(rename = "c", default, skip_serializing_if = "is_default")]
    recent: Vec<u8>,
}

impl Changes {
    /// Records a change of a shard.
    pub(super) fn add(&mut self, shard: u8) {
        self.number += 1;
        self.recent.push(shard);
        self.recent.drain(..self.recent.len().saturating_sub(RECENT));
    }

    /// The shards that were changed after `seen`; `None` if all have to be loaded.
    pub(super) fn since(&self, seen: &Self) -> Option<BTreeSet<u8>> {
        let missed = usize::try_from(self.number.checked_sub(seen.number)?).ok()?;
        let from = self.recent.len().checked_sub(missed)?;
        Some(self.recent[from..].iter().copied().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runner_loads_what_has_changed_and_all_if_it_has_missed_too_much() {
        let mut now = Changes::default();
        [7, 9, 7].into_iter().for_each(|shard| now.add(shard));
        assert_eq!(now.since(&Changes::default()), Some([7, 9].into()));
        let seen = now.clone();
        assert_eq!(now.since(&seen), Some([].into()));
        now.add(3);
        assert_eq!(now.since(&seen), Some([3].into()));
        (0..RECENT).for_each(|_| now.add(1));
        assert_eq!(now.since(&seen), None, "one is not named any more");
        assert_eq!(Changes::default().since(&now), None, "the store has lost its data");
    }
}
