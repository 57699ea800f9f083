//! Requests of operators to the jobs of a group.

use super::run::is_default;
use super::{foreign, instant, legacy, load_all, shard};
use crate::{Error, ErrorKind, Result, UnixTime};
use cotter::{Client, Note};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const LIST: &str = "control";
/// The key of the requests to the whole group.
pub(crate) const GROUP: &str = "group";
/// How many changed shards the note of the group names. Whoever has missed more loads all of them.
const RECENT: usize = 64;
/// How often a request is retried when other requests are written at the same time.
const MAX_ATTEMPTS: usize = 100;

/// All requests to a group and its jobs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Control {
    pub(crate) group: GroupControl,
    /// By shard, so that a change copies one of them.
    jobs: BTreeMap<u8, Arc<Shard>>,
    /// Those in the note of the first version, where there are no others.
    legacy: Arc<Shard>,
}

/// The requests to the whole group, and what has changed: the note that runners watch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GroupControl {
    #[serde(rename = "p", default, skip_serializing_if = "is_default")]
    pub(crate) pause: Option<Pause>,
    #[serde(rename = "r", with = "instant::maybe", default, skip_serializing_if = "is_default")]
    pub(crate) resumed_at: Option<UnixTime>,
    /// The operator of the last request to the group.
    #[serde(rename = "b", default, skip_serializing_if = "is_default")]
    pub(crate) by: String,
    /// How often requests to single jobs were changed.
    #[serde(rename = "n", default, skip_serializing_if = "is_default")]
    changes: u64,
    /// The shards of the last changes.
    #[serde(rename = "c", default, skip_serializing_if = "is_default")]
    recent: Vec<u8>,
}

/// Who has paused a job or a group, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pause {
    #[serde(rename = "b")]
    pub(crate) by: String,
    #[serde(rename = "w", default, skip_serializing_if = "is_default")]
    pub(crate) reason: String,
}

/// The requests to one job.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JobControl {
    #[serde(rename = "p", default, skip_serializing_if = "is_default")]
    pub(crate) pause: Option<Pause>,
    /// The end of the last pause: slots before it are dropped.
    #[serde(rename = "r", with = "instant::maybe", default, skip_serializing_if = "is_default")]
    pub(crate) resumed_at: Option<UnixTime>,
    /// The operator of the last request.
    #[serde(rename = "b", default, skip_serializing_if = "is_default")]
    pub(crate) by: String,
    /// The number of the last requested run.
    #[serde(rename = "n", default, skip_serializing_if = "is_default")]
    pub(crate) requests: u64,
    /// The arguments of requests that have some, by their numbers. Each of them is a run of its own.
    #[serde(rename = "a", default, skip_serializing_if = "is_default")]
    pub(crate) arguments: BTreeMap<u64, Arguments>,
}

/// The arguments of a requested run.
pub(crate) type Arguments = BTreeMap<String, String>;

type Shard = BTreeMap<String, JobControl>;

impl JobControl {
    /// A job that is paused stays as it is.
    pub(crate) fn pause(&mut self, pause: Pause) {
        self.pause.get_or_insert(pause);
    }

    pub(crate) fn resume(&mut self, now: UnixTime) {
        if self.pause.take().is_some() {
            self.resumed_at = Some(now);
        }
    }

    /// Adds a request to run, given the latest one that is settled.
    pub(crate) fn request(&mut self, handled: u64, arguments: &Arguments) {
        // The requests of a job that was forgotten are gone, but not those that its note has settled.
        self.requests = self.requests.max(handled) + 1;
        self.arguments.retain(|number, _| *number > handled);
        if !arguments.is_empty() {
            self.arguments.insert(self.requests, arguments.clone());
        }
    }

    /// The next request to run after those that are settled: all in a row that have no arguments count as one.
    pub(crate) fn next_request(&self, handled: u64) -> (u64, Arguments) {
        match self.arguments.range(handled + 1..).next() {
            Some((number, arguments)) if *number == handled + 1 => (*number, arguments.clone()),
            Some((number, _)) => (number - 1, Arguments::new()),
            None => (self.requests, Arguments::new()),
        }
    }
}

impl GroupControl {
    /// A group that is paused stays as it is.
    pub(crate) fn pause(&mut self, pause: Pause) {
        self.by.clone_from(&pause.by);
        self.pause.get_or_insert(pause);
    }

    pub(crate) fn resume(&mut self, by: &str, now: UnixTime) {
        by.clone_into(&mut self.by);
        if self.pause.take().is_some() {
            self.resumed_at = Some(now);
        }
    }

    fn parse(note: Option<&Note>) -> Result<Self> {
        let Some(note) = note else { return Ok(Self::default()) };
        serde_json::from_slice(&note.bytes).map_err(|e| foreign("requests for the group", &e))
    }

    /// Records a change of a shard.
    fn changed(&mut self, shard: u8) {
        self.changes += 1;
        self.recent.push(shard);
        self.recent.drain(..self.recent.len().saturating_sub(RECENT));
    }

    /// The shards that were changed after `seen`.
    fn changed_since(&self, seen: &Self) -> BTreeSet<u8> {
        let missed = self.changes.checked_sub(seen.changes).and_then(|n| usize::try_from(n).ok());
        match missed.and_then(|missed| self.recent.len().checked_sub(missed)) {
            Some(from) => self.recent[from..].iter().copied().collect(),
            None => shard::all().collect(),
        }
    }
}

impl Control {
    /// The requests to a job alone.
    pub(crate) fn own(&self, job: &str) -> JobControl {
        let own = self.jobs.get(&shard::of(job)).and_then(|shard| shard.get(job));
        own.or_else(|| self.legacy.get(job)).cloned().unwrap_or_default()
    }

    /// The requests that apply to a job: its own, and those to the group.
    pub(crate) fn of(&self, job: &str) -> JobControl {
        let own = self.own(job);
        JobControl {
            pause: own.pause.or_else(|| self.group.pause.clone()),
            resumed_at: own.resumed_at.max(self.group.resumed_at),
            ..own
        }
    }

    /// The jobs with changed requests of their own.
    pub(crate) fn changed<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = &'a str> {
        let old = |shard: &u8| before.jobs.get(shard);
        let is_new = move |(number, shard): &(&u8, &Arc<Shard>)| {
            old(number).is_none_or(|old| !Arc::ptr_eq(old, shard))
        };
        let differs =
            move |number, job: &str, control| old(number).and_then(|old| old.get(job)) != Some(control);
        self.jobs.iter().filter(is_new).flat_map(move |(number, shard)| {
            let changed = shard.iter().filter(move |(job, control)| differs(number, job, *control));
            changed.map(|(job, _)| job.as_str())
        })
    }
}

/// The notes with requests, as loaded. They are parsed later, because an outage of the store is another error.
pub(crate) struct Loaded {
    group: Option<Note>,
    legacy: Option<Note>,
    shards: Vec<(u8, Option<Note>)>,
}

/// Loads all requests.
pub(crate) async fn load(client: &Client, group: &str) -> cotter::Result<Loaded> {
    let keys = [GROUP.to_owned(), legacy::CONTROL.to_owned()].into_iter();
    let keys = keys.chain(shard::all().map(|shard| shard::key(LIST, shard)));
    let mut notes = load_all(client, keys.map(|key| (group.to_owned(), key)).collect::<Vec<_>>()).await?;
    let shards = shard::all().zip(notes.split_off(2)).collect();
    let legacy = notes.pop().flatten();
    Ok(Loaded { group: notes.pop().flatten(), legacy, shards })
}

/// Loads the requests that have changed, given the note of the group.
pub(crate) async fn load_changed(
    client: &Client,
    group: &str,
    note: Note,
    known: &Control,
) -> cotter::Result<Loaded> {
    let shards = match GroupControl::parse(Some(&note)) {
        Ok(now) => now.changed_since(&known.group),
        // The error is reported when it is parsed again.
        Err(_) => BTreeSet::new(),
    };
    let places = shards.iter().map(|shard| (group.to_owned(), shard::key(LIST, *shard))).collect::<Vec<_>>();
    let notes = load_all(client, places).await?;
    Ok(Loaded { group: Some(note), legacy: None, shards: shards.into_iter().zip(notes).collect() })
}

impl Loaded {
    /// The revision of the note of the group.
    pub(crate) fn revision(&self) -> u64 {
        self.group.as_ref().map_or(0, |note| note.revision)
    }

    /// Adds what was loaded to what is known.
    pub(crate) fn parse(self, known: &Control) -> Result<Control> {
        let mut jobs = known.jobs.clone();
        for (shard, note) in &self.shards {
            jobs.insert(*shard, Arc::new(parse_shard(note.as_ref())?));
        }
        let legacy = match &self.legacy {
            Some(note) => Arc::new(parse_legacy(Some(note))?),
            None => known.legacy.clone(),
        };
        Ok(Control { group: GroupControl::parse(self.group.as_ref())?, jobs, legacy })
    }
}

fn parse_shard(note: Option<&Note>) -> Result<Shard> {
    let Some(note) = note else { return Ok(Shard::new()) };
    serde_json::from_slice(&note.bytes).map_err(|e| foreign("requests for jobs", &e))
}

fn parse_legacy(note: Option<&Note>) -> Result<Shard> {
    let Some(note) = note else { return Ok(Shard::new()) };
    let parsed: serde_json::Result<legacy::ControlV1> = serde_json::from_slice(&note.bytes);
    Ok(parsed.map_err(|e| foreign("requests for the group", &e))?.into_jobs().collect())
}

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
        let older = legacy(client, group, job).await?;
        let before = all.remove(job).or_else(|| older.clone()).unwrap_or_default();
        // Nothing would not take precedence over the older one.
        let after = change(before)?.or_else(|| older.map(|_| JobControl::default()));
        all.extend(after.map(|after| (job.to_owned(), after)));
        let bytes = serde_json::to_vec(&all).expect("requests can be written");
        if client.swap_note(group, &key, note.map_or(0, |n| n.revision), bytes).await?.is_some() {
            return edit_group(client, group, |all| all.changed(shard)).await;
        }
    }
    Err(contended(group))
}

async fn legacy(client: &Client, group: &str, job: &str) -> Result<Option<JobControl>> {
    let note = client.note_at(group, legacy::CONTROL).await?;
    Ok(parse_legacy(note.as_ref())?.remove(job))
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
        let bytes = serde_json::to_vec(&all).expect("requests can be written");
        if client.swap_note(group, GROUP, note.map_or(0, |n| n.revision), bytes).await?.is_some() {
            return Ok(());
        }
    }
    Err(contended(group))
}

fn contended(group: &str) -> Error {
    let why = format!("the requests for group {group:?} are being changed by others; try again");
    Error::new(ErrorKind::Store, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_in_a_row_are_one_and_those_with_arguments_are_runs_of_their_own() {
        let (mut control, none) = (JobControl::default(), Arguments::new());
        let one = Arguments::from([("a".to_owned(), "1".to_owned())]);
        for arguments in [&none, &none, &one, &none, &one] {
            control.request(0, arguments);
        }
        let runs: Vec<_> = std::iter::successors(Some(control.next_request(0)), |(last, _)| {
            (*last < control.requests).then(|| control.next_request(*last))
        })
        .collect();
        assert_eq!(runs, [(2, none.clone()), (3, one.clone()), (4, none.clone()), (5, one)]);
        control.request(3, &none);
        assert_eq!(control.arguments.len(), 1, "what is settled is dropped");
    }

    #[test]
    fn a_runner_loads_what_has_changed_and_all_if_it_has_missed_too_much() {
        let mut now = GroupControl::default();
        [7, 9, 7].into_iter().for_each(|shard| now.changed(shard));
        assert_eq!(now.changed_since(&GroupControl::default()), [7, 9].into());
        let seen = now.clone();
        assert!(now.changed_since(&seen).is_empty());
        now.changed(3);
        assert_eq!(now.changed_since(&seen), [3].into());
        (0..RECENT).for_each(|_| now.changed(1));
        assert_eq!(now.changed_since(&seen).len(), 256, "one is not named any more");
        assert_eq!(GroupControl::default().changed_since(&now).len(), 256, "the store has lost its data");
    }
}
