//! Writing notes as a holder.

use super::{Guard, ask_to_extend};
use crate::api::notes::{check_key, check_size};
use crate::backend::NoteAt;
use crate::engine::{Core, Hold};
use crate::{Error, FencingToken, LossCause, Lost, Op, Result};
use std::sync::Arc;

impl Guard {
    /// Writes the note of this name, which outlives the lock. At most [`Note::MAX_BYTES`](crate::Note::MAX_BYTES).
    ///
    /// Only a current holder can write: the store rejects the write once the lock has passed on. Observers read it with
    /// [`Client::note`](crate::Client::note). Where several hold the name, as readers do, the note with the largest token
    /// stays: a write with a smaller one has no effect after that.
    ///
    /// Cancel safety: as for [`put_note_at`](Self::put_note_at).
    ///
    /// # Errors
    /// [`ErrorKind::Lost`](crate::ErrorKind::Lost) if the lock is no longer held,
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for a note that is too long,
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) where the store has no notes,
    /// [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable) if it did not answer; the note may then have been
    /// written.
    pub fn put_note(&self, bytes: impl Into<Vec<u8>>) -> Op<()> {
        self.put_note_at("", bytes)
    }

    /// Writes a note of this name under a key: a name may have several notes, independent of each other. A key has at
    /// most [`Note::MAX_KEY`](crate::Note::MAX_KEY) bytes and no control characters.
    ///
    /// Cancel safety: if the call is dropped, the note may or may not have been written. Writes of one holder keep the
    /// order in which they were requested, so a late one never replaces a newer one.
    ///
    /// # Errors
    /// As [`put_note`](Self::put_note); [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for a bad key.
    pub fn put_note_at(&self, key: impl AsRef<str>, bytes: impl Into<Vec<u8>>) -> Op<()> {
        let (hold, token) = (self.hold().clone(), self.token);
        let (key, bytes) = (key.as_ref().to_owned(), bytes.into());
        Op::new(&self.engine(), async move { store(&hold, token, key, None, bytes).await.map(drop) })
    }

    /// Writes a note of this name, based on what was read of it: `seen` is the [revision](crate::Note::revision) that the
    /// holder has read, 0 for none. Returns the new revision, or `None` if the note is another one by now and was left
    /// alone. A note that this guard has written is always replaced, so the call can be repeated, and `seen` stays the
    /// same for all writes of one holder.
    ///
    /// A read may be out of date where something in between has replicas answer it. So a holder that decides by a note
    /// whether to do something writes it in this way *before* it does it:
    ///
    /// ```
    /// # use cotter::Client;
    /// # fn main() -> cotter::Result<()> {
    /// # let client = Client::connect("memory:").wait()?;
    /// let guard = client.mutex("invoices").lock().wait()?;
    /// let note = client.note("invoices").wait()?;
    /// let is_sent = note.as_ref().is_some_and(|note| note.bytes == b"sent: May");
    /// let seen = note.map_or(0, |note| note.revision);
    /// if !is_sent && guard.replace_note("", seen, "sent: May").wait()?.is_some() {
    ///     println!("sending them");
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// Cancel safety: as for [`put_note_at`](Self::put_note_at).
    ///
    /// # Errors
    /// As [`put_note_at`](Self::put_note_at).
    pub fn replace_note(
        &self,
        key: impl AsRef<str>,
        seen: u64,
        bytes: impl Into<Vec<u8>>,
    ) -> Op<Option<u64>> {
        let (hold, token) = (self.hold().clone(), self.token);
        let (key, bytes) = (key.as_ref().to_owned(), bytes.into());
        Op::new(&self.engine(), async move { store(&hold, token, key, Some(seen), bytes).await })
    }
}

async fn store(
    hold: &Arc<Hold>,
    token: FencingToken,
    key: String,
    seen: Option<u64>,
    bytes: Vec<u8>,
) -> Result<Option<u64>> {
    let core: &Core = &hold.core;
    core.usable()?;
    check_key(hold.name(), &key)?;
    check_size(hold.name(), &bytes)?;
    hold.check(token)?;
    let released = || Lost::new(hold.name().clone(), token, LossCause::Released);
    let at = hold.next_note().ok_or_else(released)?;
    let asked = hold.clone();
    let store = async move {
        let at = NoteAt { key: &key, token: token.get(), sequence: at, seen };
        asked.core.notes()?.store(&asked.grant, at, &bytes).await
    };
    match core.on_engine(store).await? {
        Some(revision) => Ok(Some(revision)),
        None => {
            // Where the store knows the reason, its answer says it.
            let shortest = core.backend.info().capabilities.min_ttl;
            let asked = ask_to_extend(hold, shortest).await;
            // A later write, of this hold or of one beside it with a larger token, has overtaken this one, which is no loss: the
            // note is the later one either way.
            let is_overtaken = hold.last_note() > at || !hold.grant.claim.mode.is_exclusive();
            if (is_overtaken || seen.is_some()) && hold.lost().is_none() {
                return asked.map(|()| None);
            }
            hold.lose(LossCause::Gone);
            hold.check(token)?;
            Err(Error::not_ours(hold.grant.claim.id).with_name(hold.name()))
        }
    }
}
