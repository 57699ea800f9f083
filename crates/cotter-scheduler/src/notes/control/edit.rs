//! Adding requests, by compare and set.

use super::super::{
    shard,
    swap::{contended, swap},
};
use super::{GROUP, GroupControl, JobControl, LIST, Pause, parse_shard};
use crate::{Error, Result};
use cotter::{Client, Note};

/// Changes the requests to one job; `None` removes them. Returns what the change has found, and the pause of the group.
pub(crate) async fn edit_job<T>(
    client: &Client,
    group: &str,
    job: &str,
    change: impl Fn(JobControl) -> Result<(Option<JobControl>, T)>,
) -> Result<(T, Option<Pause>)> {
    let shard = shard::of(job);
    let key = shard::key(LIST, shard);
    let changed = |note: Option<&Note>| -> Result<_> {
        let mut all = parse_shard(note)?;
        let before = all.remove(job).unwrap_or_default();
        let (after, found) = change(before)?;
        all.extend(after.map(|after| (job.to_owned(), after)));
        let bytes = serde_json::to_vec(&all).expect("requests can be written");
        if bytes.len() > Note::MAX_BYTES { Err(full(group, job)) } else { Ok((Some(bytes), found)) }
    };
    let found = swap(client, group, &key, changed).await?.ok_or_else(|| contended(group))?;
    let tell = |all: &mut GroupControl| {
        all.jobs.add(shard);
        all.pause.clone()
    };
    Ok((found, edit_group(client, group, tell).await?))
}

/// Changes the requests to the whole group. Returns what the change has found.
pub(crate) async fn edit_group<T>(
    client: &Client,
    group: &str,
    change: impl Fn(&mut GroupControl) -> T,
) -> Result<T> {
    let changed = |note: Option<&Note>| -> Result<_> {
        let mut all = GroupControl::parse(note)?;
        let found = change(&mut all);
        all.edit = rand::random();
        if all.origin == 0 {
            all.origin = rand::random();
        }
        Ok((Some(serde_json::to_vec(&all).expect("requests can be written")), found))
    };
    swap(client, group, GROUP, changed).await?.ok_or_else(|| contended(group))
}

/// Tells the runners that the one-shot runs of these shards have changed.
pub(crate) async fn tell_one_shots(
    client: &Client,
    group: &str,
    shards: impl IntoIterator<Item = u8> + Clone,
) -> Result<()> {
    edit_group(client, group, |all| shards.clone().into_iter().for_each(|shard| all.one_shots.add(shard)))
        .await
}

/// Jobs share the notes for requests, and what fills them is arguments.
fn full(group: &str, job: &str) -> Error {
    let why = format!(
        "the requests for this and other jobs of group {group:?} fill their note of {} KiB; wait until earlier triggers have \
         run, or send smaller arguments",
        Note::MAX_BYTES >> 10
    );
    Error::job(job, why).passing()
}
