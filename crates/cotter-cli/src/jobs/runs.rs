//! Runs of jobs, as tables and as JSON.

use crate::table;
use cotter_console::duration::millis;
use cotter_console::run::{asked, began, code, host, outcome, short_slot, took};
use cotter_console::{Console, Failure, clean};
use cotter_scheduler::Entry;
use serde_json::{Value, json};
use std::io::Write;

/// A run of a job.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run<'a> {
    pub(super) job: &'a str,
    pub(super) entry: &'a Entry,
}

pub(super) fn print_objects(runs: &[Run<'_>], console: &Console) -> Result<(), Failure> {
    console.objects(runs.iter().map(Run::object))
}

/// Of one job. The start is told by how long after its slot it was, the exit code by the outcome.
pub(super) fn print_narrow(runs: &[Run<'_>], console: &Console) -> Result<(), Failure> {
    let head = ["SLOT", "TRY", "HOST", "BEGAN", "TOOK", "OUTCOME"];
    let row = |Run { entry, .. }: &Run<'_>| {
        [short_slot(entry), entry.attempt.to_string(), host(entry), began(entry), took(entry), outcome(entry)]
    };
    table::print(head, runs.iter().map(row), console)
}

/// Of several jobs, whose slots say little beside each other.
pub(super) fn print_narrow_of_many(runs: &[Run<'_>], console: &Console) -> Result<(), Failure> {
    let head = ["JOB", "STARTED", "HOST", "TOOK", "OUTCOME"];
    let row = |Run { job, entry }: &Run<'_>| {
        [clean(job), format!("{:.0}", entry.started), host(entry), took(entry), outcome(entry)]
    };
    table::print(head, runs.iter().map(row), console)
}

/// The same with how late they began, instead of how long they took.
pub(super) fn print_late_of_many(runs: &[Run<'_>], console: &Console) -> Result<(), Failure> {
    let head = ["JOB", "STARTED", "HOST", "BEGAN", "OUTCOME"];
    let row = |Run { job, entry }: &Run<'_>| {
        [clean(job), format!("{:.0}", entry.started), host(entry), began(entry), outcome(entry)]
    };
    table::print(head, runs.iter().map(row), console)
}

pub(super) fn print_wide(runs: &[Run<'_>], console: &Console) -> Result<(), Failure> {
    let head = ["SLOT", "ATTEMPT", "TOKEN", "HOST", "STARTED", "BEGAN", "TOOK", "CODE", "OUTCOME"];
    table::print(head, runs.iter().map(|run| wide(run.entry)), console)
}

pub(super) fn print_wide_of_many(runs: &[Run<'_>], console: &Console) -> Result<(), Failure> {
    let head = ["JOB", "SLOT", "ATTEMPT", "TOKEN", "HOST", "STARTED", "BEGAN", "TOOK", "CODE", "OUTCOME"];
    let row = |Run { job, entry }: &Run<'_>| {
        let [slot, attempt, token, host, started, began, took, code, outcome] = wide(entry);
        [clean(job), slot, attempt, token, host, started, began, took, code, outcome]
    };
    table::print(head, runs.iter().map(row), console)
}

fn wide(entry: &Entry) -> [String; 9] {
    [
        format!("{}{}", entry.slot, asked(entry)),
        entry.attempt.to_string(),
        entry.token.to_string(),
        host(entry),
        format!("{:.3}", entry.started),
        began(entry),
        took(entry),
        code(entry),
        outcome(entry),
    ]
}

/// The outputs of failed runs, as far as they are known.
pub(super) fn print_outputs(runs: &[Run<'_>], is_named: bool, console: &Console) -> Result<(), Failure> {
    for Run { job, entry } in runs {
        let Some(text) = &entry.output else { continue };
        let mut out = console.out();
        let of = if is_named { format!("{}, ", clean(job)) } else { String::new() };
        writeln!(out, "\n{of}{}, attempt {}:", entry.slot, entry.attempt)?;
        for line in text.lines() {
            writeln!(out, "  {}", clean(line))?;
        }
    }
    Ok(())
}

impl Run<'_> {
    pub(super) fn object(&self) -> Value {
        let Self { job, entry } = self;
        json!({
            "job": job,
            "slot": entry.slot.to_string(),
            "asked": entry.asked,
            "id": entry.one_shot,
            "attempt": entry.attempt,
            "token": entry.token.to_string(),
            "host": entry.host,
            "started": format!("{:.3}", entry.started),
            "late_ms": entry.late().map(millis),
            "ended": format!("{:.3}", entry.ended),
            "outcome": entry.ending.word(),
            "reason": entry.ending.reason(),
            "code": entry.code,
            "output": entry.output,
        })
    }
}
