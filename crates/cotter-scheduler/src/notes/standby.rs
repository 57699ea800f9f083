//! Which hosts stand by for which jobs, as they have said themselves: nothing else tells that a host has another definition.

use super::swap::swap;
use super::{instant, load_all, shard};
use crate::UnixTime;
use cotter::{Client, Note, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

const LIST: &str = "standby";

/// How often a host says again that it stands by.
pub(crate) const REPEATED: Duration = Duration::from_secs(300);

/// What a host has said counts for so long: it may have died since.
const KEPT: Duration = Duration::from_secs(720);

/// A host that stands by for a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Seen {
    /// When it began to.
    #[serde(rename = "f", with = "instant")]
    pub(crate) since: UnixTime,
    /// When it last said so.
    #[serde(rename = "t", with = "instant")]
    pub(crate) at: UnixTime,
}

/// The hosts by job.
type Shard = BTreeMap<String, Hosts>;

/// What each of them has said.
pub(crate) type Hosts = BTreeMap<String, Seen>;

/// Writes that a host stands by for a job, or no longer does.
pub(crate) async fn tell(
    client: &Client,
    group: &str,
    job: &str,
    host: &str,
    stands_by: bool,
    now: UnixTime,
) -> Result<()> {
    edit(client, group, job, |hosts| {
        hosts.retain(|_, seen| is_recent(seen, now));
        let before = hosts.remove(host);
        if stands_by {
            let since = before.map_or(now, |seen| seen.since);
            hosts.insert(host.to_owned(), Seen { since, at: now });
        }
    })
    .await
}

/// Forgets a job.
pub(crate) async fn forget(client: &Client, group: &str, job: &str) -> Result<()> {
    edit(client, group, job, Hosts::clear).await
}

async fn edit(client: &Client, group: &str, job: &str, change: impl Fn(&mut Hosts)) -> Result<()> {
    let key = shard::key(LIST, shard::of(job));
    let changed = |note: Option<&Note>| -> Result<_> {
        let before = note.map(parse).unwrap_or_default();
        let mut all = before.clone();
        let mut hosts = all.remove(job).unwrap_or_default();
        change(&mut hosts);
        if !hosts.is_empty() {
            all.insert(job.to_owned(), hosts);
        }
        let bytes = serde_json::to_vec(&all).expect("hosts can be written");
        // What does not fit is not shown.
        let is_written = all != before && bytes.len() <= Note::MAX_BYTES;
        Ok((is_written.then_some(bytes), ()))
    };
    // It is said again later.
    swap(client, group, &key, changed).await.map(drop)
}

/// All hosts that stand by, by job.
pub(crate) async fn read(client: &Client, group: &str, now: UnixTime) -> Result<BTreeMap<String, Hosts>> {
    let keys = shard::all().map(|shard| (group.to_owned(), shard::key(LIST, shard)));
    let notes = load_all(client, keys.collect::<Vec<_>>()).await?;
    let mut all: BTreeMap<_, _> = notes.iter().flatten().flat_map(parse).collect();
    all.values_mut().for_each(|hosts| hosts.retain(|_, seen| is_recent(seen, now)));
    Ok(all)
}

/// A note that cannot be read says nothing: it is only shown, and written anew.
fn parse(note: &Note) -> Shard {
    serde_json::from_slice(&note.bytes).unwrap_or_default()
}

fn is_recent(seen: &Seen, now: UnixTime) -> bool {
    now.since(seen.at) <= KEPT
}
