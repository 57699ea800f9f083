//! A private place with the directory of a store in it.

use cotter::{Client, Op, file};
use std::path::PathBuf;
use tempfile::TempDir;

pub(crate) struct Place(pub(crate) TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn directory(&self) -> PathBuf {
        self.0.path().join("locks")
    }

    /// The file of the lock `a`.
    pub(crate) fn lock(&self) -> PathBuf {
        self.directory().join("a.lock")
    }

    /// How many wait for the lock `a`.
    pub(crate) fn waiters(&self) -> usize {
        let tickets = std::fs::read_dir(self.directory().join("a.queue")).into_iter().flatten().flatten();
        // One that is not finished does not count yet.
        tickets.filter(|ticket| !ticket.file_name().to_string_lossy().starts_with('.')).count()
    }

    /// To be awaited, or waited for in a thread.
    pub(crate) fn client(&self) -> Op<Client> {
        Client::builder().connect_to(file::Store::at(self.directory()))
    }
}
