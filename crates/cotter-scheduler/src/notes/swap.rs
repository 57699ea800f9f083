//! Changing a note by compare-and-set.

use crate::{Error, ErrorKind};
use cotter::{Client, Note};

/// What to write, and what the change answers. Nothing is written if there is nothing to change.
pub(super) type Change<T> = (Option<Vec<u8>>, T);

/// How often a change is made again when others write the note at the same time. Where a read is out of date, as through a
/// splitter, it would never succeed.
const MAX_ATTEMPTS: usize = 100;

/// Changes a note as it is now. `None` if somebody else has written it each time.
pub(super) async fn swap<T, E: From<cotter::Error>>(
    client: &Client,
    group: &str,
    key: &str,
    mut change: impl FnMut(Option<&Note>) -> Result<Change<T>, E>,
) -> Result<Option<T>, E> {
    for _ in 0..MAX_ATTEMPTS {
        if let Some(answer) = try_swap(client, group, key, &mut change).await? {
            return Ok(Some(answer));
        }
    }
    Ok(None)
}

/// The same, once. `None` if somebody else has written it meanwhile.
async fn try_swap<T, E: From<cotter::Error>>(
    client: &Client,
    group: &str,
    key: &str,
    change: impl FnOnce(Option<&Note>) -> Result<Change<T>, E>,
) -> Result<Option<T>, E> {
    let note = client.note_at(group, key).await?;
    let (bytes, answer) = change(note.as_ref())?;
    let Some(bytes) = bytes else { return Ok(Some(answer)) };
    let seen = note.map_or(0, |note| note.revision);
    Ok(client.swap_note(group, key, seen, bytes).await?.map(|_| answer))
}

/// The error for a request that could not be written.
pub(super) fn contended(group: &str) -> Error {
    let why = format!(
        "the requests for group {group:?} are being changed by others, or what is read from the store is out of date; try again"
    );
    Error::new(ErrorKind::Store, why).passing()
}
