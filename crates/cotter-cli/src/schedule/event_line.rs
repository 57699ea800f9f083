//! One event as a line of text, or as a JSON object. `docs/jobs.md` lists the fields.

use cotter_console::duration::{millis, words};
use cotter_scheduler::{Ending, Event, EventKind, UnixTime};
use serde_json::{Value, json};

/// Whether a run has failed, or a job cannot run. This is reported with `--quiet` too.
pub(super) fn is_problem(kind: &EventKind) -> bool {
    match kind {
        EventKind::Ended { outcome: Ending::Ok | Ending::Replaced, .. }
        | EventKind::Ended { outcome: Ending::Stopped, last: false, .. } => false,
        EventKind::Ended { .. } => true,
        EventKind::Crashed { .. } | EventKind::Broken { .. } | EventKind::RequestsUnreadable { .. } => true,
        _ => false,
    }
}

/// The event for people, with durations as in other commands.
pub(super) fn text(event: &Event) -> String {
    let job = event.job.as_deref().map(|job| format!("{job}: ")).unwrap_or_default();
    match &event.kind {
        EventKind::Ended { slot, outcome, took, last, .. } => {
            let cut = *outcome == Ending::Stopped && !last;
            let then = if cut { "; the slot is run again" } else { "" };
            format!("{job}ended for {slot} after {}: {outcome}{then}", words(*took))
        }
        EventKind::Retrying { slot, attempt, after } => {
            format!("{job}attempt {attempt} for {slot} follows in {}", words(*after))
        }
        EventKind::Draining { rest } => {
            format!("{job}keeps its lock for another {} (at_least), then stops", words(*rest))
        }
        _ => event.to_string(),
    }
}

/// Adds the time to an object.
pub(super) fn stamped(mut object: Value) -> Value {
    object["time"] = format!("{:.3}", UnixTime::now()).into();
    object
}

/// The event for programs.
pub(super) fn object(event: &Event, code: Option<u8>) -> Value {
    let mut object = stamped(fields(&event.kind));
    object["job"] = event.job.as_deref().into();
    if let Some(code) = code {
        object["code"] = code.into();
    }
    object
}

fn fields(kind: &EventKind) -> Value {
    match kind {
        EventKind::Started { slot, attempt, token, late } => json!({
            "event": "started",
            "slot": slot.to_string(),
            "attempt": attempt,
            "token": token.to_string(),
            "late_ms": millis(*late),
        }),
        EventKind::Ended { slot, attempt, token, outcome, took, last } => json!({
            "event": "ended",
            "slot": slot.to_string(),
            "attempt": attempt,
            "token": token.to_string(),
            "outcome": outcome.word(),
            "reason": outcome.reason(),
            "took_ms": millis(*took),
            "last": last,
        }),
        EventKind::Retrying { slot, attempt, after } => json!({
            "event": "retrying",
            "slot": slot.to_string(),
            "attempt": attempt,
            "after_ms": millis(*after),
        }),
        EventKind::Skipped { n, more } => json!({ "event": "skipped", "slots": n, "more": more }),
        EventKind::Missed { n, more } => json!({ "event": "missed", "slots": n, "more": more }),
        EventKind::Merged { n } => json!({ "event": "merged", "slots": n }),
        EventKind::Crashed { slot, token, again } => {
            json!({ "event": "crashed", "slot": slot.to_string(), "token": token.to_string(), "again": again })
        }
        EventKind::Standby { why } => json!({ "event": "standby", "message": why }),
        EventKind::TakenOver { why } => json!({ "event": "taken_over", "message": why }),
        EventKind::Active => json!({ "event": "active" }),
        EventKind::Alarm => json!({ "event": "alarm", "message": kind.to_string() }),
        EventKind::Busy => json!({ "event": "busy" }),
        EventKind::Waiting { lock, held_by } => {
            json!({ "event": "waiting", "lock": lock, "held_by": held_by })
        }
        EventKind::StoreDown { error } => json!({ "event": "store_down", "message": error }),
        EventKind::StoreBack => json!({ "event": "store_back" }),
        EventKind::Broken { error } => json!({ "event": "broken", "message": error }),
        EventKind::RequestsUnreadable { error } => {
            json!({ "event": "requests_unreadable", "message": error })
        }
        EventKind::Draining { rest } => json!({ "event": "draining", "rest_ms": millis(*rest) }),
        EventKind::Paused { yes: true, by, reason, until } => {
            let until = until.map(|end| format!("{end:.3}"));
            json!({ "event": "paused", "by": by, "reason": given(reason), "until": until })
        }
        EventKind::Paused { yes: false, by, .. } => json!({ "event": "resumed", "by": given(by) }),
        other => json!({ "event": "other", "message": other.to_string() }),
    }
}

/// A reason, if one was given.
fn given(reason: &str) -> Option<&str> {
    (!reason.is_empty()).then_some(reason)
}
