//! Keys, their revisions, and what has changed.

use super::messages::{DELETE, Event, KeyValue};
use std::collections::BTreeMap;
use std::ops::Bound;

/// All keys as they are now, and the changes since they were compacted.
#[derive(Debug, Clone)]
pub(super) struct Keys {
    pub(super) revision: i64,
    /// What is older than this is forgotten.
    pub(super) compacted: i64,
    keys: BTreeMap<Vec<u8>, KeyValue>,
    history: Vec<Change>,
}

/// All that a request has changed, under one revision.
#[derive(Debug, Clone)]
pub(super) struct Change {
    pub(super) revision: i64,
    /// With what the keys were before.
    pub(super) events: Vec<Event>,
}

/// Keys that are next to one another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Span {
    start: Vec<u8>,
    /// The first one behind; `None` for all from the start on.
    end: Option<Vec<u8>>,
}

impl Span {
    /// As requests say it: an empty end for one key, a zero for no end.
    pub(super) fn of(key: &[u8], range_end: &[u8]) -> Self {
        let end = match range_end {
            [] => Some([key, &[0]].concat()),
            [0] => None,
            end => Some(end.to_vec()),
        };
        Self { start: key.to_vec(), end }
    }

    pub(super) fn contains(&self, key: &[u8]) -> bool {
        *self.start <= *key && self.end.as_ref().is_none_or(|end| *key < **end)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.end.as_ref().is_some_and(|end| *end <= self.start)
    }
}

impl Keys {
    /// A store is at revision 1 before anything is written.
    pub(super) fn at(revision: i64) -> Self {
        Self { revision, compacted: 0, keys: BTreeMap::new(), history: Vec::new() }
    }

    pub(super) fn within(&self, span: &Span) -> impl Iterator<Item = &KeyValue> {
        let end = span.end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let bounds = (Bound::Included(&*span.start), end);
        let found = (!span.is_empty()).then(|| self.keys.range::<[u8], _>(bounds));
        found.into_iter().flatten().map(|(_, kv)| kv)
    }

    pub(super) fn get(&self, key: &[u8]) -> Option<&KeyValue> {
        self.keys.get(key)
    }

    pub(super) fn on_lease(&self, lease: i64) -> Vec<Vec<u8>> {
        let attached = self.keys.values().filter(|kv| kv.lease == lease);
        attached.map(|kv| kv.key.clone()).collect()
    }

    /// The changes from this revision on.
    pub(super) fn since(&self, revision: i64) -> impl Iterator<Item = &Change> {
        self.history.iter().filter(move |change| change.revision >= revision)
    }

    /// As they were some revisions ago, as far as that is still known.
    pub(super) fn before(&self, revisions: i64) -> Self {
        let revision = (self.revision - revisions).max(self.compacted).min(self.revision);
        let mut keys = self.keys.clone();
        let undone = self.since(revision + 1).flat_map(|change| &change.events);
        for event in undone.collect::<Vec<_>>().into_iter().rev() {
            match (&event.prev_kv, &event.kv) {
                (Some(before), _) => _ = keys.insert(before.key.clone(), before.clone()),
                (None, Some(new)) => _ = keys.remove(&new.key),
                (None, None) => {}
            }
        }
        Self { revision, compacted: self.compacted, keys, history: Vec::new() }
    }

    pub(super) fn begin(&mut self) -> Write<'_> {
        Write { keys: self, events: Vec::new() }
    }

    /// Forgets what is older. Of the revision itself, keys stay that were written, and not what was before.
    pub(super) fn compact(&mut self, revision: i64) {
        self.compacted = revision;
        self.history.retain_mut(|change| {
            if change.revision == revision {
                change.events.retain(|event| event.kind != DELETE);
                change.events.iter_mut().for_each(|event| event.prev_kv = None);
            }
            change.revision >= revision && !change.events.is_empty()
        });
    }
}

/// Changes that get one revision.
pub(super) struct Write<'a> {
    keys: &'a mut Keys,
    events: Vec<Event>,
}

impl Write<'_> {
    pub(super) fn keys(&self) -> &Keys {
        self.keys
    }

    /// The revision with the changes so far.
    pub(super) fn revision(&self) -> i64 {
        self.keys.revision + i64::from(!self.events.is_empty())
    }

    pub(super) fn put(&mut self, key: &[u8], value: Vec<u8>, lease: i64) -> i64 {
        let revision = self.keys.revision + 1;
        let before = self.keys.get(key).cloned();
        let kv = KeyValue {
            key: key.to_vec(),
            create_revision: before.as_ref().map_or(revision, |kv| kv.create_revision),
            mod_revision: revision,
            version: before.as_ref().map_or(0, |kv| kv.version) + 1,
            value,
            lease,
        };
        self.keys.keys.insert(key.to_vec(), kv.clone());
        self.events.push(Event { kind: 0, kv: Some(kv), prev_kv: before });
        revision
    }

    /// Returns those that were there.
    pub(super) fn delete(&mut self, span: &Span) -> Vec<KeyValue> {
        let gone: Vec<_> = self.keys.within(span).cloned().collect();
        let mod_revision = self.keys.revision + 1;
        for before in &gone {
            self.keys.keys.remove(&before.key);
            let kv = KeyValue { key: before.key.clone(), mod_revision, ..KeyValue::default() };
            self.events.push(Event { kind: DELETE, kv: Some(kv), prev_kv: Some(before.clone()) });
        }
        gone
    }

    /// What has changed, if anything has.
    pub(super) fn end(self) -> Option<Change> {
        if self.events.is_empty() {
            return None;
        }
        self.keys.revision += 1;
        let change = Change { revision: self.keys.revision, events: self.events };
        self.keys.history.push(change.clone());
        Some(change)
    }
}
