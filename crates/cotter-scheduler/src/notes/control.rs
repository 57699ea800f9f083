//! Requests of operators to the jobs of a group.

use super::one_shots::{self, Added, OneShotKey};
use super::run::is_default;
use super::{Changes, foreign, instant, legacy, load_all, shard};
use crate::{Error, ErrorKind, Result, UnixTime};
use cotter::{Client, Note};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const LIST: &str = "control";
/// The key of the requests to the whole group.
pub(crate) const GROUP: &str = "group";
/// How often a request is retried when other requests are written at the same time.
const MAX_ATTEMPTS: usize = 100;

/// All requests to a group and its jobs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Control {
    pub(crate) group: GroupControl,
    /// By shard, so that a change copies one of them.
    jobs: BTreeMap<u8, Arc<Shard>>,
    /// One-shot runs, by shard.
    one_shots: BTreeMap<u8, Arc<one_shots::Shard>>,
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
    /// Changes of the requests to single jobs.
    #[serde(flatten)]
    jobs: Changes,
    /// Changes of the one-shot runs.
    #[serde(rename = "o", default, skip_serializing_if = "is_default")]
    one_shots: Changes,
    /// A random number, new at each change: a note that is lost and written again may have the revision of the one before.
    #[serde(rename = "e", default, skip_serializing_if = "is_default")]
    edit: u64,
    /// A random number that is kept: the changes of another note, from before the store lost its data, are not continued here.
    #[serde(rename = "i", default, skip_serializing_if = "is_default")]
    origin: u64,
}

/// The author of a pause of a job or a group, and the reason.
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
    /// The two earliest one-shot runs; they are in notes of their own.
    #[serde(skip)]
    pub(crate) one_shots: Vec<Added>,
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
    /// Whether the note that was seen is lost, and this one was begun without it.
    fn is_another(&self, seen: &Self) -> bool {
        seen.origin != 0 && self.origin != seen.origin
    }

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
}

impl Control {
    /// The requests to a job alone.
    pub(crate) fn own(&self, job: &str) -> JobControl {
        let own = self.jobs.get(&shard::of(job)).and_then(|shard| shard.get(job));
        own.or_else(|| self.legacy.get(job)).cloned().unwrap_or_default()
    }

    /// Whether this is the note of the group that was loaded.
    pub(crate) fn is_of(&self, note: Option<&Note>) -> Result<bool> {
        Ok(GroupControl::parse(note)? == self.group)
    }

    /// Whether a job is paused, by itself or with the group.
    pub(crate) fn is_paused(&self, job: &str) -> bool {
        self.group.pause.is_some() || self.own(job).pause.is_some()
    }

    /// The requests that apply to a job: its own, and those to the group.
    pub(crate) fn of(&self, job: &str) -> JobControl {
        let own = self.own(job);
        JobControl {
            pause: own.pause.or_else(|| self.group.pause.clone()),
            resumed_at: own.resumed_at.max(self.group.resumed_at),
            one_shots: self.one_shots_of(job),
            ..own
        }
    }

    /// The two earliest: one of them may be the last run of the job.
    fn one_shots_of(&self, job: &str) -> Vec<Added> {
        let shards = self.one_shots.values().filter(|shard| !shard.is_empty());
        let mut found: Vec<_> = shards.flat_map(|shard| one_shots::earliest(shard, job, 2)).collect();
        found.sort_by_key(|added| (added.at, &added.key));
        found.into_iter().take(2).cloned().collect()
    }

    /// Whether a one-shot run is known here.
    pub(crate) fn has_one_shot(&self, key: &OneShotKey) -> bool {
        let shard = self.one_shots.get(&one_shots::shard_of(&key.id));
        shard.is_some_and(|shard| shard.keys().any(|(.., other)| other == key))
    }

    /// Drops a one-shot run that is no longer in the store.
    pub(crate) fn drop_one_shot(&mut self, key: &OneShotKey) {
        if let Some(shard) = self.one_shots.get_mut(&one_shots::shard_of(&key.id)) {
            Arc::make_mut(shard).retain(|(.., other), _| other != key);
        }
    }

    /// The jobs whose own requests have changed or are gone, or that have new one-shot runs.
    pub(crate) fn changed<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = &'a str> {
        let gone = before.changed_requests(self).filter(|job| !self.has_own(job));
        self.changed_requests(before).chain(gone).chain(self.new_one_shots(before))
    }

    fn has_own(&self, job: &str) -> bool {
        self.jobs.get(&shard::of(job)).is_some_and(|shard| shard.contains_key(job))
    }

    fn new_one_shots<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = &'a str> {
        self.one_shots.iter().flat_map(|(number, shard)| {
            let old = before.one_shots.get(number);
            let shard = old.is_none_or(|old| !Arc::ptr_eq(old, shard)).then_some(shard);
            let is_new = move |key| old.is_none_or(|old| !old.contains_key(key));
            let new = shard.into_iter().flat_map(|shard| shard.keys()).filter(move |key| is_new(key));
            new.map(|(job, ..)| job.as_str())
        })
    }

    fn changed_requests<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = &'a str> {
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
    one_shots: Vec<(u8, Option<Note>)>,
}

/// Loads all requests.
pub(crate) async fn load(client: &Client, group: &str) -> cotter::Result<Loaded> {
    let keys = [GROUP, legacy::CONTROL].map(str::to_owned).to_vec();
    let (first, shards, one_shots) = load_keys(client, group, keys, None, None).await?;
    let [group, legacy] = first.try_into().expect("as many as keys");
    Ok(Loaded { group, legacy, shards, one_shots })
}

/// Loads the requests that have changed, given the note of the group.
pub(crate) async fn load_changed(
    client: &Client,
    group: &str,
    note: Note,
    known: &Control,
) -> cotter::Result<Loaded> {
    // An error is reported when it is parsed again.
    let (jobs, one_shots) = match GroupControl::parse(Some(&note)) {
        Ok(now) if now.is_another(&known.group) => (None, None),
        Ok(now) => named(now.jobs.since(&known.group.jobs), now.one_shots.since(&known.group.one_shots)),
        Err(_) => (Some(BTreeSet::new()), Some(BTreeSet::new())),
    };
    let (_, shards, one_shots) = load_keys(client, group, Vec::new(), jobs, one_shots).await?;
    Ok(Loaded { group: Some(note), legacy: None, shards, one_shots })
}

type Names = Option<BTreeSet<u8>>;

/// The shards to load. If none is named, all are: either the whole group was paused or resumed, or the store has lost its data,
/// and there were as many requests since as before.
fn named(jobs: Names, one_shots: Names) -> (Names, Names) {
    match (jobs, one_shots) {
        (Some(jobs), Some(one_shots)) if jobs.is_empty() && one_shots.is_empty() => (None, None),
        some => some,
    }
}

type Shards = Vec<(u8, Option<Note>)>;

/// Loads notes of the group: these, and those of some shards, or of all.
async fn load_keys(
    client: &Client,
    group: &str,
    mut keys: Vec<String>,
    jobs: Option<BTreeSet<u8>>,
    one_shots: Option<BTreeSet<u8>>,
) -> cotter::Result<(Vec<Option<Note>>, Shards, Shards)> {
    let jobs = jobs.unwrap_or_else(|| shard::all().collect());
    let one_shots = one_shots.unwrap_or_else(|| one_shots::shards().collect());
    let first = keys.len();
    keys.extend(jobs.iter().map(|shard| shard::key(LIST, *shard)));
    keys.extend(one_shots.iter().map(|shard| one_shots::shard_key(*shard)));
    let places = keys.into_iter().map(|key| (group.to_owned(), key)).collect::<Vec<_>>();
    let mut notes = load_all(client, places).await?;
    let mut rest = notes.split_off(first);
    let later = rest.split_off(jobs.len());
    Ok((notes, jobs.into_iter().zip(rest).collect(), one_shots.into_iter().zip(later).collect()))
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
        let mut one_shots = known.one_shots.clone();
        for (shard, note) in &self.one_shots {
            one_shots.insert(*shard, Arc::new(one_shots::parse(note.as_ref())?));
        }
        let legacy = match &self.legacy {
            Some(note) => Arc::new(parse_legacy(Some(note))?),
            None => known.legacy.clone(),
        };
        Ok(Control { group: GroupControl::parse(self.group.as_ref())?, jobs, one_shots, legacy })
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
        if bytes.len() > Note::MAX_BYTES {
            return Err(full(group, job));
        }
        if client.swap_note(group, &key, note.map_or(0, |n| n.revision), bytes).await?.is_some() {
            return edit_group(client, group, |all| all.jobs.add(shard)).await;
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

    /// As many changes as before the loss, and one more, look as if there had been one.
    #[tokio::test]
    async fn the_changes_after_a_loss_of_data_do_not_continue_those_before() {
        let store = || cotter::Client::builder().url("memory:").in_this_runtime();
        let pause = |mut control: JobControl| {
            control.pause = Some(Pause { by: "alice".into(), reason: String::new() });
            Ok(Some(control))
        };
        assert_ne!(shard::of("a"), shard::of("b"));
        let before = store().connect().await.unwrap();
        edit_job(&before, "g", "a", pause).await.unwrap();
        let known = load(&before, "g").await.unwrap().parse(&Control::default()).unwrap();
        let after = store().connect().await.unwrap();
        for job in ["b", "a"] {
            edit_job(&after, "g", job, pause).await.unwrap();
        }
        let note = after.note_at("g", GROUP).await.unwrap().unwrap();
        let loaded = load_changed(&after, "g", note, &known).await.unwrap().parse(&known).unwrap();
        for job in ["a", "b"] {
            assert!(loaded.of(job).pause.is_some(), "violation[unseen]: {job}");
        }
    }
}
