//! The page of one job: what it does, and its last runs.

use crate::actions::Action;
use crate::groups::Group;
use crate::histories::History;
use crate::pages::{Frame, State};
use askama::Template;
use cotter_console::clean;
use cotter_console::job::{from_now, full_state, has_failed};
use cotter_console::run::{began, code, host, outcome, short_slot, took};
use cotter_scheduler::{Ending, Entry, JobStatus};
use std::time::Duration;

/// One job.
#[derive(Debug, Template)]
#[template(path = "one.html")]
pub(crate) struct JobPage {
    pub(crate) frame: Frame,
    pub(crate) shown: String,
    pub(crate) said: String,
    pub(crate) details: JobDetails,
}

/// The part of it that changes.
#[derive(Debug, Template)]
#[template(path = "job_details.html")]
pub(crate) struct JobDetails {
    state: State,
    is_known: bool,
    job: Option<JobNow>,
    bars: Vec<Bar>,
    /// Of all bars.
    width: usize,
    /// The newest first.
    runs: Vec<RunLine>,
}

#[derive(Debug)]
struct JobNow {
    state: String,
    next: String,
    /// Of the group and of the job, as they are, for links.
    asked: [String; 2],
    actions: Vec<Action>,
}

/// A run as a bar, as long as it took beside the others.
#[derive(Debug)]
struct Bar {
    left: usize,
    top: u128,
    height: u128,
    class: &'static str,
    title: String,
}

#[derive(Debug)]
struct RunLine {
    started: String,
    slot: String,
    attempt: u32,
    host: String,
    began: String,
    took: String,
    code: String,
    outcome: String,
    is_bad: bool,
    output: String,
}

/// The runs that have a bar and a line.
const SHOWN: usize = 100;
/// The room for a bar and the space behind it, and the height of the longest.
const STEP: usize = 10;
const TALLEST: u128 = 60;
/// A run that took next to nothing is seen all the same.
const LEAST: u128 = 2;

impl JobDetails {
    pub(crate) fn of(group: &Group, job: Option<(&JobStatus, &History)>, may_change: bool) -> Self {
        let Some((status, history)) = job else {
            let state = State::new(group.trouble.as_deref(), group.as_of, &[]);
            let (bars, runs) = Default::default();
            return Self { state, is_known: group.as_of.is_some(), job: None, bars, width: 0, runs };
        };
        let (trouble, as_of) = match &group.trouble {
            Some(why) => (Some(why), group.as_of),
            None => (history.trouble.as_ref(), history.as_of),
        };
        let runs = &history.runs[history.runs.len().saturating_sub(SHOWN)..];
        Self {
            state: State::new(trouble.map(String::as_str), as_of, &[]),
            is_known: history.as_of.is_some(),
            job: Some(JobNow::of(group, status, may_change)),
            bars: bars(runs),
            width: runs.len() * STEP,
            runs: runs.iter().rev().map(RunLine::of).collect(),
        }
    }
}

impl JobNow {
    fn of(group: &Group, job: &JobStatus, may_change: bool) -> Self {
        let now = group.now;
        let next = job.retry_at.or(job.next_slot).map(|at| from_now(at, now)).unwrap_or_default();
        let asked = [group.name.clone(), job.name.clone()];
        let actions = if may_change { Action::of(job) } else { Vec::new() };
        Self { state: full_state(job, now), next, asked, actions }
    }
}

fn bars(runs: &[Entry]) -> Vec<Bar> {
    let length = |entry: &Entry| entry.ended.since(entry.started);
    let longest = runs.iter().map(length).max().unwrap_or_default().max(Duration::from_nanos(1));
    let bar = |(at, entry): (usize, &Entry)| {
        let height = (length(entry).as_nanos() * TALLEST / longest.as_nanos()).max(LEAST);
        Bar {
            left: at * STEP,
            top: TALLEST - height,
            height,
            class: class(&entry.ending),
            title: format!("{:.0}, {}: {}", entry.started, took(entry), outcome(entry)),
        }
    };
    runs.iter().enumerate().map(bar).collect()
}

fn class(ending: &Ending) -> &'static str {
    match ending {
        Ending::Replaced => "replaced",
        failed if has_failed(failed) => "bad",
        _ => "good",
    }
}

impl RunLine {
    fn of(entry: &Entry) -> Self {
        let lines = entry.output.as_deref().unwrap_or_default().lines();
        Self {
            started: format!("{:.0}", entry.started),
            slot: short_slot(entry),
            attempt: entry.attempt,
            host: host(entry),
            began: began(entry),
            took: took(entry),
            code: code(entry),
            outcome: outcome(entry),
            is_bad: has_failed(&entry.ending),
            output: lines.map(clean).collect::<Vec<_>>().join("\n"),
        }
    }
}
