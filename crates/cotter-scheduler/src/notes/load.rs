//! Loading many notes at once.

use cotter::{Client, Note, Result};
use tokio::task::JoinSet;

/// The maximum number of requests on their way.
const MAX_REQUESTS: usize = 1000;

/// Loads notes by name and key, in their order. The requests are sent without waiting for each other's answers.
pub(crate) async fn load_all(
    client: &Client,
    places: impl IntoIterator<Item = (String, String)>,
) -> Result<Vec<Option<Note>>> {
    let mut rest = places.into_iter().enumerate();
    let (mut requests, mut notes) = (JoinSet::new(), Vec::new());
    loop {
        while requests.len() < MAX_REQUESTS {
            let Some((number, (name, key))) = rest.next() else { break };
            let client = client.clone();
            requests.spawn(async move { (number, client.note_at(name, key).await) });
        }
        let Some(answer) = requests.join_next().await else { return Ok(notes) };
        let (number, note) = answer.expect("it does not panic");
        if notes.len() <= number {
            notes.resize(number + 1, None);
        }
        notes[number] = note?;
    }
}
