//! Locks in a directory on this host: not available on this system, where connecting fails with
//! [`Unsupported`](crate::ErrorKind::Unsupported).

use crate::backend::{Backend, Connect, Host};
use crate::{Error, ErrorKind, Result};
use async_trait::async_trait;
use std::path::PathBuf;
use std::sync::Arc;

/// Locks in one directory: not available on this system.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Store {}

impl Store {
    /// Uses the default directory.
    pub fn home() -> Self {
        Self::default()
    }

    /// Uses this directory.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        let _ = directory.into();
        Self::default()
    }

    /// Shares the directory with all users of a group.
    #[must_use]
    pub fn shared(self, group: impl Into<String>) -> Self {
        let _ = group.into();
        self
    }

    pub(crate) fn from_url(_: &str) -> Result<Self> {
        Err(unsupported("file"))
    }
}

/// The lock that flock(1) takes on one path: not available on this system.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Flock {}

impl Flock {
    /// Uses the lock on this path.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        let _ = path.into();
        Self {}
    }

    /// Keeps the token counter in this directory.
    #[must_use]
    pub fn tokens_in(self, directory: impl Into<PathBuf>) -> Self {
        let _ = directory.into();
        self
    }

    pub(crate) fn from_url(_: &str) -> Result<Self> {
        Err(unsupported("flock"))
    }
}

fn unsupported(scheme: &'static str) -> Error {
    let why =
        "locks in files need flock(2), which this system does not have; use a server such as redis://HOST";
    Error::new(ErrorKind::Unsupported, why).with_backend(scheme)
}

#[async_trait]
impl Connect for Store {
    async fn connect(&self, _: &Host) -> Result<Arc<dyn Backend>> {
        Err(unsupported("file"))
    }
}

#[async_trait]
impl Connect for Flock {
    async fn connect(&self, _: &Host) -> Result<Arc<dyn Backend>> {
        Err(unsupported("flock"))
    }
}
