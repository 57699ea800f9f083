//! Notes in the layout of the first version, which are only read.

use super::{JobControl, LastRun, State};
use crate::UnixTime;

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// The state of a job.
#[derive(Deserialize)]
pub(super) struct StateV1 {
    pub(super) hash: String,
    pub(super) generation: u64,
    #[serde(deserialize_with = "text")]
    pub(super) defined_at: UnixTime,
    pub(super) trigger: String,
    #[serde(deserialize_with = "text")]
    pub(super) since: UnixTime,
    #[serde(deserialize_with = "text")]
    pub(super) anchor: UnixTime,
    #[serde(deserialize_with = "maybe", default)]
    pub(super) last: Option<UnixTime>,
    #[serde(default)]
    pub(super) handled: u64,
    #[serde(default)]
    pub(super) run: Option<RunV1>,
}

impl StateV1 {
    pub(super) fn into_state(self) -> State {
        State::from_parts(self)
    }
}

/// A run, in the state of its job or as a line of the history.
#[derive(Deserialize)]
pub(super) struct RunV1 {
    #[serde(deserialize_with = "text")]
    slot: UnixTime,
    #[serde(default)]
    asked: bool,
    attempt: u32,
    #[serde(default)]
    crashes: u32,
    token: u64,
    #[serde(deserialize_with = "text")]
    started: UnixTime,
    #[serde(deserialize_with = "maybe", default)]
    ended: Option<UnixTime>,
    #[serde(default)]
    outcome: Option<String>,
    #[serde(default)]
    reason: Option<String>,
}

impl RunV1 {
    pub(super) fn into_run(self) -> LastRun {
        LastRun {
            slot: self.slot,
            asked: self.asked,
            attempt: self.attempt,
            crashes: self.crashes,
            token: self.token,
            host: String::new(),
            started: self.started,
            ended: self.ended,
            outcome: self.outcome,
            reason: self.reason,
            code: None,
            retry_at: None,
            arguments: BTreeMap::new(),
            one_shot: None,
        }
    }
}

/// The runs of a history, one line each.
pub(super) fn history(bytes: &[u8]) -> serde_json::Result<Vec<LastRun>> {
    let lines = bytes.split(|b| *b == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).map(RunV1::into_run)).collect()
}

/// The key of all requests to a group.
pub(super) const CONTROL: &str = "control";

/// All requests to a group.
#[derive(Deserialize)]
pub(super) struct ControlV1 {
    jobs: BTreeMap<String, JobControlV1>,
}

#[derive(Deserialize)]
struct JobControlV1 {
    #[serde(default)]
    paused: bool,
    #[serde(deserialize_with = "maybe", default)]
    resumed_at: Option<UnixTime>,
    #[serde(default)]
    by: String,
    #[serde(default)]
    paused_by: String,
    #[serde(default)]
    requests: u64,
}

impl ControlV1 {
    pub(super) fn into_jobs(self) -> impl Iterator<Item = (String, JobControl)> {
        self.jobs.into_iter().map(|(job, of)| {
            let paused_by = if of.paused_by.is_empty() { of.by.clone() } else { of.paused_by };
            let pause = of.paused.then(|| super::Pause { by: paused_by, reason: String::new() });
            let (resumed_at, by, requests) = (of.resumed_at, of.by, of.requests);
            (job, JobControl { pause, resumed_at, by, requests, ..JobControl::default() })
        })
    }
}

/// The number of notes with names of jobs.
const SHARDS: u8 = 16;

/// The keys of the notes with names of jobs.
pub(super) fn roster_keys() -> impl Iterator<Item = String> {
    (0..SHARDS).map(|shard| format!("jobs-{shard:x}"))
}

/// The key of the note with this name.
pub(super) fn roster_key(name: &str) -> String {
    format!("jobs-{:x}", Sha256::digest(name)[0] % SHARDS)
}

fn text<'de, D: Deserializer<'de>>(from: D) -> Result<UnixTime, D::Error> {
    String::deserialize(from)?.parse().map_err(D::Error::custom)
}

fn maybe<'de, D: Deserializer<'de>>(from: D) -> Result<Option<UnixTime>, D::Error> {
    let text = Option::<String>::deserialize(from)?;
    text.map(|t| t.parse().map_err(D::Error::custom)).transpose()
}
