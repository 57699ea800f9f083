//! A database for a test.

use cotter::{Client, ManualClock, sqlite};
use std::path::PathBuf;
use tempfile::TempDir;

/// A database with its tables.
pub(super) struct Place {
    dir: TempDir,
}

impl Place {
    pub(super) fn new() -> Self {
        let place = Self { dir: tempfile::tempdir().unwrap() };
        place.migrate();
        place
    }

    pub(super) fn migrate(&self) {
        Client::builder().migrate_store(self.store()).wait().unwrap();
    }

    pub(super) fn path(&self) -> PathBuf {
        self.dir.path().join("locks.db")
    }

    pub(super) fn store(&self) -> sqlite::Store {
        sqlite::Store::at(self.path())
    }

    pub(super) fn client(&self) -> Client {
        Client::builder().connect_to(self.store()).wait().unwrap()
    }

    pub(super) fn client_on(&self, clock: &ManualClock) -> Client {
        Client::builder().clock(clock.clone()).connect_to(self.store()).wait().unwrap()
    }

    /// As somebody else opens it.
    pub(super) fn database(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.path()).unwrap()
    }

    /// Runs a statement behind the back of the clients, and returns how many rows it changed.
    pub(super) fn run(&self, sql: &str) -> usize {
        self.database().execute(sql, []).unwrap()
    }
}
