//! Notes that are only shown: what runners say of themselves. What cannot be written is said again later.

use super::swap::swap;
use cotter::{Client, Note, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Changes such a note. What does not fit is not shown.
pub(super) async fn edit<T>(client: &Client, group: &str, key: &str, change: impl Fn(&mut T)) -> Result<()>
where
    T: Clone + Default + PartialEq + Serialize + DeserializeOwned,
{
    let changed = |note: Option<&Note>| -> Result<_> {
        let before = note.map(parse::<T>).unwrap_or_default();
        let mut after = before.clone();
        change(&mut after);
        let bytes = serde_json::to_vec(&after).expect("what is shown can be written");
        let is_written = after != before && bytes.len() <= Note::MAX_BYTES;
        Ok((is_written.then_some(bytes), ()))
    };
    swap(client, group, key, changed).await.map(drop)
}

/// A note that cannot be read says nothing: it is written anew.
pub(super) fn parse<T: Default + DeserializeOwned>(note: &Note) -> T {
    serde_json::from_slice(&note.bytes).unwrap_or_default()
}
