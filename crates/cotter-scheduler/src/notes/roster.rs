//! The names of all jobs of a group, so that they can be listed: stores forget the names of free locks.

use cotter::Client;
use cotter::Result;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};

/// Ten thousand names do not fit into one note.
const SHARDS: u8 = 16;

fn shard(name: &str) -> u8 {
    Sha256::digest(name)[0] % SHARDS
}

fn key(shard: u8) -> String {
    format!("jobs-{shard:x}")
}

fn names(bytes: &[u8]) -> BTreeSet<String> {
    let text = String::from_utf8_lossy(bytes);
    text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// Adds the names that are missing.
pub(crate) async fn register(client: &Client, group: &str, jobs: impl Iterator<Item = &str>) -> Result<()> {
    let mut shards: BTreeMap<u8, Vec<&str>> = BTreeMap::new();
    for job in jobs {
        shards.entry(shard(job)).or_default().push(job);
    }
    for (shard, jobs) in shards {
        while !add(client, group, &key(shard), &jobs).await? {}
    }
    Ok(())
}

/// Returns false if the note was changed in the meantime.
async fn add(client: &Client, group: &str, key: &str, jobs: &[&str]) -> Result<bool> {
    let note = client.note_at(group, key).await?;
    let (revision, bytes) = note.map_or((0, Vec::new()), |n| (n.revision, n.bytes));
    let mut all = names(&bytes);
    let before = all.len();
    all.extend(jobs.iter().map(|&job| job.to_owned()));
    if all.len() == before {
        return Ok(true);
    }
    let text: Vec<&str> = all.iter().map(String::as_str).collect();
    Ok(client.swap_note(group, key, revision, text.join("\n")).await?.is_some())
}

/// All names, in order.
pub(crate) async fn read(client: &Client, group: &str) -> Result<BTreeSet<String>> {
    let mut all = BTreeSet::new();
    for shard in 0..SHARDS {
        let note = client.note_at(group, key(shard)).await?;
        all.extend(names(&note.map(|n| n.bytes).unwrap_or_default()));
    }
    Ok(all)
}
