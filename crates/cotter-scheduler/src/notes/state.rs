//! The state of one job.

use super::{foreign, stamp};
use crate::decide::DueRun;
use crate::definition::Definition;
use crate::{Ending, Result, UnixTime};
use serde::{Deserialize, Serialize};

/// The latest supported version of the note.
const VERSION: u32 = 1;

/// The note of a job: which slots are settled, and the last run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct State {
    version: u32,
    /// The hash of the definition in effect.
    pub(crate) hash: String,
    pub(crate) generation: u64,
    #[serde(with = "stamp")]
    pub(crate) defined_at: UnixTime,
    pub(crate) trigger: String,
    /// When the trigger was last changed: no slot lies before it.
    #[serde(with = "stamp")]
    pub(crate) since: UnixTime,
    /// The first start ever.
    #[serde(with = "stamp")]
    pub(crate) anchor: UnixTime,
    /// The latest slot that is settled.
    #[serde(with = "stamp::maybe", default)]
    pub(crate) last: Option<UnixTime>,
    /// The latest request to run that is settled.
    #[serde(default)]
    pub(crate) handled: u64,
    #[serde(default)]
    pub(crate) run: Option<LastRun>,
}

/// The last run, which may be in progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LastRun {
    #[serde(with = "stamp")]
    pub(crate) slot: UnixTime,
    /// Whether it was requested, and has no slot of its own.
    #[serde(default)]
    pub(crate) asked: bool,
    pub(crate) attempt: u32,
    /// How often the process died in this slot.
    #[serde(default)]
    pub(crate) crashes: u32,
    pub(crate) token: u64,
    #[serde(with = "stamp")]
    pub(crate) started: UnixTime,
    #[serde(with = "stamp::maybe", default)]
    pub(crate) ended: Option<UnixTime>,
    #[serde(default)]
    pub(crate) outcome: Option<String>,
    #[serde(default)]
    pub(crate) reason: Option<String>,
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
            since: now,
            anchor: now,
            last: None,
            handled,
            run: None,
        }
    }

    pub(crate) fn parse(bytes: &[u8]) -> Result<Self> {
        let state: Self = serde_json::from_slice(bytes).map_err(|e| foreign("state of the job", &e))?;
        if state.version > VERSION {
            let newer =
                <serde_json::Error as serde::de::Error>::custom(format_args!("version {}", state.version));
            return Err(foreign("state of the job", &newer));
        }
        Ok(state)
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a state can be written")
    }

    /// Records the start of a run under a lock with this token. Returns the token of the run: several runs may follow under one
    /// lock, and each of them needs a larger one.
    pub(crate) fn begin(&mut self, slot: &DueRun, now: UnixTime, lock: u64) -> u64 {
        let token = self.run.as_ref().map_or(lock, |run| lock.max(run.token + 1));
        match slot.request {
            Some(number) => self.handled = self.handled.max(number),
            None => self.last = self.last.max(Some(slot.at)),
        }
        self.run = Some(LastRun {
            slot: slot.at,
            asked: slot.asked,
            attempt: slot.attempt,
            crashes: slot.crashes,
            token,
            started: now,
            ended: None,
            outcome: None,
            reason: None,
        });
        token
    }

    /// Records the end of the run.
    pub(crate) fn end(&mut self, now: UnixTime, ending: &Ending) {
        if let Some(run) = &mut self.run {
            run.end(now, ending);
        }
    }

    /// The run that was started and has not ended.
    pub(crate) fn unfinished(&self) -> Option<&LastRun> {
        self.run.as_ref().filter(|run| run.ended.is_none())
    }
}

impl LastRun {
    pub(crate) fn end(&mut self, now: UnixTime, ending: &Ending) {
        self.ended = Some(now.max(self.started));
        self.outcome = Some(ending.word().to_owned());
        self.reason = ending.reason().map(short);
    }

    pub(crate) fn ending(&self) -> Option<Ending> {
        Ending::parse(self.outcome.as_deref()?, self.reason.as_deref())
    }
}

/// The maximum length of a reason in the note, in characters.
const MAX_REASON_CHARS: usize = 200;

fn short(reason: &str) -> String {
    let line = reason.lines().next().unwrap_or_default();
    match line.char_indices().nth(MAX_REASON_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}
