//! Reading and writing notes without holding the lock.

use crate::backend::Until;
use crate::engine::{Core, load_notes};
use crate::{Client, Error, ErrorKind, Name, Note, Op, Result};
use std::sync::Arc;
use std::time::Duration;

impl Client {
    /// Returns the note of a name, written by a holder with [`Guard::put_note`](crate::Guard::put_note).
    ///
    /// It outlives the lock. To tell whether its writer still holds the lock, ask whether the [`holder`](Client::holder)
    /// [owns](crate::backend::Holder::owns) [`Note::token`]:
    ///
    /// ```
    /// # use cotter::Client;
    /// # fn main() -> cotter::Result<()> {
    /// # let client = Client::connect("memory:").wait()?;
    /// let guard = client.mutex("leader").lock().wait()?;
    /// guard.put_note("10.0.0.7:8080").wait()?;
    ///
    /// let note = client.note("leader").wait()?.expect("written above");
    /// let holder = client.holder("leader").wait()?.expect("held");
    /// assert!(holder.holders[0].owns(note.token));
    /// # Ok(()) }
    /// ```
    ///
    /// Cancel safe: it only reads.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] where the store has no notes, [`ErrorKind::Unavailable`] if it did not answer.
    pub fn note(&self, name: impl AsRef<str>) -> Op<Option<Note>> {
        self.note_at(name, "")
    }

    /// Returns the note of a name under a key; [`note`](Self::note) returns the one under the empty key. A name may
    /// have several notes, independent of each other. A key has at most [`Note::MAX_KEY`] bytes and no control
    /// characters. Keys that begin with `cotter:` belong to cotter: a [`Latch`](crate::Latch) is such a note.
    ///
    /// Cancel safe: it only reads.
    ///
    /// # Errors
    /// As [`note`](Self::note); [`ErrorKind::InvalidInput`] for a bad key.
    pub fn note_at(&self, name: impl AsRef<str>, key: impl AsRef<str>) -> Op<Option<Note>> {
        let (core, at) = (self.core().clone(), NoteKey::new(name, key));
        Op::new(&self.core().engine, async move {
            core.usable()?;
            let (asked, NoteKey { name, key }) = (core.clone(), at?);
            core.on_engine(async move { asked.notes()?.load(&name, &key).await }).await
        })
    }

    /// Returns the notes under these names and keys, in their order: faster than [`note_at`](Self::note_at) for each of them,
    /// because requests to a server are on their way together, up to a thousand at a time.
    ///
    /// Cancel safe: it only reads.
    ///
    /// # Errors
    /// As [`note_at`](Self::note_at); those that were read by then are dropped.
    pub fn notes_at<N, K>(&self, places: impl IntoIterator<Item = (N, K)>) -> Op<Vec<Option<Note>>>
    where
        N: AsRef<str>,
        K: AsRef<str>,
    {
        let place = |(name, key)| NoteKey::new(name, key).map(|NoteKey { name, key }| (name, key));
        let places: Result<Vec<_>> = places.into_iter().map(place).collect();
        let core = self.core().clone();
        Op::new(&self.core().engine, async move {
            core.usable()?;
            let (asked, places) = (core.clone(), places?);
            core.on_engine(async move { load_notes(asked, places).await }).await
        })
    }

    /// Writes a note without holding the lock, by compare-and-set. `seen` is the [revision](Note::revision) that this
    /// write replaces, 0 for none. Returns the new revision, or `None` if the note has changed since and was left alone.
    ///
    /// A holder may write the same note at any time, so use a separate key for values that are written in this way.
    ///
    /// ```
    /// # use cotter::Client;
    /// # fn main() -> cotter::Result<()> {
    /// # let client = Client::connect("memory:").wait()?;
    /// let paused = client.note_at("nightly", "paused").wait()?;
    /// let seen = paused.map_or(0, |note| note.revision);
    /// match client.swap_note("nightly", "paused", seen, "until Monday").wait()? {
    ///     Some(revision) => println!("written as revision {revision}"),
    ///     None => println!("another operator was faster"),
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// Cancel safety: if the call is dropped, the note may or may not have been written.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for a bad key or more than [`Note::MAX_BYTES`], [`ErrorKind::Unsupported`] where the
    /// store has no notes and, on a [quorum](crate::quorum), for a note that a holder has written;
    /// [`ErrorKind::Unavailable`] or [`ErrorKind::NoQuorum`] if it did not answer: read the note to see whether it was
    /// written.
    pub fn swap_note(
        &self,
        name: impl AsRef<str>,
        key: impl AsRef<str>,
        seen: u64,
        bytes: impl Into<Vec<u8>>,
    ) -> Op<Option<u64>> {
        let (core, at, bytes) = (self.core().clone(), NoteKey::new(name, key), bytes.into());
        Op::new(&self.core().engine, async move {
            core.usable()?;
            let (asked, NoteKey { name, key }) = (core.clone(), at?);
            check_size(&name, &bytes)?;
            core.on_engine(async move { asked.swap()?.swap(&name, &key, seen, &bytes).await }).await
        })
    }

    /// Waits for at most `within` until the revision of a note differs from `seen` (0 for none). Returns `None` if the
    /// time runs out, including while there is no note. Several changes in a row may be seen as one.
    ///
    /// Cancel safe: dropping the call ends the wait.
    ///
    /// # Errors
    /// As [`note_at`](Self::note_at).
    pub fn note_changed(
        &self,
        name: impl AsRef<str>,
        key: impl AsRef<str>,
        seen: u64,
        within: Duration,
    ) -> Op<Option<Note>> {
        let (core, at) = (self.core().clone(), NoteKey::new(name, key));
        Op::new(&self.core().engine, async move {
            core.usable()?;
            wait(&core, at?, seen, within).await
        })
    }
}

/// The name and the key of a note.
struct NoteKey {
    name: Name,
    key: String,
}

impl NoteKey {
    fn new(name: impl AsRef<str>, key: impl AsRef<str>) -> Result<Self> {
        let name = Name::new(name)?;
        check_key(&name, key.as_ref())?;
        Ok(Self { name, key: key.as_ref().to_owned() })
    }
}

/// Refuses a key that a store could not keep, before any I/O.
pub(crate) fn check_key(name: &Name, key: &str) -> Result<()> {
    let why = if key.len() > Note::MAX_KEY {
        format!("the key of a note has {} bytes, {} are allowed", key.len(), Note::MAX_KEY)
    } else if let Some((at, c)) = key.char_indices().find(|(_, c)| c.is_control()) {
        format!("the key of a note has the control character {c:?} at byte {at}; leave it out")
    } else {
        return Ok(());
    };
    Err(Error::new(ErrorKind::InvalidInput, why).with_name(name))
}

/// Refuses a note that is too long, before any I/O.
pub(crate) fn check_size(name: &Name, bytes: &[u8]) -> Result<()> {
    if bytes.len() <= Note::MAX_BYTES {
        return Ok(());
    }
    let why = format!("a note of {} bytes is too long, {} are allowed", bytes.len(), Note::MAX_BYTES);
    Err(Error::new(ErrorKind::InvalidInput, why).with_name(name))
}

async fn wait(core: &Arc<Core>, at: NoteKey, seen: u64, within: Duration) -> Result<Option<Note>> {
    let (asked, name, end) = (core.clone(), at.name.clone(), core.now() + within);
    let waiting = async move { asked.notes()?.changed(&at.name, &at.key, seen, Until::Moment(end)).await };
    core.wait_on_engine(waiting, Some(end)).await.map_err(|e| e.with_name(&name))
}
