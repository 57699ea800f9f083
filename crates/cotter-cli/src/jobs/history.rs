//! `cotter jobs history`: which runs.

use super::list::Width;
use super::runs::{self, Run};
use super::since::Since;
use clap::Args;
use cotter_console::duration::parse;
use cotter_console::{Console, Failure, clean};
use cotter_scheduler::{Ending, Entry, History, Jobs, UnixTime};
use std::time::Duration;

/// Which runs, and how much of them.
#[derive(Debug, Args)]
pub(super) struct Which {
    /// The names of jobs within the group [default: all jobs]
    #[arg(value_name = "JOB")]
    jobs: Vec<String>,
    /// Show only runs that have ended since then: a duration before now, or an instant in RFC 3339 with an offset
    #[arg(long, value_name = "WHEN", value_parser = Since::parse)]
    since: Option<Since>,
    /// Show only runs that did not succeed
    #[arg(long)]
    failed: bool,
    /// Show only runs that ended like this, as in the column OUTCOME, for example "timed out"; can be given several times
    #[arg(long, value_name = "OUTCOME", value_parser = outcome)]
    outcome: Vec<&'static str>,
    /// Show only runs that began later than this after their slot, first attempts only; the table says how late
    #[arg(long, value_name = "DURATION", value_parser = parse)]
    late: Option<Duration>,
    /// Show only this many: the last ones
    #[arg(short = 'n', long, value_name = "N")]
    last: Option<usize>,
    /// Show all columns
    #[arg(long)]
    wide: bool,
    /// Also print the end of the output of failed runs
    #[arg(short, long)]
    output: bool,
}

/// The word of an outcome.
fn outcome(text: &str) -> Result<&'static str, String> {
    let known: Vec<_> = Ending::words().collect();
    let found = known.iter().find(|word| **word == text).copied();
    found.ok_or_else(|| format!("no run ends like this; write one of {}", known.join(", ")))
}

pub(super) async fn print(jobs: &Jobs, which: &Which, console: &Console) -> Result<(), Failure> {
    let since = match which.since {
        Some(since) => Some(since.instant(jobs).await?),
        None => None,
    };
    let names = which.names();
    let histories = match &names[..] {
        [] => jobs.histories(since).await?,
        names => jobs.histories_of(names, since).await?,
    };
    tell_limits(&histories, since, console);
    let runs = which.select(&histories);
    if console.json {
        return runs::print_objects(&runs, console);
    }
    if runs.is_empty() {
        console.confirm(&which.nothing(names.len()));
    }
    let is_of_one = names.len() == 1;
    match (is_of_one, Width::of(which.wide)) {
        (true, Width::Narrow) => runs::print_narrow(&runs, console)?,
        (true, Width::Wide) => runs::print_wide(&runs, console)?,
        (false, Width::Narrow) if which.late.is_some() => runs::print_late_of_many(&runs, console)?,
        (false, Width::Narrow) => runs::print_narrow_of_many(&runs, console)?,
        (false, Width::Wide) => runs::print_wide_of_many(&runs, console)?,
    }
    if which.output {
        runs::print_outputs(&runs, !is_of_one, console)?;
    }
    Ok(())
}

impl Which {
    /// The jobs that are asked for, each once.
    fn names(&self) -> Vec<String> {
        let is_new = |(at, job): &(usize, &String)| !self.jobs[..*at].contains(job);
        self.jobs.iter().enumerate().filter(is_new).map(|(_, job)| job.clone()).collect()
    }

    /// Oldest first. Only what is shown counts for the number of runs.
    fn select<'a>(&self, histories: &'a [History]) -> Vec<Run<'a>> {
        let mut runs = all(histories);
        runs.retain(|run| self.includes(run.entry));
        runs.drain(..runs.len().saturating_sub(self.last.unwrap_or(usize::MAX)));
        runs
    }

    fn includes(&self, entry: &Entry) -> bool {
        let is_named = self.outcome.is_empty() || self.outcome.contains(&entry.ending.word());
        let is_late = self.late.is_none_or(|bound| entry.late().is_some_and(|late| late > bound));
        is_named && is_late && (!self.failed || entry.ending != Ending::Ok)
    }

    /// What is said if there is nothing to show.
    fn nothing(&self, jobs: usize) -> String {
        let of = match jobs {
            0 => "this group",
            1 => "this job",
            _ => "these jobs",
        };
        let is_narrowed = self.since.is_some() || !self.outcome.is_empty() || self.late.is_some();
        match (is_narrowed, self.failed) {
            (true, _) => format!("no run in the history of {of} is one of these"),
            (false, true) => format!("no run in the history of {of} has failed"),
            (false, false) => format!("no run of {of} has ended yet"),
        }
    }
}

/// The runs of all jobs, ordered by their start; those of one job stay in their order.
fn all(histories: &[History]) -> Vec<Run<'_>> {
    let mut runs = Vec::new();
    for history in histories {
        runs.extend(history.runs.iter().map(|entry| Run { job: &history.job, entry }));
    }
    if histories.len() > 1 {
        runs.sort_by_key(|run| run.entry.started);
    }
    runs
}

/// Says which histories do not reach back as far as was asked: what is not shown of them may have been.
pub(super) fn tell_limits(histories: &[History], since: Option<UnixTime>, console: &Console) {
    let Some(since) = since else { return };
    for (history, from) in histories.iter().filter_map(|history| Some((history, cut(history, since)?))) {
        let begins = format!("history of `{}` begins at {from:.0}", clean(&history.job));
        console.warning(&format!("{begins}: runs before that are not kept, see `history` in the job file"));
    }
}

/// When a history begins that does not reach back so far.
pub(super) fn cut(history: &History, since: UnixTime) -> Option<UnixTime> {
    history.kept_from.filter(|from| *from > since)
}
