//! The judgement for people and programs, and the picture of it.

use crate::history::Believed;
use crate::judge::{Figures, Kind, Needed, Outcome, Verdict, Violation, judge};
use crate::plot;
use cotter_console::duration::words;
use cotter_console::{Console, Exit, Failure, clean};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::time::Duration;

/// Nanoseconds of a millisecond.
const MS: u64 = 1_000_000;
/// The widest line.
const WIDTH: usize = 80;
/// So many violations of each kind are told in words; all are in the JSON and in the picture.
const TOLD: usize = 3;

/// Judges a run, draws it into this file, and reports it under this title.
pub(crate) fn conclude(
    title: &str,
    run: &Believed,
    needed: Needed,
    plot: Option<File>,
    console: &Console,
) -> Result<Outcome, Failure> {
    let verdict = judge(run, needed);
    if let Some(mut file) = plot {
        plot::draw(run, &verdict.violations, &mut file)
            .map_err(|e| Failure::new(Exit::System, format!("--plot: cannot write: {e}")))?;
    }
    show(title, &verdict, console)?;
    Ok(verdict.outcome())
}

/// How the command ends.
pub(crate) fn exit(outcome: Outcome) -> Exit {
    match outcome {
        Outcome::Passed => Exit::Done,
        Outcome::Failed => Exit::Unclean,
        Outcome::Void => Exit::Void,
    }
}

fn show(title: &str, verdict: &Verdict, console: &Console) -> Result<(), Failure> {
    let mut out = console.out();
    if console.json {
        writeln!(out, "{}", as_json(title, verdict))?;
        return Ok(());
    }
    for line in lines(title, verdict) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn lines(title: &str, verdict: &Verdict) -> Vec<String> {
    let figures = &verdict.figures;
    let mut lines = vec![clean(title)];
    lines.extend(rows(figures).into_iter().map(|(what, value)| format!("  {what:<13} {value}")));
    let mut kinds = BTreeMap::<Kind, usize>::new();
    for violation in &verdict.violations {
        let seen = kinds.entry(violation.kind).or_default();
        *seen += 1;
        if *seen <= TOLD {
            lines.extend(wrapped(&told(violation)));
        }
    }
    lines.extend(
        figures.failure.iter().flat_map(|text| wrapped(&clean(&format!("a request failed: {text}")))),
    );
    for lack in &verdict.void {
        lines.extend(wrapped(&clean(&format!("void: {lack}"))));
    }
    lines.push(match verdict.outcome() {
        Outcome::Passed => "passed".to_owned(),
        Outcome::Failed => {
            let kinds: Vec<_> = kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
            format!("FAILED: {}", kinds.join(", "))
        }
        Outcome::Void => "VOID: too little happened to prove anything".to_owned(),
    });
    lines
}

fn told(violation: &Violation) -> String {
    let Violation { kind, name, text, .. } = violation;
    clean(&format!("violation[{kind}]: {name}: {text}"))
}

fn rows(figures: &Figures) -> Vec<(&'static str, String)> {
    let duration = |nanos| words(Duration::from_nanos(nanos));
    let Figures { acquired, contended, paused, killed, told, failed, .. } = figures;
    vec![
        ("took", duration(figures.took)),
        ("acquired", format!("{acquired}, {contended} of them after a wait for another process")),
        ("longest wait", duration(figures.longest_wait)),
        ("paused", format!("{} for longer than the ttl, {} of them held a lock", paused[0], paused[1])),
        ("killed", format!("{}, {} of them held a lock", killed[0], killed[1])),
        ("losses told", told.to_string()),
        ("failed", format!("{failed} requests")),
        ("tokens", if figures.has_tokens { "checked" } else { "none were told: not checked" }.to_owned()),
    ]
}

/// A text in lines of the width of a terminal; all but the first are indented.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last_mut().expect("there is a first line");
        if !last.trim().is_empty() && last.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push(format!("  {word}"));
        } else {
            if !last.is_empty() {
                last.push(' ');
            }
            last.push_str(word);
        }
    }
    lines
}

fn as_json(title: &str, verdict: &Verdict) -> Value {
    let figures = &verdict.figures;
    let outcome = match verdict.outcome() {
        Outcome::Passed => "passed",
        Outcome::Failed => "failed",
        Outcome::Void => "void",
    };
    let violation = |violation: &Violation| {
        json!({
            "kind": violation.kind.to_string(), "name": violation.name, "processes": violation.processes,
            "from_ns": violation.from, "to_ns": violation.to, "message": violation.text,
        })
    };
    json!({
        "type": "verdict", "what": title, "outcome": outcome,
        "acquired": figures.acquired, "contended": figures.contended,
        "paused": figures.paused[0], "paused_holders": figures.paused[1],
        "killed": figures.killed[0], "killed_holders": figures.killed[1],
        "losses_told": figures.told, "failed": figures.failed, "failure": figures.failure, "tokens": figures.has_tokens,
        "longest_wait_ms": figures.longest_wait / MS, "took_ms": figures.took / MS,
        "violations": verdict.violations.iter().map(violation).collect::<Vec<_>>(),
        "void": verdict.void,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_wrapped_at_the_width_of_a_terminal() {
        let text = "violation[overlap]: ".to_owned() + &"word ".repeat(40);
        let lines = wrapped(text.trim_end());
        assert!(lines.len() == 3 && lines.iter().all(|line| line.chars().count() <= WIDTH), "{lines:#?}");
        assert!(lines[1].starts_with("  word") && !lines[0].starts_with(' '), "{lines:#?}");
    }
}
