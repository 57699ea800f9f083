//! The names of all jobs of a group, so that they can be listed: stores forget the names of free locks.

use super::shard;
use super::swap::swap;
use cotter::{Client, Error, ErrorKind, Note, Result};
use std::collections::{BTreeMap, BTreeSet};
use tokio::task::JoinSet;

const LIST: &str = "jobs";

pub(super) fn names(bytes: &[u8]) -> BTreeSet<String> {
    let text = String::from_utf8_lossy(bytes);
    text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// Adds the names that are missing.
pub(crate) async fn register(client: &Client, group: &str, jobs: impl Iterator<Item = &str>) -> Result<()> {
    let mut shards: BTreeMap<u8, Vec<String>> = BTreeMap::new();
    for job in jobs {
        shards.entry(shard::of(job)).or_default().push(job.to_owned());
    }
    let mut edits = JoinSet::new();
    for (shard, jobs) in shards {
        let (client, group) = (client.clone(), group.to_owned());
        edits.spawn(async move {
            edit(&client, &group, &shard::key(LIST, shard), |names| names.extend(jobs.clone())).await
        });
    }
    while let Some(edited) = edits.join_next().await {
        edited.expect("it does not panic")?;
    }
    Ok(())
}

/// Removes a name.
pub(crate) async fn remove(client: &Client, group: &str, job: &str) -> Result<()> {
    edit(client, group, &shard::key(LIST, shard::of(job)), |names| names.retain(|name| name != job)).await
}

async fn edit(client: &Client, group: &str, key: &str, change: impl Fn(&mut BTreeSet<String>)) -> Result<()> {
    let changed = |note: Option<&Note>| -> Result<_> {
        let before = note.map(|note| names(&note.bytes)).unwrap_or_default();
        let mut all = before.clone();
        change(&mut all);
        let text = || Vec::from_iter(all.iter().map(String::as_str)).join("\n");
        Ok(((all != before).then(|| text().into_bytes()), ()))
    };
    swap(client, group, key, changed).await?.ok_or_else(|| {
        let why =
            format!("the jobs of group {group:?} are being changed by others, or reads are out of date");
        Error::new(ErrorKind::Unavailable, why).with_retryable(true)
    })
}

/// All names, in order.
pub(crate) async fn read(client: &Client, group: &str) -> Result<BTreeSet<String>> {
    let keys = shard::all().map(|shard| (group.to_owned(), shard::key(LIST, shard)));
    let notes = client.notes_at(keys).await?;
    Ok(notes.into_iter().flatten().flat_map(|note| names(&note.bytes)).collect())
}
