//! `--next`: the next slots.

use super::file::Spec;
use cotter_console::{Console, Exit, Failure, clean};
use cotter_scheduler::{UnixTime, Zone};
use serde_json::json;
use std::collections::BTreeSet;
use std::io::Write;

/// Prints the next slots of all jobs, then the jobs whose slots depend on earlier runs.
pub(super) fn print(jobs: &[Spec], count: usize, console: &Console) -> Result<Exit, Failure> {
    let now = UnixTime::now();
    let (planned, counted) = plan(jobs, now, count);
    let mut out = console.out();
    let width = jobs.iter().map(|job| job.name.chars().count()).max().unwrap_or_default();
    for (at, job) in planned {
        if console.json {
            writeln!(out, "{}", json!({ "job": job.name, "at": at.to_string() }))?;
            continue;
        }
        let local = if job.zone == Zone::utc() { String::new() } else { format!("  {}", job.zone.local(at)) };
        let line = format!("{at}  {:width$}{local}", clean(&job.name));
        writeln!(out, "{}", line.trim_end())?;
    }
    for job in counted {
        let why = why(job, now);
        match console.json {
            true => writeln!(out, "{}", json!({ "job": job.name, "at": null, "trigger": why }))?,
            false => writeln!(out, "{:20}  {:width$}  {why}", "-", clean(&job.name))?,
        }
    }
    Ok(Exit::Done)
}

/// Why no slot of the job is known.
fn why(job: &Spec, now: UnixTime) -> String {
    match job.trigger.is_planned() {
        _ if !job.enabled => "disabled".to_owned(),
        true if job.trigger.has_ended(now) => format!("{}, which will never run again", job.trigger),
        true => format!("{}, which has no slot behind a million runs of excluded ones", job.trigger),
        false => job.trigger.to_string(),
    }
}

/// The next `count` slots of all jobs, but at least one of each, and the jobs whose slots depend on earlier runs.
fn plan(jobs: &[Spec], now: UnixTime, count: usize) -> (Vec<(UnixTime, &Spec)>, Vec<&Spec>) {
    let mut planned = Vec::new();
    let mut counted = Vec::new();
    for job in jobs {
        let mut at = now;
        let next = || {
            at = job.trigger.next_after(at)?;
            Some((at, job))
        };
        let before = planned.len();
        if job.enabled {
            planned.extend(std::iter::from_fn(next).take(count));
        }
        if planned.len() == before {
            counted.push(job);
        }
    }
    planned.sort_by(|(a, x), (b, y)| a.cmp(b).then_with(|| x.name.cmp(&y.name)));
    let mut seen = BTreeSet::new();
    let mut n = 0..;
    planned.retain(|(_, job)| seen.insert(&job.name) | n.next().is_some_and(|n| n < count));
    (planned, counted)
}
