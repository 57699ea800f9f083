//! `cotter jobs list`.

use super::runs::has_failed;
use crate::table;
use cotter_console::duration::{relative, words};
use cotter_console::{Console, Failure, clean};
use cotter_scheduler::{Ending, JobStatus, StandsBy, UnixTime, WaitsFor};
use serde_json::{Value, json};
use std::io::Write;

/// How much is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    /// What fits 80 columns, with times from now.
    Narrow,
    /// All there is, with times of day.
    Wide,
}

impl Width {
    pub(super) fn of(wide: bool) -> Self {
        if wide { Self::Wide } else { Self::Narrow }
    }
}

pub(super) fn print(
    jobs: &[JobStatus],
    now: UnixTime,
    width: Width,
    console: &Console,
) -> Result<(), Failure> {
    if console.json {
        for job in jobs {
            writeln!(console.out(), "{}", object(job))?;
        }
        return Ok(());
    }
    if jobs.is_empty() {
        console.confirm("no job of this group has ever been started");
    }
    match width {
        Width::Narrow => {
            let head = ["JOB", "STATE", "NEXT", "LAST RUN", "LAST 10", "OUTCOME"];
            table::print(head, jobs.iter().map(|job| narrow(job, now)), console)
        }
        Width::Wide => {
            let head = [
                "JOB",
                "STATE",
                "NEXT",
                "LAST RUN",
                "HOST",
                "TOOK",
                "LAST 10",
                "OUTCOME",
                "LAST SUCCESS",
                "TRIGGER",
            ];
            table::print(head, jobs.iter().map(|job| wide(job, now)), console)
        }
    }
}

/// An instant for people.
pub(super) fn from_now(at: UnixTime, now: UnixTime) -> String {
    match at < now {
        true => relative(true, now.since(at)),
        false => relative(false, at.since(now)),
    }
}

fn narrow(job: &JobStatus, now: UnixTime) -> [String; 6] {
    let from_now = |at| from_now(at, now);
    [
        clean(&job.name),
        full_state(job, now),
        or_none(job.retry_at.or(job.next_slot).map(from_now)),
        or_none(job.started.map(from_now)),
        last_runs(job),
        or_none(outcome(job)),
    ]
}

fn wide(job: &JobStatus, now: UnixTime) -> [String; 10] {
    [
        clean(&job.name),
        full_state(job, now),
        or_none(job.retry_at.or(job.next_slot).map(|slot| slot.to_string())),
        or_none(job.started.map(millis)),
        or_none(job.host.as_deref().map(clean)),
        or_none(took(job)),
        last_runs(job),
        or_none(outcome(job)),
        or_none(job.succeeded.map(millis)),
        trigger(job),
    ]
}

fn trigger(job: &JobStatus) -> String {
    if job.after.is_empty() { clean(&job.trigger) } else { clean(&format!("after {}", job.after.join(", "))) }
}

fn or_none(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".to_owned())
}

fn full_state(job: &JobStatus, now: UnixTime) -> String {
    let state = state(job, now);
    let orphaned = orphaned(job, &state);
    state + &overdue(job, now) + &requested(job) + &orphaned + &standby(job)
}

/// The slots that wait for their run, whatever else the job does.
fn requested(job: &JobStatus) -> String {
    match job.requested_slots {
        0 => String::new(),
        1 => "; 1 requested slot waits".to_owned(),
        many => format!("; {many} requested slots wait"),
    }
}

fn took(job: &JobStatus) -> Option<String> {
    job.started.zip(job.ended).map(|(from, to)| words(to.since(from)))
}

/// A character for each of the last runs, the newest last.
fn last_runs(job: &JobStatus) -> String {
    let one = |ending: &Ending| match ending {
        Ending::Replaced => 'r',
        failed if has_failed(failed) => 'x',
        _ => '.',
    };
    or_none((!job.last_endings.is_empty()).then(|| job.last_endings.iter().map(one).collect()))
}

fn outcome(job: &JobStatus) -> Option<String> {
    job.ending.as_ref().map(|ending| clean(&ending.to_string()))
}

fn millis(at: UnixTime) -> String {
    format!("{at:.3}")
}

fn state(job: &JobStatus, now: UnixTime) -> String {
    let runs = job.started.is_some() && job.ended.is_none() && !job.unlabelled;
    let by = |who: &Option<String>| who.as_deref().map(|by| format!(" by {}", clean(by))).unwrap_or_default();
    let why = job.pause_reason.as_deref().map(|why| format!(": {}", clean(why))).unwrap_or_default();
    match (job.paused, runs) {
        (true, true) => format!("running, paused{}{}{why}", by(&job.paused_by), ends(job, now)),
        (true, false) => format!("paused{}{}{why}", by(&job.paused_by), ends(job, now)),
        (false, true) => "running".to_owned(),
        (false, false) if !job.waits.is_empty() => waits(&job.waits, now),
        (false, false) if job.retry_at.is_some() => {
            format!("retrying, attempt {}", job.attempt.unwrap_or_default() + 1)
        }
        (false, false) if job.requests > 0 => format!("triggered{}", by(&job.asked_by)),
        (false, false) if job.orphaned => nobody_has(job),
        (false, false) => "waiting".to_owned(),
    }
}

/// When its pause ends by itself.
fn ends(job: &JobStatus, now: UnixTime) -> String {
    job.paused_until.map(|end| format!(", ends {}", from_now(end, now))).unwrap_or_default()
}

/// Said of a job that no scheduler has.
pub(super) fn nobody_has(job: &JobStatus) -> String {
    match &job.on[..] {
        [label] if job.unlabelled => format!("no host has the label {label}"),
        labels if job.unlabelled => format!("no host has the labels {}", labels.join(" and ")),
        _ => "no host has this job".to_owned(),
    }
}

/// That nobody has it, beside another state.
fn orphaned(job: &JobStatus, state: &str) -> String {
    let nobody = nobody_has(job);
    if job.orphaned && state != nobody { format!("; {nobody}") } else { String::new() }
}

/// What a job waits for that others hold.
fn waits(waits: &[WaitsFor], now: UnixTime) -> String {
    let one = |wait: &WaitsFor| {
        let since = words(now.since(wait.since));
        format!("waits for {} for {since}{}", clean(&wait.lock), held(wait))
    };
    waits.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// Who holds what it waits for.
pub(super) fn held(wait: &WaitsFor) -> String {
    wait.held_by.as_deref().map(|by| format!(", held by {}", clean(by))).unwrap_or_default()
}

/// What no scheduler has started although it is due, and why is not said already.
fn overdue(job: &JobStatus, now: UnixTime) -> String {
    if !job.waits.is_empty() {
        return String::new();
    }
    let since = |at| format!(", overdue for {}{}", words(now.since(at)), no_worker(job));
    job.overdue_since.map(since).unwrap_or_default()
}

/// The hosts that have no worker for it.
pub(super) fn no_worker(job: &JobStatus) -> String {
    match &job.no_worker_on[..] {
        [] => String::new(),
        hosts => format!("; no worker free on {}", names(hosts.iter().map(Option::as_deref))),
    }
}

/// The hosts that have another definition.
fn standby(job: &JobStatus) -> String {
    let hosts = names(job.standby.iter().map(|host| host.host.as_deref()));
    match job.standby.len() {
        0 => String::new(),
        1 => format!("; {hosts} stands by"),
        _ => format!("; {hosts} stand by"),
    }
}

/// The names of hosts, some of which may have none.
fn names<'a>(hosts: impl Iterator<Item = Option<&'a str>>) -> String {
    hosts.map(|host| host.map_or_else(|| "a host".to_owned(), clean)).collect::<Vec<_>>().join(", ")
}

pub(super) fn object(job: &JobStatus) -> Value {
    let time = |at: Option<UnixTime>| at.map(millis);
    json!({
        "job": job.name,
        "trigger": job.trigger,
        "generation": job.generation,
        "paused": job.paused,
        "paused_by": job.paused_by,
        "pause_reason": job.pause_reason,
        "paused_since": time(job.paused_since),
        "paused_until": time(job.paused_until),
        "asked_by": job.asked_by,
        "requests": job.requests,
        "requested_slots": job.requested_slots,
        "last_slot": job.last_slot.map(|slot| slot.to_string()),
        "next_slot": job.next_slot.map(|slot| slot.to_string()),
        "overdue_since": time(job.overdue_since),
        "retry_at": time(job.retry_at),
        "attempt": job.attempt,
        "token": job.token.map(|token| token.to_string()),
        "host": job.host,
        "first_started": millis(job.first_started),
        "started": time(job.started),
        "ended": time(job.ended),
        "succeeded": time(job.succeeded),
        "last_outcomes": job.last_endings.iter().map(Ending::word).collect::<Vec<_>>(),
        "outcome": job.ending.as_ref().map(Ending::word),
        "reason": job.ending.as_ref().and_then(Ending::reason),
        "waits": job.waits.iter().map(wait_object).collect::<Vec<_>>(),
        "no_worker_on": job.no_worker_on,
        "orphaned": job.orphaned,
        "after": job.after,
        "on": job.on,
        "unlabelled": job.unlabelled,
        "standby": job.standby.iter().map(standby_object).collect::<Vec<_>>(),
    })
}

fn wait_object(wait: &WaitsFor) -> Value {
    json!({
        "lock": wait.lock,
        "held_by": wait.held_by,
        "host": wait.host,
        "since": millis(wait.since),
        "seen": millis(wait.seen),
    })
}

fn standby_object(host: &StandsBy) -> Value {
    json!({ "host": host.host, "since": millis(host.since), "seen": millis(host.seen) })
}
