//! The schedulers that run, as they have said themselves: a definition in the store does not tell whether anybody follows it.

pub(crate) mod owned;

use super::{instant, shown};
use crate::{UnixTime, label};
use cotter::{Client, Note, Result};
use owned::Owned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::time::Duration;

/// How often a scheduler says again that it runs: a hundred of them write less than once a second.
pub(crate) const REPEATED: Duration = Duration::from_secs(120);

/// What a scheduler has said counts for so long: it may have died since.
pub(crate) const KEPT: Duration = Duration::from_secs(300);

/// A hundred schedulers that start at the same time do not all want the same note.
const SHARDS: u8 = 16;

/// What a scheduler says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mark {
    /// The name of its host; empty if it has none.
    #[serde(rename = "h")]
    pub(crate) host: String,
    /// When it started.
    #[serde(rename = "f", with = "instant")]
    pub(crate) since: UnixTime,
    /// When it said this.
    #[serde(rename = "t", with = "instant")]
    pub(crate) at: UnixTime,
    #[serde(rename = "v")]
    pub(crate) version: String,
    #[serde(rename = "w")]
    pub(crate) workers: usize,
    #[serde(rename = "b")]
    pub(crate) busy: usize,
    /// Since when runs have been waiting for one of its workers, which were all busy.
    #[serde(rename = "c", with = "instant::maybe", default, skip_serializing_if = "Option::is_none")]
    pub(crate) crowded: Option<UnixTime>,
    /// The offset of its clock, in milliseconds.
    #[serde(rename = "o")]
    pub(crate) off: u64,
    #[serde(rename = "l", default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) labels: Vec<String>,
    /// The jobs that it has; `None` if it does not say.
    #[serde(rename = "j", default, skip_serializing_if = "Option::is_none")]
    pub(crate) jobs: Option<Owned>,
}

impl Mark {
    /// Whether it has all of these labels.
    pub(crate) fn has_labels(&self, labels: &[String]) -> bool {
        labels.iter().all(|needed| label::has(&self.host, self.labels.iter(), needed))
    }
}

/// The marks by the ids of schedulers.
type Marks = BTreeMap<String, Mark>;

/// Writes what a scheduler says, or that it has ended.
pub(crate) async fn tell(
    client: &Client,
    group: &str,
    id: &str,
    mark: Option<&Mark>,
    now: UnixTime,
) -> Result<()> {
    let key = key(Sha256::digest(id)[0] % SHARDS);
    shown::edit(client, group, &key, |all: &mut Marks| {
        all.retain(|_, mark| is_recent(mark, now));
        all.remove(id);
        if let Some(mark) = mark {
            all.insert(id.to_owned(), mark.clone());
            // That it runs is always written. Half of the note is left for those that only say this.
            let is_full = serde_json::to_vec(all).is_ok_and(|bytes| bytes.len() > Note::MAX_BYTES / 2);
            if let Some(own) = all.get_mut(id).filter(|_| is_full) {
                own.jobs = None;
            }
        }
    })
    .await
}

/// The schedulers that have said so lately.
pub(crate) async fn read(client: &Client, group: &str, now: UnixTime) -> Result<Vec<Mark>> {
    let keys = (0..SHARDS).map(|shard| (group.to_owned(), key(shard)));
    let notes = client.notes_at(keys).await?;
    let mut marks: Vec<_> =
        notes.iter().flatten().flat_map(shown::parse::<Marks>).map(|(_, mark)| mark).collect();
    marks.retain(|mark| is_recent(mark, now));
    marks.sort_by(|a, b| (&a.host, a.since).cmp(&(&b.host, b.since)));
    Ok(marks)
}

fn key(shard: u8) -> String {
    format!("hosts-{shard:x}")
}

fn is_recent(mark: &Mark, now: UnixTime) -> bool {
    now.since(mark.at) <= KEPT
}
