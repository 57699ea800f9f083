//! Loading requests.

use super::super::{one_shots, shard};
use super::{Control, GROUP, GroupControl, LIST, parse_shard};
use crate::Result;
use cotter::{Client, Note};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The notes with requests, as loaded. They are parsed later, because an outage of the store is another error.
pub(crate) struct Loaded {
    group: Option<Note>,
    shards: Vec<(u8, Option<Note>)>,
    one_shots: Vec<(u8, Option<Note>)>,
}

/// Loads all requests.
pub(crate) async fn load(client: &Client, group: &str) -> cotter::Result<Loaded> {
    let (first, shards, one_shots) = load_keys(client, group, vec![GROUP.to_owned()], None, None).await?;
    let [group] = first.try_into().expect("as many as keys");
    Ok(Loaded { group, shards, one_shots })
}

/// Loads the requests that have changed, given the note of the group.
pub(crate) async fn load_changed(
    client: &Client,
    group: &str,
    note: Note,
    known: &Control,
) -> cotter::Result<Loaded> {
    // An error is reported when it is parsed again.
    let (jobs, one_shots) = match GroupControl::parse(Some(&note)) {
        Ok(now) if now.is_another(&known.group) => (None, None),
        Ok(now) => named(now.jobs.since(&known.group.jobs), now.one_shots.since(&known.group.one_shots)),
        Err(_) => (Some(BTreeSet::new()), Some(BTreeSet::new())),
    };
    let (_, shards, one_shots) = load_keys(client, group, Vec::new(), jobs, one_shots).await?;
    Ok(Loaded { group: Some(note), shards, one_shots })
}

type Names = Option<BTreeSet<u8>>;

/// The shards to load. If none is named, all are: either the whole group was paused or resumed, or the store has lost its data,
/// and there were as many requests since as before.
fn named(jobs: Names, one_shots: Names) -> (Names, Names) {
    match (jobs, one_shots) {
        (Some(jobs), Some(one_shots)) if jobs.is_empty() && one_shots.is_empty() => (None, None),
        some => some,
    }
}

type Shards = Vec<(u8, Option<Note>)>;

/// Loads notes of the group: these, and those of some shards, or of all.
async fn load_keys(
    client: &Client,
    group: &str,
    mut keys: Vec<String>,
    jobs: Option<BTreeSet<u8>>,
    one_shots: Option<BTreeSet<u8>>,
) -> cotter::Result<(Vec<Option<Note>>, Shards, Shards)> {
    let jobs = jobs.unwrap_or_else(|| shard::all().collect());
    let one_shots = one_shots.unwrap_or_else(|| one_shots::shards().collect());
    let first = keys.len();
    keys.extend(jobs.iter().map(|shard| shard::key(LIST, *shard)));
    keys.extend(one_shots.iter().map(|shard| one_shots::shard_key(*shard)));
    let places = keys.into_iter().map(|key| (group.to_owned(), key)).collect::<Vec<_>>();
    let mut notes = client.notes_at(places).await?;
    let mut rest = notes.split_off(first);
    let later = rest.split_off(jobs.len());
    Ok((notes, jobs.into_iter().zip(rest).collect(), one_shots.into_iter().zip(later).collect()))
}

impl Loaded {
    /// The revision of the note of the group.
    pub(crate) fn revision(&self) -> u64 {
        self.group.as_ref().map_or(0, |note| note.revision)
    }

    /// Adds what was loaded to what is known.
    pub(crate) fn parse(self, known: &Control) -> Result<Control> {
        let mut jobs = known.jobs.clone();
        for (shard, note) in &self.shards {
            jobs.insert(*shard, Arc::new(parse_shard(note.as_ref())?));
        }
        let mut one_shots = known.one_shots.clone();
        for (shard, note) in &self.one_shots {
            one_shots.insert(*shard, Arc::new(one_shots::parse(note.as_ref())?));
        }
        Ok(Control { group: GroupControl::parse(self.group.as_ref())?, jobs, one_shots })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{JobControl, Pause, edit_job};
    use super::*;

    /// As many changes as before the loss, and one more, look as if there had been one.
    #[tokio::test]
    async fn the_changes_after_a_loss_of_data_do_not_continue_those_before() {
        let store = || cotter::Client::builder().in_this_runtime().connect("memory:");
        let pause = |mut control: JobControl| {
            control.pause = Some(Pause { by: "alice".into(), ..Pause::default() });
            Ok((Some(control), ()))
        };
        assert_ne!(shard::of("a"), shard::of("b"));
        let before = store().await.unwrap();
        edit_job(&before, "g", "a", pause).await.unwrap();
        let known = load(&before, "g").await.unwrap().parse(&Control::default()).unwrap();
        let after = store().await.unwrap();
        for job in ["b", "a"] {
            edit_job(&after, "g", job, pause).await.unwrap();
        }
        let note = after.note_at("g", GROUP).await.unwrap().unwrap();
        let loaded = load_changed(&after, "g", note, &known).await.unwrap().parse(&known).unwrap();
        for job in ["a", "b"] {
            assert!(loaded.of(job).pause.is_some(), "violation[unseen]: {job}");
        }
    }
}
