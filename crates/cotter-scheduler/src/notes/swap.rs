//! Changing a note by compare-and-set.

use cotter::{Client, Note};

/// What to write, and what the change answers. Nothing is written if there is nothing to change.
pub(super) type Change<T> = (Option<Vec<u8>>, T);

/// Changes a note as it is now. `None` if somebody else has written it meanwhile, and the change has to be made again.
pub(super) async fn try_swap<T, E: From<cotter::Error>>(
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
