//! This process's own figures for each job.

use cotter_scheduler::{Ending, Event, EventKind};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The upper bounds of the histograms, in seconds.
pub(super) const BOUNDS: [f64; 12] =
    [0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14_400.0];

/// The figures of all jobs.
#[derive(Default)]
pub(super) struct Figures(Mutex<BTreeMap<String, JobFigures>>);

/// The figures of one job, counted since this process was started.
#[derive(Clone, Default)]
pub(super) struct JobFigures {
    /// Runs that have ended, by outcome.
    pub(super) runs: BTreeMap<&'static str, u64>,
    pub(super) running: u64,
    pub(super) lateness: Histogram,
    pub(super) duration: Histogram,
    pub(super) skipped: u64,
    pub(super) missed: u64,
    pub(super) merged: u64,
    pub(super) retries: u64,
}

#[derive(Clone, Default)]
pub(super) struct Histogram {
    /// The values up to each bound, not counting those up to the one before.
    pub(super) buckets: [u64; BOUNDS.len()],
    pub(super) count: u64,
    pub(super) sum: f64,
}

impl Histogram {
    pub(super) fn add(&mut self, value: Duration) {
        let seconds = value.as_secs_f64();
        if let Some(at) = BOUNDS.iter().position(|bound| seconds <= *bound) {
            self.buckets[at] += 1;
        }
        (self.count, self.sum) = (self.count + 1, self.sum + seconds);
    }
}

impl Figures {
    /// Sets the names of the jobs, so that all of them have figures from the beginning. Those of removed jobs are dropped.
    pub(super) fn names<'a>(&self, names: impl Iterator<Item = &'a str>) {
        let mut jobs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut old = std::mem::take(&mut *jobs);
        *jobs = names.map(|name| (name.to_owned(), old.remove(name).unwrap_or_default())).collect();
        // A run in progress is still to be counted.
        jobs.extend(old.into_iter().filter(|(_, job)| job.running > 0));
    }

    pub(super) fn all(&self) -> BTreeMap<String, JobFigures> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn event(&self, event: &Event) {
        let Some(name) = event.job.as_deref() else { return };
        let mut jobs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(job) = jobs.get_mut(name) else { return };
        match &event.kind {
            EventKind::Started { late, attempt, .. } => {
                job.running += 1;
                if *attempt == 1 {
                    job.lateness.add(*late);
                }
            }
            EventKind::Ended { outcome, took, .. } => {
                job.running = job.running.saturating_sub(1);
                *job.runs.entry(outcome.word()).or_default() += 1;
                job.duration.add(*took);
            }
            EventKind::Crashed { .. } => *job.runs.entry(Ending::Crashed.word()).or_default() += 1,
            EventKind::Retrying { .. } => job.retries += 1,
            EventKind::Skipped { n, .. } => job.skipped += n,
            EventKind::Missed { n, .. } => job.missed += n,
            EventKind::Merged { n } => job.merged += n,
            _ => {}
        }
    }
}
