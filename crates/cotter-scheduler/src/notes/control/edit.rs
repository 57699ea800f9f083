//! Adding requests, by compare and set.

use super::super::shard;
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
    for _ in 0..MAX_ATTEMPTS {
        let note = client.note_at(group, &key).await?;
        let mut all = parse_shard(note.as_ref())?;
        let before = all.remove(job).unwrap_or_default();
        let after = change(before)?;
        all.extend(after.map(|after| (job.to_owned(), after)));
        let bytes = serde_json::to_vec(&all).expect("requests can be written");
        if bytes.len() > Note::MAX_BYTES {
            return Err(full(group, job));
        }
        if client.swap_note(group, &key, note.map_or(0, |n| n.revision), bytes).await?.is_some() {
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
    for _ in 0..MAX_ATTEMPTS {
        let note = client.note_at(group, GROUP).await?;
        let mut all = GroupControl::parse(note.as_ref())?;
        change(&mut all);
        all.edit = rand::random();
        if all.origin == 0 {
            all.origin = rand::random();
        }
        let bytes = serde_json::to_vec(&all).expect("requests can be written");
        if client.swap_note(group, GROUP, note.map_or(0, |n| n.revision), bytes).await?.is_some() {
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
