//! `cotter jobs list`.

use crate::table;
use cotter_console::job::{from_now, full_state, last_runs, outcome, took};
use cotter_console::{Console, Failure, clean};
use cotter_scheduler::{Ending, JobStatus, StandsBy, UnixTime, WaitsFor};
use serde_json::{Value, json};

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
        return console.objects(jobs.iter().map(object));
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

fn narrow(job: &JobStatus, now: UnixTime) -> [String; 6] {
    let from_now = |at| from_now(at, now);
    [
        clean(&job.name),
        full_state(job, now),
        or_none(job.retry_at.or(job.next_slot).map(from_now)),
        or_none(job.started.map(from_now)),
        or_none(last_runs(job)),
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
        or_none(last_runs(job)),
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

fn millis(at: UnixTime) -> String {
    format!("{at:.3}")
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
