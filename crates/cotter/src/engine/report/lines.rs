//! What the `tracing` events look like.

use super::{Reporter, TARGET};
use crate::{Event, EventKind, FencingToken, Mode};
use std::time::Duration;
use tracing::Level;

/// Returns the level at which an event is logged.
pub(super) fn level(kind: &EventKind) -> Level {
    match kind {
        EventKind::Lost { .. } | EventKind::Outage { .. } | EventKind::Recovered { .. } => Level::WARN,
        EventKind::Renewed { .. } => Level::TRACE,
        _ => Level::DEBUG,
    }
}

/// An event of a lock. All have the same fields, and some have more.
macro_rules! line {
    ($level:ident, $by:expr, $event:expr, $token:expr, { $($more:tt)* }, $text:literal) => {
        tracing::event!(
            target: TARGET,
            Level::$level,
            lock.name = $event.name.as_deref(),
            lock.token = $token.map(FencingToken::get),
            lock.mode = $event.mode.map(Mode::as_str),
            $($more)*
            store.system = $by.system,
            server.address = $by.server.as_deref(),
            $text
        )
    };
}

/// Emits an event. May run user code, and may block.
pub(super) fn emit(by: &Reporter, event: Event) {
    let none = None::<FencingToken>;
    match &event.kind {
        EventKind::Acquired { token, waited, passed_on } => {
            line!(DEBUG, by, event, Some(*token), { waited_ms = ms(*waited), passed_on, }, "acquired");
        }
        EventKind::Busy { waited } => line!(DEBUG, by, event, none, { waited_ms = ms(*waited), }, "busy"),
        EventKind::Failed { kind, waited } => {
            line!(DEBUG, by, event, none, { error.kind = kind.as_str(), waited_ms = ms(*waited), }, "failed");
        }
        EventKind::GaveUp { waited } => {
            line!(DEBUG, by, event, none, { waited_ms = ms(*waited), }, "gave up");
        }
        EventKind::Renewed { token, took, left } => {
            let left_ms = left.map(ms);
            line!(TRACE, by, event, Some(*token), { took_ms = ms(*took), left_ms, }, "renewed");
        }
        EventKind::RenewalFailed { token, kind, left } => {
            let left_ms = left.map(ms);
            line!(DEBUG, by, event, Some(*token), { error.kind = kind.as_str(), left_ms, }, "renewal failed");
        }
        EventKind::Released { token, held, to } => {
            line!(DEBUG, by, event, Some(*token), { held_ms = ms(*held), to = to.as_str(), }, "released");
        }
        EventKind::Lost { token, cause, held, silent_for } => {
            let silent_for_ms = silent_for.map(ms);
            line!(WARN, by, event, Some(*token), { %cause, held_ms = ms(*held), silent_for_ms, }, "lock lost");
        }
        EventKind::Outage { doing, error } => tracing::event!(
            target: TARGET,
            Level::WARN,
            lock.name = event.name.as_deref(),
            %error,
            store.system = by.system,
            server.address = by.server.as_deref(),
            "the store failed while {doing}; will retry"
        ),
        EventKind::Recovered { after, failures } => tracing::warn!(
            target: TARGET,
            after_ms = ms(*after),
            failures,
            store.system = by.system,
            server.address = by.server.as_deref(),
            "the store answers again"
        ),
        // Those of the observers; the log counts its own.
        EventKind::Dropped { .. } => {}
    }
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
