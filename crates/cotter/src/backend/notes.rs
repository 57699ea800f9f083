//! Small values beside a name that outlive the lock.

use super::{Grant, Until};
use crate::{FencingToken, Name, Result};
use async_trait::async_trait;

/// Values that outlive the lock and are written only by a current holder.
#[async_trait]
pub trait Notes: Send + Sync {
    /// The note under this key.
    ///
    /// # Errors
    /// The store did not answer.
    async fn load(&self, name: &Name, key: &str) -> Result<Option<Note>>;

    /// Writes under (token, sequence), only for a current holder that is not evicted, and only over a smaller pair.
    /// `Ok(None)` = stale.
    ///
    /// # Errors
    /// The store did not answer.
    async fn store(&self, grant: &Grant, at: NoteAt<'_>, bytes: &[u8]) -> Result<Option<u64>>;

    /// Compare and set by revision, guarded by nothing else (`seen` 0 = there is none). `Ok(None)` = changed since.
    ///
    /// # Errors
    /// The store did not answer.
    async fn swap(&self, name: &Name, key: &str, seen: u64, bytes: &[u8]) -> Result<Option<u64>>;

    /// Waits until the revision is not `seen` any more.
    ///
    /// # Errors
    /// The store did not answer.
    async fn changed(&self, name: &Name, key: &str, seen: u64, until: Until) -> Result<Option<Note>>;
}

/// Where a holder writes a note: the key, its token, and the number of the write under that token.
#[non_exhaustive]
#[derive(Debug, Clone, Copy)]
pub struct NoteAt<'a> {
    /// The key beside the name.
    pub key: &'a str,
    /// The fencing token of the writer.
    pub token: u64,
    /// Rises with every write under one token.
    pub sequence: u64,
}

impl<'a> NoteAt<'a> {
    /// The place of a write: the `sequence`th under this token.
    pub fn new(key: &'a str, token: u64, sequence: u64) -> Self {
        Self { key, token, sequence }
    }
}

/// A small value beside a name that outlives the lock.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// What was written.
    pub bytes: Vec<u8>,
    /// The token of the holder that wrote it; 0 when it was swapped in by nobody's guard.
    pub token: FencingToken,
    /// Changes with every write.
    pub revision: u64,
}

impl Note {
    /// The most that a note may hold, in bytes.
    pub const MAX_BYTES: usize = 64 * 1024;
    /// The longest key of a note, in bytes.
    pub const MAX_KEY: usize = 128;

    /// A note as a backend read it.
    pub fn new(bytes: Vec<u8>, token: u64, revision: u64) -> Self {
        Self { bytes, token: token.into(), revision }
    }
}
