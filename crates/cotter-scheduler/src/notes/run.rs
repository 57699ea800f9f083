//! A run in the notes of its job.

use super::written::Written;
use super::{Arguments, OneShotKey};
use crate::decide::DueRun;
use crate::{Ending, UnixTime};
use serde::{Deserialize, Serialize};

/// The last run of a job, which may be in progress, or an earlier one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub(crate) struct LastRun {
    pub(crate) slot: UnixTime,
    /// Whether it was requested, and has no slot of its own.
    pub(crate) asked: bool,
    pub(crate) attempt: u32,
    /// How often the process died in this slot.
    pub(crate) crashes: u32,
    /// How often its scheduler was stopped in this slot, and the run with it.
    pub(crate) stops: u32,
    pub(crate) token: u64,
    pub(crate) host: String,
    pub(crate) started: UnixTime,
    pub(crate) ended: Option<UnixTime>,
    pub(crate) outcome: Option<String>,
    pub(crate) reason: Option<String>,
    /// The exit code, for runs that have one.
    pub(crate) code: Option<i32>,
    /// When the next attempt is due.
    pub(crate) retry_at: Option<UnixTime>,
    /// The arguments of the request, for another attempt. The history does not keep them.
    pub(crate) arguments: Arguments,
    /// The one-shot run that it is.
    pub(crate) one_shot: Option<OneShotKey>,
    /// The latest request that it answers.
    pub(crate) request: Option<u64>,
}

pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl LastRun {
    pub(crate) fn new(due: &DueRun, token: u64, host: &str, started: UnixTime) -> Self {
        Self {
            slot: due.at,
            asked: due.asked,
            attempt: due.attempt,
            crashes: due.crashes,
            stops: due.stops,
            token,
            host: host.to_owned(),
            started,
            ended: None,
            outcome: None,
            reason: None,
            code: None,
            retry_at: None,
            arguments: due.arguments.clone(),
            one_shot: due.one_shot.clone(),
            request: due.request,
        }
    }

    pub(crate) fn end(&mut self, now: UnixTime, ending: &Ending) {
        self.ended = Some(now.max(self.started));
        self.outcome = Some(ending.word().to_owned());
        self.reason = ending.reason().map(short);
    }

    /// How it ended. An unknown word of a newer version is a failure of that name.
    pub(crate) fn ending(&self) -> Option<Ending> {
        let word = self.outcome.as_deref()?;
        Some(Ending::parse(word, self.reason.as_deref()).unwrap_or_else(|| Ending::Failed(word.to_owned())))
    }

    pub(crate) fn has_ended(&self, ending: &Ending) -> bool {
        self.outcome.as_deref() == Some(ending.word())
    }

    /// The number of attempts before this one that have failed.
    pub(crate) fn retried(&self) -> u32 {
        (self.attempt - 1).saturating_sub(self.crashes).saturating_sub(self.stops)
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
