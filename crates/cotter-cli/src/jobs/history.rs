//! `cotter jobs history`.

use super::list::Width;
use crate::table;
use clap::Args;
use cotter_console::duration::words;
use cotter_console::{Console, Failure, clean};
use cotter_scheduler::{Ending, Entry};
use serde_json::{Value, json};
use std::io::Write;

/// Which runs, and how much of them.
#[derive(Debug, Args)]
pub(super) struct History {
    /// The name of the job within the group
    pub(super) job: String,
    /// Show only this many: the last ones
    #[arg(short = 'n', long, value_name = "N")]
    last: Option<usize>,
    /// Show only runs that did not succeed
    #[arg(long)]
    failed: bool,
    /// Show all columns
    #[arg(long)]
    wide: bool,
    /// Also print the end of the output of failed runs
    #[arg(short, long)]
    output: bool,
}

pub(super) fn print(mut entries: Vec<Entry>, which: &History, console: &Console) -> Result<(), Failure> {
    entries.retain(|entry| !which.failed || entry.ending != Ending::Ok);
    let entries = &entries[entries.len().saturating_sub(which.last.unwrap_or(usize::MAX))..];
    if console.json {
        for entry in entries {
            writeln!(console.out(), "{}", object(entry))?;
        }
        return Ok(());
    }
    if entries.is_empty() {
        console.confirm(match which.failed {
            true => "no run in the history of this job has failed",
            false => "no run of this job has ended yet",
        });
    }
    match Width::of(which.wide) {
        Width::Narrow => {
            let head = ["SLOT", "TRY", "HOST", "BEGAN", "TOOK", "OUTCOME"];
            table::print(head, entries.iter().map(narrow), console)?;
        }
        Width::Wide => {
            let head = ["SLOT", "ATTEMPT", "TOKEN", "HOST", "STARTED", "TOOK", "CODE", "OUTCOME"];
            table::print(head, entries.iter().map(wide), console)?;
        }
    }
    if which.output {
        entries.iter().try_for_each(|entry| print_output(entry, console))?;
    }
    Ok(())
}

/// What was asked for begins at any fraction of a second.
fn short_slot(entry: &Entry) -> String {
    let asked = asked(entry);
    match asked.is_empty() && entry.slot.subsec_nanos() > 0 {
        true => format!("{:.3}", entry.slot),
        false => format!("{:.0}{asked}", entry.slot),
    }
}

fn asked(entry: &Entry) -> String {
    match (&entry.one_shot, entry.asked) {
        (Some(id), _) => format!(" ({})", clean(id)),
        (None, true) => " (triggered)".to_owned(),
        (None, false) => String::new(),
    }
}

fn host(entry: &Entry) -> String {
    if entry.host.is_empty() { "-".to_owned() } else { clean(&entry.host) }
}

/// The start is told by how long after its slot it was, the exit code by the outcome.
fn narrow(entry: &Entry) -> [String; 6] {
    [
        short_slot(entry),
        entry.attempt.to_string(),
        host(entry),
        format!("+{}", words(entry.started.since(entry.slot))),
        words(entry.ended.since(entry.started)),
        clean(&entry.ending.to_string()),
    ]
}

fn wide(entry: &Entry) -> [String; 8] {
    [
        format!("{}{}", entry.slot, asked(entry)),
        entry.attempt.to_string(),
        entry.token.to_string(),
        host(entry),
        format!("{:.3}", entry.started),
        words(entry.ended.since(entry.started)),
        entry.code.map_or_else(|| "-".to_owned(), |code| code.to_string()),
        clean(&entry.ending.to_string()),
    ]
}

/// The output of a failed run, if it is known.
fn print_output(entry: &Entry, console: &Console) -> Result<(), Failure> {
    let Some(text) = &entry.output else { return Ok(()) };
    let mut out = console.out();
    writeln!(out, "\n{}, attempt {}:", entry.slot, entry.attempt)?;
    for line in text.lines() {
        writeln!(out, "  {}", clean(line))?;
    }
    Ok(())
}

fn object(entry: &Entry) -> Value {
    json!({
        "slot": entry.slot.to_string(),
        "asked": entry.asked,
        "id": entry.one_shot,
        "attempt": entry.attempt,
        "token": entry.token.to_string(),
        "host": entry.host,
        "started": format!("{:.3}", entry.started),
        "ended": format!("{:.3}", entry.ended),
        "outcome": entry.ending.word(),
        "reason": entry.ending.reason(),
        "code": entry.code,
        "output": entry.output,
    })
}
