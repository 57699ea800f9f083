//! The jobs that schedulers have, in little space: a mark shares its note with others.

use super::Mark;
use crate::UnixTime;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::HashSet;
use std::fmt::Write;

/// Six digits for each job. Two jobs may have the same: then the one that nobody has is taken for one that somebody has, and never
/// the other way round.
const DIGITS: usize = 6;

/// The jobs of a scheduler.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Owned(String);

impl Owned {
    /// A scheduler with more jobs does not say which they are.
    pub(crate) const MAX: usize = 1000;

    /// These jobs, unless they are too many.
    pub(crate) fn of(names: impl Iterator<Item = impl AsRef<str>>) -> Option<Self> {
        let all: Vec<_> = names.take(Self::MAX + 1).map(|name| digits(name.as_ref())).collect();
        (all.len() <= Self::MAX).then(|| Self(all.concat()))
    }

    fn has(&self, job: &str) -> bool {
        self.0.as_bytes().chunks(DIGITS).any(|owned| owned == job.as_bytes())
    }
}

/// The schedulers that have this job, and whose workers are all busy while others wait.
pub(crate) fn crowded<'a>(marks: &'a [Mark], job: &str) -> impl Iterator<Item = &'a Mark> {
    let digits = digits(job);
    let has_job = move |mark: &&Mark| mark.jobs.as_ref().is_some_and(|owned| owned.has(&digits));
    marks.iter().filter(|mark| mark.crowded.is_some()).filter(has_job)
}

/// What all schedulers that run have.
pub(crate) struct OfAll {
    /// `None` if one of them does not say.
    jobs: Option<HashSet<String>>,
    /// The oldest of what they said; `None` if none of them runs.
    as_of: Option<UnixTime>,
}

impl OfAll {
    pub(crate) fn of(marks: &[Mark]) -> Self {
        let one = |mark: &Mark| mark.jobs.as_ref().map(|owned| owned.0.clone());
        let jobs = marks.iter().map(one).collect::<Option<Vec<_>>>();
        let split = |jobs: &String| {
            let all = jobs.as_bytes().chunks(DIGITS);
            all.map(|job| String::from_utf8_lossy(job).into_owned()).collect::<Vec<_>>()
        };
        let jobs = jobs.map(|all| all.iter().flat_map(split).collect());
        Self { jobs, as_of: marks.iter().map(|mark| mark.at).min() }
    }

    /// Whether nobody has this job, about which a scheduler has last done something at `touched`. What was said before that tells
    /// nothing.
    pub(crate) fn lack(&self, job: &str, touched: UnixTime) -> bool {
        let is_later = self.as_of.is_none_or(|as_of| as_of >= touched);
        is_later && self.jobs.as_ref().is_some_and(|jobs| !jobs.contains(&digits(job)))
    }
}

fn digits(job: &str) -> String {
    let digest = Sha256::digest(job);
    digest[..DIGITS / 2].iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
