//! The last requests of operators. Nothing depends on them: they are only shown.

use super::run::is_default;
use super::{instant, shard, shown};
use crate::{Logged, Result, UnixTime};
use cotter::{Client, Note};
use serde::{Deserialize, Serialize};

const LIST: &str = "log";
/// The number of the last note, one less than a power of two.
const LAST: u8 = 0x0f;
/// How many requests a note keeps, if they fit.
const KEPT: usize = 100;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Line {
    #[serde(rename = "t", with = "instant")]
    at: UnixTime,
    #[serde(rename = "b")]
    by: String,
    #[serde(rename = "j", default, skip_serializing_if = "is_default")]
    job: Option<String>,
    #[serde(rename = "w")]
    action: String,
    #[serde(rename = "x", default, skip_serializing_if = "is_default")]
    about: Option<String>,
}

/// Adds a request; the oldest ones make way for it.
pub(crate) async fn add(client: &Client, group: &str, logged: Logged) -> cotter::Result<()> {
    let Logged { at, by, job, action, about } = logged;
    let key = shard::key(LIST, shard::of(job.as_deref().unwrap_or_default()) & LAST);
    let line = Line { at, by, job, action, about };
    shown::edit(client, group, &key, |all: &mut Vec<Line>| {
        all.push(line.clone());
        all.drain(..all.len().saturating_sub(KEPT));
        let length = |line: &Line| serde_json::to_vec(line).map_or(0, |bytes| bytes.len()) + 1;
        let mut excess = (all.iter().map(length).sum::<usize>() + 1).saturating_sub(Note::MAX_BYTES);
        all.retain(|line| {
            let is_kept = excess == 0;
            excess = excess.saturating_sub(length(line));
            is_kept
        });
    })
    .await
}

/// All requests, in no order.
pub(crate) async fn load(client: &Client, group: &str) -> Result<Vec<Logged>> {
    let places = (0..=LAST).map(|number| (group.to_owned(), shard::key(LIST, number))).collect::<Vec<_>>();
    let notes = client.notes_at(places).await?;
    let lines = notes.iter().flatten().flat_map(shown::parse::<Vec<Line>>);
    let logged = |Line { at, by, job, action, about }| Logged { at, by, job, action, about };
    Ok(lines.map(logged).collect())
}
