//! Values beside names, in memory.

use super::backend::Memory;
use crate::backend::poll::{self, Attempt};
use crate::backend::{Grant, NoteAt, Notes, Until};
use crate::{Name, Note, Result};
use async_trait::async_trait;
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

type Key = (Name, String);

/// All notes of a store.
#[derive(Debug, Default)]
pub(super) struct NoteTable {
    notes: Mutex<HashMap<Key, Kept>>,
    changed: Arc<Notify>,
}

/// A note, and the (token, sequence) that a later one must exceed.
#[derive(Debug, Clone)]
struct Kept {
    note: Note,
    sequence: u64,
}

impl NoteTable {
    fn load(&self, key: &Key) -> Option<Note> {
        self.lock().get(key).map(|k| k.note.clone())
    }

    /// Writes if `may` agrees with what is there; answers the new revision.
    fn write(
        &self,
        key: Key,
        bytes: &[u8],
        by: (u64, u64),
        may: impl FnOnce(Option<&Kept>) -> bool,
    ) -> Option<u64> {
        let mut notes = self.lock();
        let old = notes.get(&key);
        if !may(old) {
            return None;
        }
        let revision = old.map_or(0, |k| k.note.revision) + 1;
        notes.insert(key, Kept { note: Note::new(bytes.to_vec(), by.0, revision), sequence: by.1 });
        drop(notes);
        self.changed.notify_waiters();
        Some(revision)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Key, Kept>> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
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
        let newer = |old: Option<&Kept>| old.is_none_or(|k| by > (k.note.token.get(), k.sequence));
        Ok(self.shared.notes.write((claim.name.clone(), at.key.into()), bytes, by, newer))
    }

    async fn swap(&self, name: &Name, key: &str, seen: u64, bytes: &[u8]) -> Result<Option<u64>> {
        let same = |old: Option<&Kept>| old.map_or(0, |k| k.note.revision) == seen;
        Ok(self.shared.notes.write((name.clone(), key.into()), bytes, (0, 0), same))
    }

    async fn changed(&self, name: &Name, key: &str, seen: u64, until: Until) -> Result<Option<Note>> {
        let key = (name.clone(), key.to_owned());
        let mut change = Change { table: self.shared.notes.clone(), key, seen };
        poll::until(&*self.shared.time().clock, until, &mut change).await
    }
}

/// Waits until a note is another one than was seen.
struct Change {
    table: Arc<NoteTable>,
    key: Key,
    seen: u64,
}

impl Attempt for Change {
    type Done = Note;

    async fn attempt(&mut self) -> Result<Option<Note>> {
        Ok(self.table.load(&self.key).filter(|n| n.revision != self.seen))
    }

    fn hint(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(self.table.changed.clone().notified_owned())
    }

    /// A hint may be missed; the look is the truth.
    fn period(&self) -> Duration {
        Duration::from_secs(5)
    }
}
