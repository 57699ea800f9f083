//! The state of one job.

use super::history::{self, Segment};
use super::run::is_default;
use super::{Arguments, LastRun, OneShotKey, foreign, instant};
use crate::decide::{DueRun, Successes};
use crate::definition::{Definition, Settings};
use crate::hash::{AFTER, ON, names_in};
use crate::job::DISABLED;
use crate::{Ending, Result, UnixTime, label};
use serde::de::Error as _;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The version of the note.
const VERSION: u32 = 2;

/// The number of runs of which the note tells how they ended.
const LAST: usize = 10;

/// The note of a job: which slots are settled, the last run, and the runs before it that are not in the history yet. The keys
/// are short, and defaults are left out: it is read once and written twice for each run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct State {
    #[serde(rename = "v")]
    version: u32,
    /// The hash of the definition in effect.
    #[serde(rename = "h")]
    pub(crate) hash: String,
    #[serde(rename = "g", default = "first", skip_serializing_if = "is_first")]
    pub(crate) generation: u64,
    #[serde(rename = "d", with = "instant")]
    pub(crate) defined_at: UnixTime,
    #[serde(rename = "t")]
    pub(crate) trigger: String,
    #[serde(rename = "i", default, skip_serializing_if = "is_default")]
    pub(crate) initial_delay: Duration,
    /// The host that defined it; empty if that is not known. It is left out if the last run was there.
    #[serde(rename = "o", default, skip_serializing_if = "is_default")]
    pub(crate) by: String,
    /// Its jitter: how much later than its slots the job starts.
    #[serde(rename = "j", default, skip_serializing_if = "is_default")]
    pub(crate) shift: Duration,
    /// Its settings, for those who have another definition. Earlier versions did not write them.
    #[serde(rename = "e", default, skip_serializing_if = "is_default")]
    pub(crate) settings: Option<Settings>,
    /// Since when somebody doubts that any host runs it.
    #[serde(rename = "u", with = "instant::maybe", default, skip_serializing_if = "is_default")]
    pub(crate) doubted: Option<UnixTime>,
    /// When the trigger was last changed: no slot lies before it.
    #[serde(rename = "s", with = "instant", default = "epoch", skip_serializing_if = "is_epoch")]
    pub(crate) since: UnixTime,
    /// The first start ever.
    #[serde(rename = "a", with = "instant")]
    pub(crate) anchor: UnixTime,
    /// The latest slot that is settled.
    #[serde(rename = "l", with = "instant::maybe", default, skip_serializing_if = "is_default")]
    pub(crate) last: Option<UnixTime>,
    /// The latest request to run that is settled.
    #[serde(rename = "q", default, skip_serializing_if = "is_default")]
    pub(crate) handled: u64,
    /// The successes of other jobs that the last run after them was for.
    #[serde(rename = "x", with = "instant::by_name", default, skip_serializing_if = "is_default")]
    pub(crate) followed: Successes,
    /// The end of the last successful run.
    #[serde(rename = "k", with = "instant::maybe", default, skip_serializing_if = "is_default")]
    pub(crate) succeeded: Option<UnixTime>,
    #[serde(rename = "r", default, skip_serializing_if = "is_default")]
    pub(crate) run: Option<LastRun>,
    /// The runs before, as far as they are not in a segment of the history yet.
    #[serde(rename = "p", default, skip_serializing_if = "is_default")]
    past: Vec<LastRun>,
    /// The [letters](Ending::letter) of how the last runs before those ended.
    #[serde(rename = "w", default, skip_serializing_if = "is_default")]
    earlier: String,
    /// How many segments of the history there were so far.
    #[serde(rename = "n", default, skip_serializing_if = "is_default")]
    segments: u64,
    /// The number of runs that the history keeps.
    #[serde(rename = "m", default = "usual", skip_serializing_if = "is_usual")]
    kept: usize,
    /// How many outputs of failed runs were kept so far.
    #[serde(rename = "f", default, skip_serializing_if = "is_default")]
    outputs: u64,
}

fn first() -> u64 {
    1
}

fn is_first(generation: &u64) -> bool {
    *generation == first()
}

fn usual() -> usize {
    history::USUAL_RUNS
}

fn is_usual(kept: &usize) -> bool {
    *kept == usual()
}

fn epoch() -> UnixTime {
    UnixTime::EPOCH
}

fn is_epoch(at: &UnixTime) -> bool {
    *at == UnixTime::EPOCH
}

/// Enough of a note to tell its version.
#[derive(Deserialize)]
struct Version {
    #[serde(rename = "v", alias = "version")]
    version: u32,
}

impl State {
    /// The state of a new job.
    pub(crate) fn fresh(definition: &Definition, now: UnixTime, handled: u64) -> Self {
        Self {
            version: VERSION,
            hash: definition.hash.clone(),
            generation: definition.policy.generation,
            defined_at: definition.defined_at,
            trigger: definition.text.clone(),
            initial_delay: definition.policy.initial_delay,
            by: definition.host.clone(),
            shift: definition.shift,
            settings: Some(definition.settings.clone()),
            doubted: None,
            since: now,
            anchor: now,
            last: None,
            handled,
            followed: Successes::new(),
            succeeded: None,
            run: None,
            past: Vec::new(),
            earlier: String::new(),
            segments: 0,
            kept: 0,
            outputs: 0,
        }
    }

    /// The state of this job in a note; `None` if the job was forgotten.
    pub(crate) fn parse(job: &str, bytes: &[u8]) -> Result<Option<Self>> {
        if bytes.is_empty() {
            return Ok(None);
        }
        let parsed = serde_json::from_slice(bytes).and_then(|Version { version }| match version {
            VERSION => serde_json::from_slice(bytes).map(Self::with_implied),
            other => Err(serde_json::Error::custom(format_args!("version {other}"))),
        });
        parsed.map(Some).map_err(|e| foreign(&format!("state of job {job:?}"), &e))
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut state = self.clone();
        if state.since == state.anchor {
            state.since = UnixTime::EPOCH;
        }
        if state.last == state.implied_last() {
            state.last = None;
        }
        if state.succeeded == state.implied_success() {
            state.succeeded = None;
        }
        if state.by == state.implied_host() {
            state.by.clear();
        }
        serde_json::to_vec(&state).expect("a state can be written")
    }

    /// Adds what a note leaves out because something else implies it.
    fn with_implied(mut self) -> Self {
        if self.since == UnixTime::EPOCH {
            self.since = self.anchor;
        }
        self.last = self.last.or(self.implied_last());
        self.succeeded = self.succeeded.or(self.implied_success());
        if self.by.is_empty() {
            self.by = self.implied_host().to_owned();
        }
        self
    }

    /// The end of the newest run, if it has succeeded: the last run, or the one before if that is in progress.
    fn implied_success(&self) -> Option<UnixTime> {
        let newest = self.recent().last()?;
        newest.ended.filter(|_| newest.ending() == Some(Ending::Ok))
    }

    /// The host of the last run. It is often the one that defined the job.
    fn implied_host(&self) -> &str {
        self.run.as_ref().map_or("", |run| &run.host)
    }

    /// Whether the definition in effect switches the job off.
    pub(crate) fn is_disabled(&self) -> bool {
        self.trigger.starts_with(DISABLED)
    }

    /// The labels that a host needs for the definition in effect, in order.
    pub(crate) fn on(&self) -> Vec<String> {
        let on = self.settings.as_ref().and_then(|settings| settings.get(ON));
        on.map(|on| label::split(on)).unwrap_or_default()
    }

    /// The jobs that it follows by the definition in effect, in order.
    pub(crate) fn after(&self) -> Vec<String> {
        let after = self.settings.as_ref().and_then(|settings| settings.get(AFTER));
        after.map(|after| names_in(after)).unwrap_or_default()
    }

    /// The slot of the last run. It is nearly always the latest one that is settled.
    fn implied_last(&self) -> Option<UnixTime> {
        self.run.as_ref().filter(|run| !run.asked).map(|run| run.slot)
    }

    /// Makes room for the next run. If a segment is returned it has to be written before this state: whoever finds the state as
    /// it was writes the same segment again.
    pub(crate) fn make_room(&mut self, kept: usize) -> Option<Segment> {
        self.past.extend(self.run.clone().map(|run| LastRun { arguments: Arguments::new(), ..run }));
        self.kept = kept;
        if self.past.len() < history::SEGMENT_RUNS {
            return None;
        }
        self.earlier = self.last_letters(self.past.iter());
        let runs = std::mem::take(&mut self.past);
        let segment = Segment::new(self.segments, kept, &runs);
        // Also what is not kept is counted: a reader tells by that whether the history is all there was.
        self.segments += 1;
        segment
    }

    /// Records the start of a run under a lock with this token. Returns the token of the run: several runs may follow under one
    /// lock, and each of them needs a larger one.
    pub(crate) fn begin(&mut self, due: &DueRun, now: UnixTime, lock: u64, host: &str) -> u64 {
        let token = self.run.as_ref().map_or(lock, |run| lock.max(run.token + 1));
        match due.request {
            Some(number) => self.handled = self.handled.max(number),
            None if due.one_shot.is_some() => {}
            None => self.last = self.last.max(Some(due.at)),
        }
        // Those of jobs that it does not follow any more stay: it may follow them again.
        self.followed.extend(due.followed.clone());
        self.run = Some(LastRun::new(due, token, host, now));
        token
    }

    /// Records the end of the run.
    pub(crate) fn end(&mut self, now: UnixTime, ending: &Ending) {
        if let Some(run) = &mut self.run {
            run.end(now, ending);
            if *ending == Ending::Ok {
                self.succeeded = run.ended;
            }
        }
    }

    /// The number of the next output of a failed run, which is counted.
    pub(crate) fn next_output(&mut self) -> u64 {
        self.outputs += 1;
        self.outputs - 1
    }

    /// The last run, if it was a one-shot run.
    pub(crate) fn one_shot(&self) -> Option<&OneShotKey> {
        self.run.as_ref()?.one_shot.as_ref()
    }

    /// The run that was started and has not ended.
    pub(crate) fn unfinished(&self) -> Option<&LastRun> {
        self.run.as_ref().filter(|run| run.ended.is_none())
    }

    /// The runs that have ended and are not in the history, oldest first.
    pub(super) fn recent(&self) -> impl Iterator<Item = &LastRun> {
        self.past.iter().chain(self.run.as_ref().filter(|run| run.ended.is_some()))
    }

    /// How the last runs ended, oldest first. Reading that takes no other note.
    pub(crate) fn last_endings(&self) -> Vec<Ending> {
        self.last_letters(self.recent()).chars().map(Ending::of_letter).collect()
    }

    /// The letters of those of earlier runs and of these.
    fn last_letters<'a>(&self, runs: impl Iterator<Item = &'a LastRun>) -> String {
        let newer = runs.map(|run| run.ending().as_ref().map_or('?', Ending::letter));
        let all: Vec<_> = self.earlier.chars().chain(newer).collect();
        all[all.len().saturating_sub(LAST)..].iter().collect()
    }

    /// How many segments of the history there were so far.
    pub(super) fn segments(&self) -> u64 {
        self.segments
    }

    /// The number of runs that have ended since the job is known, kept or not.
    pub(super) fn ended_runs(&self) -> u64 {
        self.segments * history::SEGMENT_RUNS as u64 + self.recent().count() as u64
    }

    /// The number of runs that the history keeps, as far as the note tells.
    pub(super) fn kept(&self) -> usize {
        self.kept
    }
}
