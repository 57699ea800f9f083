//! Adding requests, by compare and set.

use super::super::{shard, swap::try_swap};
use super::{GROUP, GroupControl, JobControl, LIST, parse_shard};
use crate::{Error, ErrorKind, Result};
use cotter::{Client, Note};

/// How often a request is retried when other requests are written at the same time.
const MAX_ATTEMPTS: usize = 100;

/// Changes the requests to one job; `None` removes them.
pub(crate) async fn edit_job(
    client: &Client,
    group: &str,
    job: &str,
    change: impl Fn(JobControl) -> Result<Option<JobControl>>,
) -> Result<()> {
    let shard = shard::of(job);
    let key = shard::key(LIST, shard);
    let changed = |note: Option<&Note>| -> Result<_> {
        let mut all = parse_shard(note)?;
        let before = all.remove(job).unwrap_or_default();
        let after = change(before)?;
        all.extend(after.map(|after| (job.to_owned(), after)));
        let bytes = serde_json::to_vec(&all).expect("requests can be written");
        if bytes.len() > Note::MAX_BYTES { Err(full(group, job)) } else { Ok((Some(bytes), ())) }
    };
    for _ in 0..MAX_ATTEMPTS {
        if try_swap(client, group, &key, changed).await?.is_some() {
            return edit_group(client, group, |all| all.jobs.add(shard)).await;
        }
    }
    Err(contended(group))
}

/// Changes the requests to the whole group.
pub(crate) async fn edit_group(
    client: &Client,
    group: &str,
    change: impl Fn(&mut GroupControl),
) -> Result<()> {
    let changed = |note: Option<&Note>| -> Result<_> {
        let mut all = GroupControl::parse(note)?;
        change(&mut all);
        all.edit = rand::random();
        if all.origin == 0 {
            all.origin = rand::random();
        }
        Ok((Some(serde_json::to_vec(&all).expect("requests can be written")), ()))
    };
    for _ in 0..MAX_ATTEMPTS {
        if try_swap(client, group, GROUP, changed).await?.is_some() {
            return Ok(());
        }
    }
    Err(contended(group))
}

/// Tells the runners that the one-shot runs of a shard have changed.
pub(crate) async fn tell_one_shots(client: &Client, group: &str, shard: u8) -> Result<()> {
    edit_group(client, group, |all| all.one_shots.add(shard)).await
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

fn contended(group: &str) -> Error {
    let why = format!("the requests for group {group:?} are being changed by others; try again");
    Error::new(ErrorKind::Store, why).passing()
}
