//! A store whose notes are read from a copy that can stand still, as on a replica that is behind.

use crate::altered::{Alteration, Altered};
use async_trait::async_trait;
use cotter::backend::{Backend, Connect, Grant, Host, NoteAt, Notes, Until};
use cotter::{Name, Note, Result};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The copy. Cloning gives another handle.
#[derive(Debug, Clone, Default)]
pub struct Replica(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    stands: bool,
    /// The notes as they were read last.
    notes: HashMap<(Name, String), Option<Note>>,
}

impl Replica {
    /// Has the copy stand still, or catch up.
    pub fn stand_still(&self, yes: bool) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).stands = yes;
    }

    /// The note of a copy that stands still.
    fn old(&self, at: &(Name, String)) -> Option<Option<Note>> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.notes.get(at).filter(|_| state.stands).cloned()
    }

    fn keep(&self, at: (Name, String), note: Option<Note>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).notes.insert(at, note);
    }
}

/// Connects to another store, and reads notes from the copy.
#[derive(Debug, Clone)]
pub struct Late {
    inner: Arc<dyn Connect>,
    replica: Replica,
}

impl Late {
    /// This store, whose notes are read from the copy.
    pub fn new(inner: impl Connect, replica: &Replica) -> Self {
        Self { inner: Arc::new(inner), replica: replica.clone() }
    }
}

#[async_trait]
impl Connect for Late {
    async fn connect(&self, host: &Host) -> Result<Arc<dyn Backend>> {
        let inner = self.inner.connect(host).await?;
        let notes = LateNotes { inner: inner.clone(), replica: self.replica.clone() };
        Ok(Arc::new(Altered::new(inner, notes)))
    }
}

#[derive(Debug)]
struct LateNotes {
    inner: Arc<dyn Backend>,
    replica: Replica,
}

impl LateNotes {
    fn notes_inside(&self) -> &dyn Notes {
        self.inner.notes().expect("it has notes")
    }
}

#[async_trait]
impl Notes for LateNotes {
    async fn load(&self, name: &Name, key: &str) -> Result<Option<Note>> {
        let at = (name.clone(), key.to_owned());
        if let Some(old) = self.replica.old(&at) {
            return Ok(old);
        }
        let note = self.notes_inside().load(name, key).await?;
        self.replica.keep(at, note.clone());
        Ok(note)
    }

    async fn store(&self, grant: &Grant, at: NoteAt<'_>, bytes: &[u8]) -> Result<Option<u64>> {
        self.notes_inside().store(grant, at, bytes).await
    }

    async fn swap(&self, name: &Name, key: &str, seen: u64, bytes: &[u8]) -> Result<Option<u64>> {
        self.notes_inside().swap(name, key, seen, bytes).await
    }

    async fn changed(&self, name: &Name, key: &str, seen: u64, until: Until) -> Result<Option<Note>> {
        self.notes_inside().changed(name, key, seen, until).await
    }
}

impl Alteration for LateNotes {
    fn notes<'a>(&'a self, _: &'a dyn Backend) -> Option<&'a dyn Notes> {
        Some(self)
    }
}
