//! Notes in memory.

use super::acceptor::Register;
use super::backend::Memory;
use crate::backend::poll::{self, NoteChange};
use crate::backend::{Grant, NoteAt, Notes, Until};
use crate::sync::lock;
use crate::{Name, Note, Result};
use async_trait::async_trait;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::sync::Notify;

/// The time after which a waiter that missed its hint checks again.
const PERIOD: Duration = Duration::from_secs(5);

pub(super) type Key = (Name, String);

/// The notes of a store.
#[derive(Debug, Default)]
pub(super) struct NoteTable {
    notes: Mutex<HashMap<Key, Kept>>,
    /// The rest of the state of notes that are swapped in a quorum; locked before the notes.
    pub(super) registers: Mutex<HashMap<Key, Register>>,
    changed: Arc<Notify>,
}

/// A note. A later one must have a larger pair of token and sequence number.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    pub(super) note: Note,
    pub(super) sequence: u64,
}

impl Kept {
    fn is_before(&self, by: (u64, u64)) -> bool {
        by > (self.note.token.get(), self.sequence)
    }
}

impl NoteTable {
    fn load(&self, key: &Key) -> Option<Note> {
        self.lock().get(key).map(|k| k.note.clone())
    }

    /// The note with its sequence number.
    pub(super) fn dated(&self, key: &Key) -> Option<(Note, u64)> {
        self.lock().get(key).map(|k| (k.note.clone(), k.sequence))
    }

    /// Writes a note over one with a smaller pair of token and sequence number.
    pub(super) fn write_newer(&self, key: Key, bytes: &[u8], by: (u64, u64)) -> Option<u64> {
        self.write(key, bytes, by, |old| old.is_none_or(|k| k.is_before(by)))
    }

    /// Writes a note unless `may` refuses because of the present one. Returns the new revision.
    fn write(
        &self,
        key: Key,
        bytes: &[u8],
        by: (u64, u64),
        may: impl FnOnce(Option<&Kept>) -> bool,
    ) -> Option<u64> {
        self.replace(key, |old| {
            let revision = old.map_or(0, |k| k.note.revision) + 1;
            may(old).then(|| Kept { note: Note::new(bytes.to_vec(), by.0, revision), sequence: by.1 })
        })
    }

    /// Replaces a note, if there is another for it. Returns the new revision.
    pub(super) fn replace(&self, key: Key, by: impl FnOnce(Option<&Kept>) -> Option<Kept>) -> Option<u64> {
        let mut notes = self.lock();
        let new = by(notes.get(&key))?;
        let revision = new.note.revision;
        notes.insert(key, new);
        drop(notes);
        self.changed.notify_waiters();
        Some(revision)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Kept>> {
        lock(&self.notes)
    }
}

#[async_trait]
impl Notes for Memory {
    async fn load(&self, name: &Name, key: &str) -> Result<Option<Note>> {
        Ok(self.shared.notes.load(&(name.clone(), key.into())))
    }

    async fn store(&self, grant: &Grant, at: NoteAt<'_>, bytes: &[u8]) -> Result<Option<u64>> {
        let claim = &grant.claim;
        if !self.shared.with(&claim.name, |lock, _| lock.is_good(claim.id)) {
            return Ok(None);
        }
        let by = (at.token, at.sequence);
        let may = |old: Option<&Kept>| {
            at.may_replace(old.map(|k| (k.note.token.get(), k.note.revision)))
                && old.is_none_or(|k| k.is_before(by))
        };
        Ok(self.shared.notes.write((claim.name.clone(), at.key.into()), bytes, by, may))
    }

    async fn swap(&self, name: &Name, key: &str, seen: u64, bytes: &[u8]) -> Result<Option<u64>> {
        let same = |old: Option<&Kept>| old.map_or(0, |k| k.note.revision) == seen;
        Ok(self.shared.notes.write((name.clone(), key.into()), bytes, (0, 0), same))
    }

    async fn changed(&self, name: &Name, key: &str, seen: u64, until: Until) -> Result<Option<Note>> {
        let (notes, key) = (&self.shared.notes, (name.clone(), key.to_owned()));
        let load = || std::future::ready(Ok(notes.load(&key)));
        let mut change = NoteChange::new(seen, PERIOD, load).with_hint(notes.changed.clone());
        poll::until(&*self.shared.time().clock, self.on_store_clock(until), &mut change).await
    }
}
