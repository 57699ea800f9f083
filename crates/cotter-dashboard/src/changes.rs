//! What has changed from one listing to the next. What begins and ends between two of them is not seen.

use cotter::{Holder, Name, Record};
use cotter_console::lock::token;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::SystemTime;

/// So many changes are remembered.
const KEPT: usize = 2_000;

/// The last changes, the newest first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Changes(VecDeque<Arc<Change>>);

/// A holder that has come or gone.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// When the listing was made that shows it.
    pub(crate) seen: SystemTime,
    pub(crate) name: Name,
    pub(crate) label: String,
    /// `None` if the store has no tokens.
    pub(crate) token: Option<String>,
    pub(crate) has_come: bool,
}

impl Changes {
    pub(crate) fn note(
        &mut self,
        old: &BTreeMap<Name, Record>,
        new: &BTreeMap<Name, Record>,
        seen: SystemTime,
    ) {
        for (name, record) in old {
            let gone = record.holders.iter().filter(|holder| !has(new.get(name), holder));
            gone.for_each(|holder| self.add(name, holder, seen, false));
        }
        for (name, record) in new {
            let come = record.holders.iter().filter(|holder| !has(old.get(name), holder));
            come.for_each(|holder| self.add(name, holder, seen, true));
        }
        self.0.truncate(KEPT);
    }

    fn add(&mut self, name: &Name, holder: &Holder, seen: SystemTime, has_come: bool) {
        let (name, label, token) = (name.clone(), holder.label.clone(), token(holder));
        self.0.push_front(Arc::new(Change { seen, name, label, token, has_come }));
    }

    pub(crate) fn of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Change> {
        self.0.iter().map(|change| &**change).filter(move |change| change.name.as_str() == name)
    }
}

/// Whether a holder is still there: of the same name, by its token, or by all that is known of it where there are none.
fn has(record: Option<&Record>, holder: &Holder) -> bool {
    let same = |other: &Holder| {
        (other.token, &other.label, other.since) == (holder.token, &holder.label, holder.since)
    };
    // Of many holders, only some are listed: one that is not may be there all the same.
    record.is_some_and(|record| record.unlisted > 0 || record.holders.iter().any(same))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cotter::Mode;

    fn held(tokens: &[u64]) -> BTreeMap<Name, Record> {
        let name = Name::new("a").unwrap();
        let mut record = Record::free(name.clone());
        record.holders = tokens.iter().map(|token| Holder::new("me", Mode::Exclusive, *token)).collect();
        [(name, record)].into()
    }

    #[test]
    fn a_hand_over_is_an_end_and_a_beginning() {
        let mut changes = Changes::default();
        changes.note(&held(&[1]), &held(&[2]), SystemTime::UNIX_EPOCH);
        changes.note(&held(&[2]), &held(&[2]), SystemTime::UNIX_EPOCH);
        let seen: Vec<_> = changes.of("a").map(|c| (c.token.as_deref(), c.has_come)).collect();
        assert_eq!(seen, [(Some("2"), true), (Some("1"), false)]);
        assert_eq!(changes.of("b").count(), 0);
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let mut changes = Changes::default();
        let all: Vec<u64> = (1..=KEPT as u64 + 5).collect();
        changes.note(&BTreeMap::new(), &held(&all), SystemTime::UNIX_EPOCH);
        assert_eq!(changes.of("a").count(), KEPT);
    }

    #[test]
    fn who_is_not_listed_is_not_said_to_be_gone() {
        let (old, mut new) = (held(&[1, 2]), held(&[2]));
        new.values_mut().for_each(|record| record.unlisted = 1);
        let mut changes = Changes::default();
        changes.note(&old, &new, SystemTime::UNIX_EPOCH);
        assert_eq!(changes.of("a").count(), 0, "violation[a-limit-taken-for-an-end]");
    }
}
