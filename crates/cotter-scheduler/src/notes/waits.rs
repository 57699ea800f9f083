//! Which jobs wait for a lock or a limit that others hold, as their runners have said: the state of a job does not tell.

use super::{instant, load_all, shard, shown};
use crate::UnixTime;
use cotter::{Client, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// How often a runner says again that a job waits.
pub(crate) const REPEATED: Duration = Duration::from_secs(60);

/// What a runner has said counts for so long: it may have died since.
const KEPT: Duration = Duration::from_secs(130);

/// Few jobs wait at the same time.
const SHARDS: u8 = 16;

/// A job that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Wait {
    /// The name of the lock or the limit.
    #[serde(rename = "n")]
    pub(crate) lock: String,
    /// Who held it when this was said.
    #[serde(rename = "b", default, skip_serializing_if = "Option::is_none")]
    pub(crate) held_by: Option<String>,
    /// The host of the runner; empty if it has no name.
    #[serde(rename = "h")]
    pub(crate) host: String,
    /// When the wait began.
    #[serde(rename = "f", with = "instant")]
    pub(crate) since: UnixTime,
    /// When the runner last said so.
    #[serde(rename = "t", with = "instant")]
    pub(crate) at: UnixTime,
}

/// The waits of a job, by the ids of schedulers.
type Waits = BTreeMap<String, Wait>;

/// The waits by job.
type Shard = BTreeMap<String, Waits>;

/// Writes that a job waits, or no longer does.
pub(crate) async fn tell(
    client: &Client,
    group: &str,
    job: &str,
    id: &str,
    wait: Option<&Wait>,
    now: UnixTime,
) -> Result<()> {
    edit(client, group, job, |waits| {
        waits.retain(|_, wait| is_recent(wait, now));
        waits.remove(id);
        waits.extend(wait.map(|wait| (id.to_owned(), wait.clone())));
    })
    .await
}

/// Forgets a job.
pub(crate) async fn forget(client: &Client, group: &str, job: &str) -> Result<()> {
    edit(client, group, job, Waits::clear).await
}

async fn edit(client: &Client, group: &str, job: &str, change: impl Fn(&mut Waits)) -> Result<()> {
    shown::edit(client, group, &key(shard::of(job) % SHARDS), |all: &mut Shard| {
        let mut waits = all.remove(job).unwrap_or_default();
        change(&mut waits);
        if !waits.is_empty() {
            all.insert(job.to_owned(), waits);
        }
    })
    .await
}

/// All waits, by job.
pub(crate) async fn read(client: &Client, group: &str, now: UnixTime) -> Result<BTreeMap<String, Vec<Wait>>> {
    let keys = (0..SHARDS).map(|shard| (group.to_owned(), key(shard)));
    let notes = load_all(client, keys.collect::<Vec<_>>()).await?;
    let all = notes.iter().flatten().flat_map(shown::parse::<Shard>);
    let recent = |waits: Waits| waits.into_values().filter(|wait| is_recent(wait, now)).collect();
    Ok(all.map(|(job, waits)| (job, recent(waits))).collect())
}

fn key(shard: u8) -> String {
    format!("waits-{shard:x}")
}

fn is_recent(wait: &Wait, now: UnixTime) -> bool {
    now.since(wait.at) <= KEPT
}
