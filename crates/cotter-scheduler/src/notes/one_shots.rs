//! One-shot runs that were added and have not ended, spread over several notes of the group by their ids.
//!
//! A run is taken before it starts: its entry gets the token of the lock, by compare-and-set, and after that it can no longer be
//! cancelled. It is removed when the end of the run is recorded, and before the state of the job forgets the run in any case. So a
//! run that is the last one in the state of its job has begun, and its entry is a leftover; any other entry has not.

use super::run::is_default;
use super::swap::{contended, swap};
use super::{Arguments, foreign, instant};
use crate::{Error, ErrorKind, Result, UnixTime};
use cotter::{Client, Note};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

const LIST: &str = "one-shots";
/// The number of notes.
const SHARDS: u8 = 64;

/// A run that was added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Added {
    #[serde(flatten)]
    pub(crate) key: OneShotKey,
    #[serde(rename = "j")]
    pub(crate) job: String,
    #[serde(rename = "t", with = "instant")]
    pub(crate) at: UnixTime,
    /// The host or person that added it.
    #[serde(rename = "b", default, skip_serializing_if = "is_default")]
    pub(crate) by: String,
    /// The token under which it was taken.
    #[serde(rename = "k", default, skip_serializing_if = "is_default")]
    pub(crate) taken: Option<u64>,
    #[serde(rename = "a", default, skip_serializing_if = "is_default")]
    pub(crate) arguments: Arguments,
    /// When its slot was requested, for a run that was triggered for a slot. Earlier versions do not know that, and drop it: to
    /// them it is a run that was added for the time of the slot.
    #[serde(rename = "q", with = "instant::maybe", default, skip_serializing_if = "is_default")]
    pub(crate) requested_at: Option<UnixTime>,
}

impl Added {
    /// Since when it is due.
    pub(crate) fn due_at(&self) -> UnixTime {
        self.requested_at.map_or(self.at, |requested| requested.max(self.at))
    }

    /// Whether it is another run than that one. A slot can be requested again as soon as its run has been taken.
    fn is_another(&self, there: &Self) -> bool {
        there.key.id != self.key.id || self.requested_at.is_some() && there.taken.is_some()
    }
}

/// Identifies a run. An id may be used again; the number is random.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct OneShotKey {
    #[serde(rename = "i")]
    pub(crate) id: String,
    #[serde(rename = "n")]
    pub(crate) number: u64,
}

/// The entries of one note, ordered by job and time.
pub(crate) type Shard = BTreeMap<(String, UnixTime, OneShotKey), Added>;

/// All shards.
pub(super) fn shards() -> impl Iterator<Item = u8> {
    0..SHARDS
}

/// For a requested slot it is that of its job: their number is limited.
pub(super) fn shard_of(id: &str) -> u8 {
    let job = id.rsplit_once('@').filter(|(_, slot)| slot.parse::<UnixTime>().is_ok());
    place_of(job.map_or(id, |(job, _)| job))
}

/// The shard of all requested slots of a job.
pub(super) fn place_of(name: &str) -> u8 {
    Sha256::digest(name)[0] % SHARDS
}

/// The id of a request for a slot.
pub(crate) fn id_of_slot(job: &str, slot: UnixTime) -> String {
    format!("{job}@{slot}")
}

pub(super) fn shard_key(shard: u8) -> String {
    format!("{LIST}-{shard:02x}")
}

/// The key of the note that has a run of this id.
pub(crate) fn note_key(id: &str) -> String {
    shard_key(shard_of(id))
}

pub(super) fn parse(note: Option<&Note>) -> Result<Shard> {
    let entries = entries(note)?.into_iter();
    Ok(entries.map(|added| ((added.job.clone(), added.at, added.key.clone()), added)).collect())
}

fn entries(note: Option<&Note>) -> Result<Vec<Added>> {
    let Some(note) = note else { return Ok(Vec::new()) };
    serde_json::from_slice(&note.bytes).map_err(|e| foreign("one-shot runs", &e))
}

/// The runs of a job in a shard, the earliest first.
pub(super) fn of_job<'a>(shard: &'a Shard, job: &'a str) -> impl Iterator<Item = &'a Added> {
    let first = (job.to_owned(), UnixTime::new(i64::MIN, 0), OneShotKey::default());
    shard.range(first..).map(|(_, added)| added).take_while(move |added| added.job == job)
}

/// The result of a change of a note.
pub(crate) struct Edit<T> {
    /// The note to write in place of the revision, if anything has changed.
    pub(crate) write: Option<(u64, Vec<u8>)>,
    pub(crate) result: T,
}

/// Marks a run as taken, unless it is gone.
pub(crate) fn take(note: Option<&Note>, key: &OneShotKey, token: u64) -> Result<Edit<bool>> {
    edit(note, |all| {
        let found = all.iter_mut().find(|added| added.key == *key);
        let is_there = found.is_some();
        let change = found.filter(|added| added.taken != Some(token));
        let is_changed = change.map(|added| added.taken = Some(token)).is_some();
        (is_changed, is_there)
    })
}

/// Removes a run.
pub(crate) fn remove(note: Option<&Note>, key: &OneShotKey) -> Result<Edit<()>> {
    edit(note, |all| {
        let before = all.len();
        all.retain(|added| added.key != *key);
        (all.len() != before, ())
    })
}

fn edit<T>(note: Option<&Note>, change: impl FnOnce(&mut Vec<Added>) -> (bool, T)) -> Result<Edit<T>> {
    let mut all = entries(note)?;
    let (is_changed, result) = change(&mut all);
    let bytes = || serde_json::to_vec(&all).expect("runs can be written");
    let write = is_changed.then(|| (note.map_or(0, |note| note.revision), bytes()));
    Ok(Edit { write, result })
}

async fn edit_shard<T>(
    client: &Client,
    group: &str,
    shard: u8,
    mut change: impl FnMut(&mut Vec<Added>) -> (bool, T),
) -> Result<T> {
    let changed = |note: Option<&Note>| -> Result<_> {
        let Edit { write, result } = edit(note, &mut change)?;
        let bytes = write.map(|(_, bytes)| bytes);
        if bytes.as_ref().is_some_and(|bytes| bytes.len() > Note::MAX_BYTES) {
            let why =
                format!("too many one-shot runs are pending in group {group:?}; wait until some have run");
            return Err(Error::new(ErrorKind::Job, why).passing());
        }
        Ok((bytes, result))
    };
    swap(client, group, &shard_key(shard), changed).await?.ok_or_else(|| contended(group))
}

/// Adds a run, unless one of this id is there already. Returns the shard, and the run that is there.
pub(crate) async fn add(client: &Client, group: &str, added: &Added) -> Result<(u8, OneShotKey)> {
    let shard = shard_of(&added.key.id);
    let key = edit_shard(client, group, shard, |all| {
        let before = all.len();
        let there = there(all, added);
        (all.len() != before, there)
    })
    .await?;
    Ok((shard, key))
}

/// Adds requests for slots of a job, all of them or none, unless more than this would wait then: the error tells how many others do.
/// Returns the shard, and the requests that are there.
pub(crate) async fn add_slots(
    client: &Client,
    group: &str,
    job: &str,
    slots: &[Added],
    most: usize,
) -> Result<(u8, Result<Vec<OneShotKey>, usize>)> {
    let shard = place_of(job);
    let keys = edit_shard(client, group, shard, |all| {
        let waits = |there: &&Added| {
            let is_new = slots.iter().any(|slot| slot.at == there.at);
            there.job == job && there.requested_at.is_some() && there.taken.is_none() && !is_new
        };
        let waiting = all.iter().filter(waits).count();
        if slots.len() + waiting > most {
            return (false, Err(waiting));
        }
        let before = all.len();
        let keys = slots.iter().map(|slot| there(all, slot)).collect();
        (all.len() != before, Ok(keys))
    })
    .await?;
    Ok((shard, keys))
}

/// The run of this id that is there; it is added if there is none.
fn there(all: &mut Vec<Added>, added: &Added) -> OneShotKey {
    if let Some(there) = all.iter().find(|there| !added.is_another(there)) {
        return there.key.clone();
    }
    all.push(added.clone());
    added.key.clone()
}

/// Whether a run is there.
pub(crate) async fn has(client: &Client, group: &str, key: &OneShotKey) -> Result<bool> {
    let note = client.note_at(group, note_key(&key.id)).await?;
    Ok(entries(note.as_ref())?.iter().any(|added| added.key == *key))
}

/// Removes the run of this id if it was not taken. Returns its shard and, if it was there, its job.
pub(crate) async fn cancel(client: &Client, group: &str, id: &str) -> Result<(u8, Option<String>)> {
    let shard = shard_of(id);
    let cancelled = edit_shard(client, group, shard, |all| {
        let waits = |added: &Added| added.key.id == id && added.taken.is_none();
        let job = all.iter().find(|added| waits(added)).map(|added| added.job.clone());
        all.retain(|added| !waits(added));
        (job.is_some(), job)
    })
    .await?;
    Ok((shard, cancelled))
}

/// Removes all runs of a job.
pub(crate) async fn forget(client: &Client, group: &str, job: &str) -> Result<()> {
    let ids = load(client, group).await?.into_iter().filter(|added| added.job == job);
    let shards: std::collections::BTreeSet<u8> = ids.map(|added| shard_of(&added.key.id)).collect();
    for shard in shards {
        edit_shard(client, group, shard, |all| {
            let before = all.len();
            all.retain(|added| added.job != job);
            (all.len() != before, ())
        })
        .await?;
    }
    Ok(())
}

/// All runs.
pub(crate) async fn load(client: &Client, group: &str) -> Result<Vec<Added>> {
    let places = shards().map(|shard| (group.to_owned(), shard_key(shard))).collect::<Vec<_>>();
    let notes = client.notes_at(places).await?;
    let mut all = Vec::new();
    for note in notes {
        all.extend(entries(note.as_ref())?);
    }
    Ok(all)
}
