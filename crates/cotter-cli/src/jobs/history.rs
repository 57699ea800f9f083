//! `cotter jobs history`.

use crate::table;
use cotter_console::duration::words;
use cotter_console::{Console, Failure, clean};
use cotter_scheduler::Entry;
use serde_json::{Value, json};
use std::io::Write;

pub(super) fn print(entries: &[Entry], with_output: bool, console: &Console) -> Result<(), Failure> {
    if console.json {
        for entry in entries {
            writeln!(console.out(), "{}", object(entry))?;
        }
        return Ok(());
    }
    if entries.is_empty() {
        console.confirm("no run of this job has ended yet");
    }
    let head = ["SLOT", "ATTEMPT", "TOKEN", "HOST", "STARTED", "TOOK", "CODE", "OUTCOME"];
    table::print(head, entries.iter().map(row), console)?;
    if with_output {
        entries.iter().try_for_each(|entry| print_output(entry, console))?;
    }
    Ok(())
}

fn row(entry: &Entry) -> [String; 8] {
    let asked = match (&entry.one_shot, entry.asked) {
        (Some(id), _) => format!(" ({})", clean(id)),
        (None, true) => " (triggered)".to_owned(),
        (None, false) => String::new(),
    };
    [
        format!("{}{asked}", entry.slot),
        entry.attempt.to_string(),
        entry.token.to_string(),
        if entry.host.is_empty() { "-".to_owned() } else { clean(&entry.host) },
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
