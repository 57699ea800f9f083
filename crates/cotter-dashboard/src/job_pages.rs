//! The page of the jobs.

use crate::groups::Group;
use crate::pages::{Frame, State};
use askama::Template;
use cotter_console::clean;
use cotter_console::duration::words;
use cotter_console::job::{failure, from_now, full_state, last_runs, outcome, took};
use cotter_scheduler::{Host, JobStatus, UnixTime};

/// All jobs.
#[derive(Debug, Template)]
#[template(path = "jobs.html")]
pub(crate) struct Jobs {
    pub(crate) frame: Frame,
    pub(crate) tables: JobTables,
}

/// The part of it that changes.
#[derive(Debug, Template)]
#[template(path = "job_tables.html")]
pub(crate) struct JobTables {
    groups: Vec<GroupTable>,
}

#[derive(Debug)]
struct GroupTable {
    name: String,
    /// The name as it is, for links.
    asked: String,
    state: State,
    is_known: bool,
    jobs: Vec<JobLine>,
    hosts: Vec<HostLine>,
}

#[derive(Debug)]
struct JobLine {
    name: String,
    /// The name as it is, for links.
    asked: String,
    state: String,
    /// Something is wrong with it.
    is_bad: bool,
    next: String,
    last: String,
    host: String,
    took: String,
    endings: String,
    outcome: String,
}

#[derive(Debug)]
struct HostLine {
    name: String,
    since: String,
    seen: String,
    busy: String,
    clock_offset: String,
    version: String,
    labels: String,
}

impl JobTables {
    pub(crate) fn of(groups: &[Group]) -> Self {
        Self { groups: groups.iter().map(GroupTable::of).collect() }
    }
}

impl GroupTable {
    fn of(group: &Group) -> Self {
        let now = group.now;
        Self {
            name: clean(&group.name),
            asked: group.name.clone(),
            state: State::new(group.trouble.as_deref(), group.as_of, &[]),
            is_known: group.as_of.is_some(),
            jobs: group.jobs.iter().map(|job| JobLine::of(job, now)).collect(),
            hosts: group.hosts.iter().map(|host| HostLine::of(host, now)).collect(),
        }
    }
}

impl JobLine {
    fn of(job: &JobStatus, now: UnixTime) -> Self {
        let from_now = |at: UnixTime| from_now(at, now);
        let or_none = Option::unwrap_or_default;
        Self {
            name: clean(&job.name),
            asked: job.name.clone(),
            state: full_state(job, now),
            is_bad: failure(job).is_some() || job.orphaned || job.overdue_since.is_some(),
            next: or_none(job.retry_at.or(job.next_slot).map(from_now)),
            last: or_none(job.started.map(from_now)),
            host: or_none(job.host.as_deref().map(clean)),
            took: or_none(took(job)),
            endings: or_none(last_runs(job)),
            outcome: or_none(outcome(job)),
        }
    }
}

impl HostLine {
    fn of(host: &Host, now: UnixTime) -> Self {
        Self {
            name: host.name.as_deref().map_or_else(|| "unknown".to_owned(), clean),
            since: from_now(host.since, now),
            seen: from_now(host.seen, now),
            busy: format!("{} of {}", host.busy, host.workers),
            clock_offset: words(host.clock_offset),
            version: clean(&host.version),
            labels: clean(&host.labels.join(" ")),
        }
    }
}
