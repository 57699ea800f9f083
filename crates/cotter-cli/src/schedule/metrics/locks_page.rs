//! The figures of locks as text. docs/observability.md lists them; a test compares.

use super::figures::Histogram;
use super::locks::{AllLocks, LockFigures};
use super::page::histogram;
use crate::prometheus::Page;
use cotter::LossCause;
use std::collections::BTreeMap;

pub(super) fn locks(page: &mut Page, group: &str, all: &AllLocks) {
    for (name, help, of) in HISTOGRAMS {
        page.metric(name, "histogram", help);
        for (lock, figures) in &all.locks {
            histogram(page, name, [("group", group), ("lock", lock)], of(figures));
        }
    }
    for (name, kind, help, of) in PLAIN {
        page.metric(name, kind, help);
        for (lock, figures) in &all.locks {
            page.sample(name, &[("group", group), ("lock", lock)], of(figures));
        }
    }
    for (name, label, help, of, usual) in DIVIDED {
        page.metric(name, "counter", help);
        for (lock, figures) in &all.locks {
            let mut counts: Counts = usual.iter().map(|cause| (cause.as_str(), 0)).collect();
            counts.extend(of(figures));
            for (value, count) in counts {
                page.sample(name, &[("group", group), ("lock", lock), (label, value)], count);
            }
        }
    }
    let mut of_store = |name: &str, kind: &str, help: &str, value: u64| {
        page.metric(name, kind, help);
        page.sample(name, &[("group", group)], value);
    };
    of_store("cotter_store_outages_total", "counter", "Times that the store stopped answering.", all.outages);
    of_store(
        "cotter_store_down",
        "gauge",
        "Whether the store does not answer requests for locks.",
        all.is_down.into(),
    );
    of_store("cotter_events_dropped_total", "counter", "Events of locks that were not counted.", all.dropped);
}

type Counts = BTreeMap<&'static str, u64>;
type Of<T> = fn(&LockFigures) -> T;
type Divided = (&'static str, &'static str, &'static str, In<Counts>, &'static [LossCause]);
type In<T> = for<'a> fn(&'a LockFigures) -> &'a T;

const HISTOGRAMS: [(&str, &str, In<Histogram>); 2] = [
    ("cotter_lock_wait_seconds", "From the call until the lock was granted.", |lock| &lock.wait),
    ("cotter_lock_hold_seconds", "From the grant of a lock to its release or loss.", |lock| &lock.hold),
];

const PLAIN: [(&str, &str, &str, Of<u64>); 5] = [
    ("cotter_lock_held", "gauge", "Locks that are held.", |lock| lock.held),
    ("cotter_lock_acquired_total", "counter", "Locks acquired.", |lock| lock.acquired),
    (
        "cotter_lock_busy_total",
        "counter",
        "Calls that found the lock taken for as long as they waited.",
        |lock| lock.busy,
    ),
    ("cotter_lock_gave_up_total", "counter", "Calls that were dropped before they ended.", |lock| {
        lock.gave_up
    }),
    ("cotter_lock_renewal_failures_total", "counter", "Renewals that failed and are repeated.", |lock| {
        lock.renewal_failures
    }),
];

/// With the values of the label that are there from the beginning, so that a first loss is an increase.
const DIVIDED: [Divided; 2] = [
    ("cotter_lock_failed_total", "kind", "Calls that ended with an error.", |lock| &lock.failed, &[]),
    ("cotter_lock_lost_total", "cause", "Locks lost while they were held.", |lock| &lock.lost, &USUAL_CAUSES),
];
const USUAL_CAUSES: [LossCause; 4] =
    [LossCause::Expired, LossCause::Evicted, LossCause::Gone, LossCause::SessionLost];
