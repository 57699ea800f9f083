//! Reading many notes at once.

use super::core::Core;
use super::route::crashed;
use crate::{Name, Note, Result};
use std::sync::Arc;
use tokio::task::JoinSet;

/// The number of notes that are asked for at a time.
const MAX_LOADS: usize = 1000;

/// The name and the key of a note.
type Place = (Name, String);

/// Returns the notes in the order of their places. To be called on the engine: the way there and back for each note takes longer
/// than most requests.
pub(crate) async fn load_notes(core: Arc<Core>, places: Vec<Place>) -> Result<Vec<Option<Note>>> {
    let mut notes = vec![None; places.len()];
    let mut rest = places.into_iter().enumerate();
    // What answers at once does so in the task of the caller, which may be one of any runtime.
    if core.is_immediate() {
        for (at, place) in rest {
            notes[at] = load(&core, place).await?;
        }
        return Ok(notes);
    }
    let mut requests = JoinSet::new();
    loop {
        while requests.len() < MAX_LOADS {
            let Some((at, place)) = rest.next() else { break };
            let core = core.clone();
            requests.spawn(async move { (at, load(&core, place).await) });
        }
        let Some(answer) = requests.join_next().await else { return Ok(notes) };
        let (at, note) = answer.map_err(|e| crashed(&e))?;
        notes[at] = note?;
    }
}

async fn load(core: &Core, (name, key): Place) -> Result<Option<Note>> {
    core.notes()?.load(&name, &key).await
}
