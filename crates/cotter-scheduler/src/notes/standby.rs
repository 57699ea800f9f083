//! Which hosts stand by for which jobs, as they have said themselves: nothing else tells that a host has another definition.

use super::{instant, load_all, shard, shown};
use crate::UnixTime;
use cotter::{Client, Result};
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
    shown::edit(client, group, &key, |all: &mut Shard| {
        let mut hosts = all.remove(job).unwrap_or_default();
        change(&mut hosts);
        if !hosts.is_empty() {
            all.insert(job.to_owned(), hosts);
        }
    })
    .await
}

/// All hosts that stand by, by job.
pub(crate) async fn read(client: &Client, group: &str, now: UnixTime) -> Result<BTreeMap<String, Hosts>> {
    let keys = shard::all().map(|shard| (group.to_owned(), shard::key(LIST, shard)));
    let notes = load_all(client, keys.collect::<Vec<_>>()).await?;
    let mut all: BTreeMap<_, _> = notes.iter().flatten().flat_map(shown::parse::<Shard>).collect();
    all.values_mut().for_each(|hosts| hosts.retain(|_, seen| is_recent(seen, now)));
    Ok(all)
}

fn is_recent(seen: &Seen, now: UnixTime) -> bool {
    now.since(seen.at) <= KEPT
}
