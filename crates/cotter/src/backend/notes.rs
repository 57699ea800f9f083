//! Small values beside a name that outlive the lock.

use super::{Grant, Until};
use crate::{FencingToken, Name, Result};
use async_trait::async_trait;

/// Values that outlive the lock and, except for [`swap`](Self::swap), are written only by a current holder.
#[async_trait]
pub trait Notes: Send + Sync {
    /// Loads the note under this key.
    ///
    /// # Errors
    /// The store did not answer.
    async fn load(&self, name: &Name, key: &str) -> Result<Option<Note>>;

    /// Writes a note at (token, sequence). Succeeds only for a current holder that is not evicted, and only over a
    /// smaller pair; with [`seen`](NoteAt::seen), only over the note that was read. Returns the new revision, or
    /// `Ok(None)` if the write is stale.
    ///
    /// # Errors
    /// The store did not answer.
    async fn store(&self, grant: &Grant, at: NoteAt<'_>, bytes: &[u8]) -> Result<Option<u64>>;

    /// Writes by compare-and-set on the revision, with no other check; a `seen` of 0 means that no note exists.
    /// Returns the new revision, or `Ok(None)` if the note has changed.
    ///
    /// # Errors
    /// The store did not answer.
    async fn swap(&self, name: &Name, key: &str, seen: u64, bytes: &[u8]) -> Result<Option<u64>>;

    /// Waits until the revision differs from `seen`.
    ///
    /// # Errors
    /// The store did not answer.
    async fn changed(&self, name: &Name, key: &str, seen: u64, until: Until) -> Result<Option<Note>>;
}

/// The position of a write: the key, the writer's token, and the number of the write under that token.
#[non_exhaustive]
#[derive(Debug, Clone, Copy)]
pub struct NoteAt<'a> {
    /// The key beside the name.
    pub key: &'a str,
    /// The fencing token of the writer.
    pub token: u64,
    /// The number of the write; increases with every write under one token.
    pub sequence: u64,
    /// The revision on which the write is based, 0 if there was no note; `None` if it is based on none. The write
    /// replaces only the note with this revision, or one that was written with the same token: whoever has read an old
    /// copy, from a replica for example, writes nothing, and a write whose reply was lost can be repeated.
    pub seen: Option<u64>,
}

impl<'a> NoteAt<'a> {
    /// Creates the position of the `sequence`th write under this token.
    pub const fn new(key: &'a str, token: u64, sequence: u64) -> Self {
        Self { key, token, sequence, seen: None }
    }

    /// Replaces only the note with this revision, 0 for none, or one that was written with the same token.
    #[must_use]
    pub const fn over(mut self, seen: u64) -> Self {
        self.seen = Some(seen);
        self
    }

    /// Whether a note with this token and revision, or none, may be replaced, as far as [`seen`](Self::seen) goes.
    pub fn may_replace(&self, note: Option<(u64, u64)>) -> bool {
        let Some(seen) = self.seen else { return true };
        note.map_or(seen == 0, |(token, revision)| revision == seen || token == self.token)
    }
}

/// A small value beside a name that outlives the lock.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The value.
    pub bytes: Vec<u8>,
    /// The token of the holder that wrote it; 0 if it was swapped in without a guard.
    pub token: FencingToken,
    /// Changes with every write.
    pub revision: u64,
}

impl Note {
    /// The maximum size of a note, in bytes.
    pub const MAX_BYTES: usize = 64 * 1024;
    /// The maximum length of a key, in bytes.
    pub const MAX_KEY: usize = 128;

    /// Creates a note as read from the store.
    pub fn new(bytes: Vec<u8>, token: u64, revision: u64) -> Self {
        Self { bytes, token: token.into(), revision }
    }
}
