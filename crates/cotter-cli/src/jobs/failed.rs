//! `cotter jobs failed`: which jobs have failed, and how.

use super::history::{cut, tell_limits};
use super::since::Since;
use crate::table;
use clap::Args;
use cotter_console::job::has_failed;
use cotter_console::run::{code, host, outcome};
use cotter_console::{Console, Failure, clean};
use cotter_scheduler::{Ending, Entry, History, Jobs, UnixTime};
use serde_json::{Value, json};
use std::io::Write;

/// Since when, and how much is told.
#[derive(Debug, Args)]
pub(super) struct Which {
    /// Only runs that have ended since then: a duration before now, or an instant in RFC 3339 with an offset
    #[arg(long, value_name = "WHEN", default_value = "24h", value_parser = Since::parse)]
    since: Since,
    /// Show all columns
    #[arg(long)]
    wide: bool,
}

/// A job with a run that has failed.
struct Failing<'a> {
    job: &'a str,
    /// All its runs, failed or not.
    runs: &'a [Entry],
    /// How many of them have failed.
    failed: usize,
    first: &'a Entry,
    last: &'a Entry,
    /// When the oldest run started, if those before it are not kept.
    kept_from: Option<UnixTime>,
}

pub(super) async fn print(jobs: &Jobs, which: &Which, console: &Console) -> Result<(), Failure> {
    let since = which.since.instant(jobs).await?;
    let histories = jobs.histories(Some(since)).await?;
    tell_limits(&histories, Some(since), console);
    let mut failing: Vec<_> = histories.iter().filter_map(|history| Failing::of(history, since)).collect();
    failing.sort_by_key(|failing| failing.last.started);
    if console.json {
        for failing in &failing {
            writeln!(console.out(), "{}", failing.object())?;
        }
        return Ok(());
    }
    if failing.is_empty() {
        console.confirm(&format!("no run of this group has failed since {since:.0}"));
    }
    print_table(&failing, which.wide, console)
}

fn print_table(failing: &[Failing<'_>], is_wide: bool, console: &Console) -> Result<(), Failure> {
    let with_line = |failing: &Failing<'_>| {
        let row = if is_wide { failing.wide() } else { failing.narrow() };
        (row, failing.last_line().map(clean))
    };
    let head: &[&str] = match is_wide {
        false => &["JOB", "FAILED", "LAST", "HOST", "OUTCOME"],
        true => &["JOB", "FAILED", "FIRST", "LAST", "ATTEMPT", "TOKEN", "HOST", "CODE", "OUTCOME", "NOW"],
    };
    table::print_with_lines(head, failing.iter().map(with_line).collect(), console)
}

impl<'a> Failing<'a> {
    fn of(history: &'a History, since: UnixTime) -> Option<Self> {
        let runs = &history.runs[..];
        let failed: Vec<_> = runs.iter().filter(|entry| has_failed(&entry.ending)).collect();
        let (first, last) = (*failed.first()?, *failed.last()?);
        Some(Self {
            job: &history.job,
            runs,
            failed: failed.len(),
            first,
            last,
            kept_from: cut(history, since),
        })
    }

    /// Whether it has succeeded since.
    fn has_recovered(&self) -> bool {
        self.runs.last().is_some_and(|entry| entry.ending == Ending::Ok)
    }

    /// The last line that the last failed run has printed, if that was kept and is not empty.
    fn last_line(&self) -> Option<&'a str> {
        self.last.output.as_deref()?.lines().map(str::trim_end).rfind(|line| !line.is_empty())
    }

    fn often(&self) -> String {
        let of = if self.kept_from.is_some() { "of last" } else { "of" };
        format!("{} {of} {}", self.failed, self.runs.len())
    }

    fn narrow(&self) -> Vec<String> {
        let at = format!("{:.0}", self.last.started);
        vec![clean(self.job), self.often(), at, host(self.last), outcome(self.last)]
    }

    fn wide(&self) -> Vec<String> {
        vec![
            clean(self.job),
            self.often(),
            format!("{:.3}", self.first.started),
            format!("{:.3}", self.last.started),
            self.last.attempt.to_string(),
            self.last.token.to_string(),
            host(self.last),
            code(self.last),
            outcome(self.last),
            if self.has_recovered() { "recovered" } else { "failing" }.to_owned(),
        ]
    }

    fn object(&self) -> Value {
        json!({
            "job": self.job,
            "runs": self.runs.len(),
            "failed": self.failed,
            "kept_from": self.kept_from.map(|from| format!("{from:.3}")),
            "recovered": self.has_recovered(),
            "first_started": format!("{:.3}", self.first.started),
            "slot": self.last.slot.to_string(),
            "attempt": self.last.attempt,
            "token": self.last.token.to_string(),
            "host": self.last.host,
            "started": format!("{:.3}", self.last.started),
            "ended": format!("{:.3}", self.last.ended),
            "outcome": self.last.ending.word(),
            "reason": self.last.ending.reason(),
            "code": self.last.code,
            "last_line": self.last_line(),
        })
    }
}
