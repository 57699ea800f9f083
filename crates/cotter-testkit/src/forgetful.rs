//! A store that loses the notes beside a name, or refuses to write one of them.

use crate::altered::{Alteration, Altered};
use async_trait::async_trait;
use cotter::backend::{Backend, Connect, Grant, Host, NoteAt, Notes, Until};
use cotter::{Error, ErrorKind, Name, Note, Result};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What has happened to the notes.
#[derive(Debug, Clone, Default)]
pub struct Losses {
    /// How often they were lost.
    count: Arc<AtomicUsize>,
    /// The key of a note that cannot be written.
    refused: Arc<Mutex<Option<&'static str>>>,
}

impl Losses {
    /// Loses all notes.
    pub fn lose_all(&self) {
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    /// Refuses to write the note under this key.
    pub fn refuse(&self, key: Option<&'static str>) {
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = key;
    }

    fn refuses(&self, key: &str) -> bool {
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) == Some(key)
    }
}

/// Connects to another store, and loses notes of this name.
#[derive(Debug, Clone)]
pub struct Forgetful {
    inner: Arc<dyn Connect>,
    name: &'static str,
    losses: Losses,
}

impl Forgetful {
    /// This store without the notes of this name that are lost.
    pub fn new(inner: impl Connect, name: &'static str, losses: &Losses) -> Self {
        Self { inner: Arc::new(inner), name, losses: losses.clone() }
    }
}

#[async_trait]
impl Connect for Forgetful {
    async fn connect(&self, host: &Host) -> Result<Arc<dyn Backend>> {
        let inner = self.inner.connect(host).await?;
        let notes = ForgetfulNotes { inner: inner.clone(), name: self.name, losses: self.losses.clone() };
        Ok(Arc::new(Altered::new(inner, notes)))
    }
}

#[derive(Debug)]
struct ForgetfulNotes {
    inner: Arc<dyn Backend>,
    name: &'static str,
    losses: Losses,
}

impl ForgetfulNotes {
    fn notes_inside(&self) -> &dyn Notes {
        self.inner.notes().expect("it has notes")
    }

    /// Where a note is now. After a loss there is another place, which is empty.
    fn place(&self, name: &Name, key: &str) -> String {
        match self.losses.count.load(Ordering::Relaxed) {
            lost if lost > 0 && name.as_str() == self.name => format!("{key} after {lost}"),
            _ => key.to_owned(),
        }
    }
}

#[async_trait]
impl Notes for ForgetfulNotes {
    async fn load(&self, name: &Name, key: &str) -> Result<Option<Note>> {
        self.notes_inside().load(name, &self.place(name, key)).await
    }

    async fn store(&self, grant: &Grant, at: NoteAt<'_>, bytes: &[u8]) -> Result<Option<u64>> {
        self.notes_inside().store(grant, at, bytes).await
    }

    async fn swap(&self, name: &Name, key: &str, seen: u64, bytes: &[u8]) -> Result<Option<u64>> {
        if self.losses.refuses(key) {
            return Err(Error::new(ErrorKind::Unavailable, "this note cannot be written"));
        }
        self.notes_inside().swap(name, &self.place(name, key), seen, bytes).await
    }

    async fn changed(&self, name: &Name, key: &str, seen: u64, until: Until) -> Result<Option<Note>> {
        self.notes_inside().changed(name, &self.place(name, key), seen, until).await
    }
}

impl Alteration for ForgetfulNotes {
    fn notes<'a>(&'a self, _: &'a dyn Backend) -> Option<&'a dyn Notes> {
        Some(self)
    }
}
