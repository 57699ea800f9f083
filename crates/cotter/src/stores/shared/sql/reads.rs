//! Whether what was written is read back at once: a diagnosis for `doctor`.

use crate::backend::{Finding, Note, RESERVED};
use crate::{ErrorKind, Result, random};

/// The note that doctor writes.
pub(crate) const NAME: &str = RESERVED;
pub(crate) const KEY: &str = "reads";
/// The number of new connections over which it is read: something in between may draw a server for each.
const CONNECTIONS: usize = 10;
/// Another doctor may write it at the same time.
const TRIES: usize = 5;

const SUBJECT: &str = "reads";

/// Diagnoses reads. `read` opens a new connection each time; `write` replaces the note whose revision was seen.
pub(crate) async fn check<R, Reads, W, Writes>(mut read: R, mut write: W) -> Finding
where
    R: FnMut() -> Reads + Send,
    Reads: Future<Output = Result<Option<Note>>> + Send,
    W: FnMut(u64, Vec<u8>) -> Writes + Send,
    Writes: Future<Output = Result<Option<u64>>> + Send,
{
    match old_reads(&mut read, &mut write).await {
        Ok(0) => Finding::ok(SUBJECT, "what was written is read over new connections at once"),
        Ok(old) => {
            let message = format!(
                "of {CONNECTIONS} new connections, {old} have read what was there before the last write: something in between has \
                 replicas answer reads; it has to send everything to the primary, or do so for statements that lock rows or call \
                 volatile functions"
            );
            Finding::breaks(SUBJECT, message)
        }
        Err(e) if e.kind() == ErrorKind::Denied => Finding::limits(SUBJECT, format!("not checked: {e}")),
        Err(e) => {
            let message = format!("a note could not be written and read over new connections: {e}");
            Finding::breaks(SUBJECT, message)
        }
    }
}

/// How many connections have read an older note than was written.
async fn old_reads<R, Reads, W, Writes>(read: &mut R, write: &mut W) -> Result<usize>
where
    R: FnMut() -> Reads + Send,
    Reads: Future<Output = Result<Option<Note>>> + Send,
    W: FnMut(u64, Vec<u8>) -> Writes + Send,
    Writes: Future<Output = Result<Option<u64>>> + Send,
{
    for _ in 0..TRIES {
        let seen = read().await?.map_or(0, |note| note.revision);
        let bytes = format!("{:032x}", random::bits()).into_bytes();
        let Some(revision) = write(seen, bytes).await? else { continue };
        let mut old = 0;
        for _ in 0..CONNECTIONS {
            old += usize::from(read().await?.is_none_or(|note| note.revision < revision));
        }
        return Ok(old);
    }
    // Whoever reads old revisions only replaces nothing.
    Ok(CONNECTIONS)
}
