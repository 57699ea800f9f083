//! Metrics of locks, for whatever recorder the program has installed (feature `metrics`).
//!
//! The [metrics](https://docs.rs/metrics) crate is a facade as `tracing` is one: exporters for Prometheus, StatsD or OpenTelemetry
//! are crates of their own. docs/observability.md in the repository lists the metrics with their units, and has alerts for them.
//!
//! ```
//! # fn main() -> cotter::Result<()> {
//! use cotter::{Client, metrics};
//! // "orders:17" and "orders:18" are both counted as "orders".
//! let class = |name: &cotter::Name| name.split(':').next().unwrap_or_default().to_owned();
//! let observer = metrics::observer_by(class);
//! let client = Client::builder().observe(observer).connect("memory:").wait()?;
//! # let _ = client; Ok(()) }
//! ```

use crate::{Event, EventKind, Name};
use ::metrics::{
    SharedString, Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram,
};
use std::borrow::Cow;

const WAIT: &str = "cotter_lock_wait_seconds";
const HOLD: &str = "cotter_lock_hold_seconds";
const HELD: &str = "cotter_lock_held";
const ACQUIRED: &str = "cotter_lock_acquired_total";
const BUSY: &str = "cotter_lock_busy_total";
const FAILED: &str = "cotter_lock_failed_total";
const GAVE_UP: &str = "cotter_lock_gave_up_total";
const LOST: &str = "cotter_lock_lost_total";
const RENEWAL_FAILURES: &str = "cotter_lock_renewal_failures_total";
const OUTAGES: &str = "cotter_store_outages_total";
const DOWN: &str = "cotter_store_down";
const DROPPED: &str = "cotter_events_dropped_total";

/// Returns an [observer](crate::Builder::observe) that records the metrics of all locks under the label `lock="all"`.
///
/// Names and units are described to the recorder that is installed when this is called; install it first.
pub fn observer() -> impl Fn(&Event) + Send + Sync + 'static {
    observer_by(|_| "all")
}

/// Returns an observer that records metrics under the label `lock`, whose value is the class of the name.
///
/// `class` runs for every event of a lock. Recorders keep a series for each value that it has ever returned, so it must return
/// few: never a name that contains the number of an order.
pub fn observer_by<C>(
    class: impl Fn(&Name) -> C + Send + Sync + 'static,
) -> impl Fn(&Event) + Send + Sync + 'static
where
    C: Into<Cow<'static, str>>,
{
    describe();
    move |event| match &event.name {
        Some(name) if event.mode.is_some() => of_lock(&event.kind, class(name).into().into()),
        _ => of_store(&event.kind),
    }
}

fn of_lock(kind: &EventKind, lock: SharedString) {
    match kind {
        EventKind::Acquired { waited, .. } => {
            counter!(ACQUIRED, "lock" => lock.clone()).increment(1);
            gauge!(HELD, "lock" => lock.clone()).increment(1);
            histogram!(WAIT, "lock" => lock).record(*waited);
        }
        EventKind::Released { held, .. } => {
            gauge!(HELD, "lock" => lock.clone()).decrement(1);
            histogram!(HOLD, "lock" => lock).record(*held);
        }
        EventKind::Lost { cause, held, .. } => {
            counter!(LOST, "lock" => lock.clone(), "cause" => cause.as_str()).increment(1);
            gauge!(HELD, "lock" => lock.clone()).decrement(1);
            histogram!(HOLD, "lock" => lock).record(*held);
        }
        EventKind::Busy { .. } => counter!(BUSY, "lock" => lock).increment(1),
        EventKind::Failed { kind, .. } => {
            counter!(FAILED, "lock" => lock, "kind" => kind.as_str()).increment(1);
        }
        EventKind::GaveUp { .. } => counter!(GAVE_UP, "lock" => lock).increment(1),
        EventKind::RenewalFailed { .. } => counter!(RENEWAL_FAILURES, "lock" => lock).increment(1),
        _ => {}
    }
}

fn of_store(kind: &EventKind) {
    match kind {
        EventKind::Outage { .. } => {
            counter!(OUTAGES).increment(1);
            gauge!(DOWN).increment(1);
        }
        EventKind::Recovered { .. } => gauge!(DOWN).decrement(1),
        EventKind::Dropped { events } => counter!(DROPPED).increment(*events),
        _ => {}
    }
}

fn describe() {
    describe_histogram!(WAIT, Unit::Seconds, "from the call until the lock was granted");
    describe_histogram!(HOLD, Unit::Seconds, "from the grant of a lock to its release or loss");
    describe_gauge!(HELD, Unit::Count, "locks that are held");
    describe_counter!(ACQUIRED, Unit::Count, "locks acquired");
    describe_counter!(BUSY, Unit::Count, "calls that found the lock taken for as long as they waited");
    describe_counter!(FAILED, Unit::Count, "calls that ended with an error");
    describe_counter!(GAVE_UP, Unit::Count, "calls that were dropped before they ended");
    describe_counter!(LOST, Unit::Count, "locks lost while they were held");
    describe_counter!(RENEWAL_FAILURES, Unit::Count, "renewals that failed and are repeated");
    describe_counter!(OUTAGES, Unit::Count, "times that the store stopped answering a client");
    describe_gauge!(DOWN, Unit::Count, "clients whose store does not answer");
    describe_counter!(DROPPED, Unit::Count, "events that observers were too slow for");
}
