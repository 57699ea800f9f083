//! The requests to one job.

use super::super::instant;
use super::super::one_shots::Added;
use super::super::run::is_default;
use super::pause::{self, Pause};
use crate::UnixTime;
use crate::decide::Successes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
    /// When the first request that was pending at the last one was made.
    #[serde(rename = "t", with = "instant::maybe", default, skip_serializing_if = "is_default")]
    pub(crate) requested_at: Option<UnixTime>,
    /// The arguments of requests that have some, by their numbers. Each of them is a run of its own.
    #[serde(rename = "a", default, skip_serializing_if = "is_default")]
    pub(crate) arguments: BTreeMap<u64, Arguments>,
    /// The run that is to end, if an operator wants that.
    #[serde(rename = "s", default, skip_serializing_if = "is_default")]
    pub(crate) stop: Option<StopRun>,
    /// When the jobs that this one follows last succeeded; that is in their own notes.
    #[serde(skip)]
    pub(crate) successes: Successes,
    /// The two earliest one-shot runs that a pause does not hold back; they are in notes of their own.
    #[serde(skip)]
    pub(crate) one_shots: Vec<Added>,
}

/// A request to end a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StopRun {
    /// That of the run: no later one is meant.
    #[serde(rename = "k")]
    pub(crate) token: u64,
    #[serde(rename = "b")]
    pub(crate) by: String,
}

/// The arguments of a requested run.
pub(crate) type Arguments = BTreeMap<String, String>;

impl JobControl {
    /// A pause that ends no earlier than this one stays as it is. Returns whether anything has changed.
    pub(crate) fn pause(&mut self, pause: Pause) -> bool {
        pause::begin(&mut self.pause, pause)
    }

    /// Returns whether anything has changed.
    pub(crate) fn resume(&mut self, now: UnixTime) -> bool {
        pause::end(&mut self.pause, &mut self.resumed_at, now)
    }

    /// Ends a pause whose time is over. Returns whether anything has changed.
    pub(crate) fn expire(&mut self, now: UnixTime) -> bool {
        pause::expire(&mut self.pause, &mut self.resumed_at, now)
    }

    /// Who wants the run with this token to end.
    pub(crate) fn stopped_by(&self, token: u64) -> Option<&str> {
        self.stop.as_ref().filter(|stop| stop.token == token).map(|stop| &*stop.by)
    }

    /// Adds a request to run, given the latest one that is settled.
    pub(crate) fn request(&mut self, handled: u64, arguments: &Arguments, now: UnixTime) {
        if self.requests <= handled {
            self.requested_at = Some(now);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_in_a_row_are_one_and_those_with_arguments_are_runs_of_their_own() {
        let (mut control, none) = (JobControl::default(), Arguments::new());
        let one = Arguments::from([("a".to_owned(), "1".to_owned())]);
        for arguments in [&none, &none, &one, &none, &one] {
            control.request(0, arguments, UnixTime::EPOCH);
        }
        let runs: Vec<_> = std::iter::successors(Some(control.next_request(0)), |(last, _)| {
            (*last < control.requests).then(|| control.next_request(*last))
        })
        .collect();
        assert_eq!(runs, [(2, none.clone()), (3, one.clone()), (4, none.clone()), (5, one)]);
        control.request(3, &none, UnixTime::EPOCH);
        assert_eq!(control.arguments.len(), 1, "what is settled is dropped");
    }
}
