//! Jobs of a file that run on each host, and that no host has had so far. Each host has a job of its own, which nobody else can make
//! known: only the file tells that there are such jobs.

use crate::schedule::file::{File, Spec};
use cotter_console::{Console, clean};
use cotter_scheduler::JobStatus;

/// A job that runs on each host with these labels.
#[derive(Debug)]
pub(super) struct OnEach {
    pub(super) name: String,
    labels: Vec<String>,
}

impl OnEach {
    /// Those of a file.
    pub(super) fn of(file: &File) -> Vec<Self> {
        let on_each = file.jobs.iter().filter(|job| job.is_for_each());
        let labels = |job: &Spec| job.on().iter().map(ToString::to_string).collect();
        on_each.map(|job| Self { name: job.name.clone(), labels: labels(job) }).collect()
    }

    /// Whether no host has had it, given all jobs.
    pub(super) fn is_unseen(&self, all: &[JobStatus]) -> bool {
        let is_of_host =
            |name: &str| name.strip_prefix(&*self.name).is_some_and(|rest| rest.starts_with('@'));
        !all.iter().any(|job| is_of_host(&job.name))
    }

    pub(super) fn message(&self) -> String {
        match &self.labels[..] {
            [] => "no host has had this job".to_owned(),
            [label] => format!("no host with the label {label} has had this job"),
            labels => format!("no host with the labels {} has had this job", labels.join(" and ")),
        }
    }
}

/// Says so of those that nobody has had, beside a list that cannot show them.
pub(super) fn remark(on_each: &[OnEach], all: &[JobStatus], console: &Console) {
    for job in on_each.iter().filter(|job| job.is_unseen(all)) {
        console.remark(&format!("{}: {}", clean(&job.name), job.message()));
    }
}
