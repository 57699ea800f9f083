//! What the feature `metrics` makes of events, and that docs/observability.md has all of it.

use crate::links::root;
use cotter::{
    Client, Error, ErrorKind, Event, EventKind, LossCause, Mode, Name, ReleasedTo, memory, metrics,
};
use cotter_testkit::timing::until;
use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// One event of each kind, with two ends.
fn events() -> Vec<EventKind> {
    let (token, kind) = (7.into(), ErrorKind::Unavailable);
    vec![
        EventKind::Acquired { token, waited: SECOND, passed_on: false },
        EventKind::Acquired { token, waited: SECOND, passed_on: true },
        EventKind::Acquired { token, waited: SECOND, passed_on: true },
        EventKind::Busy { waited: SECOND },
        EventKind::Failed { kind, waited: SECOND },
        EventKind::GaveUp { waited: SECOND },
        EventKind::Renewed { token, took: SECOND, left: None },
        EventKind::RenewalFailed { token, kind, left: None },
        EventKind::Lost { token, cause: LossCause::Evicted, held: SECOND, silent_for: None },
        EventKind::Released { token, held: SECOND, to: ReleasedTo::Store },
        EventKind::Outage { doing: "renewing", error: Error::new(kind, "away") },
        EventKind::Outage { doing: "renewing", error: Error::new(kind, "away") },
        EventKind::Recovered { after: SECOND, failures: 3 },
        EventKind::Dropped { events: 9 },
    ]
}

fn is_of_store(kind: &EventKind) -> bool {
    matches!(kind, EventKind::Outage { .. } | EventKind::Recovered { .. } | EventKind::Dropped { .. })
}

/// Metrics as `name{label=value}`, and their values.
fn values(of: &Snapshotter) -> BTreeMap<String, DebugValue> {
    let read = |(key, _, _, value): (metrics_util::CompositeKey, _, _, DebugValue)| {
        let labels: Vec<_> = key.key().labels().map(|l| format!("{}={}", l.key(), l.value())).collect();
        (format!("{}{{{}}}", key.key().name(), labels.join(",")), value)
    };
    of.snapshot().into_vec().into_iter().map(read).collect()
}

fn recorded() -> BTreeMap<String, DebugValue> {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    ::metrics::with_local_recorder(&recorder, || {
        let observer = metrics::observer_by(|name: &Name| name.split(':').next().unwrap().to_owned());
        for kind in events() {
            observer(&match is_of_store(&kind) {
                true => Event::of_store(kind),
                false => Event::of_lock(Name::new("orders:17").unwrap(), Mode::Exclusive, kind),
            });
        }
    });
    values(&snapshotter)
}

#[test]
fn each_event_is_counted_under_the_class_of_its_lock() {
    let found = recorded();
    let counter = |name: &str, n: u64| {
        assert_eq!(found.get(name), Some(&DebugValue::Counter(n)), "{name}: {found:#?}");
    };
    counter("cotter_lock_acquired_total{lock=orders}", 3);
    counter("cotter_lock_busy_total{lock=orders}", 1);
    counter("cotter_lock_failed_total{lock=orders,kind=unavailable}", 1);
    counter("cotter_lock_gave_up_total{lock=orders}", 1);
    counter("cotter_lock_lost_total{lock=orders,cause=evicted}", 1);
    counter("cotter_lock_renewal_failures_total{lock=orders}", 1);
    counter("cotter_store_outages_total{}", 2);
    counter("cotter_events_dropped_total{}", 9);
    for (gauge, n) in [("cotter_lock_held{lock=orders}", 1.0), ("cotter_store_down{}", 1.0)] {
        assert_eq!(found.get(gauge), Some(&DebugValue::Gauge(n.into())), "{gauge}: {found:#?}");
    }
    for (histogram, n) in
        [("cotter_lock_wait_seconds{lock=orders}", 3), ("cotter_lock_hold_seconds{lock=orders}", 2)]
    {
        let seconds = vec![1.0.into(); n];
        assert_eq!(found.get(histogram), Some(&DebugValue::Histogram(seconds)), "{histogram}: {found:#?}");
    }
    assert!(found.keys().all(|key| !key.contains("17")), "a raw name: {found:#?}");
}

#[test]
fn the_page_has_every_metric_and_no_other() {
    let page = std::fs::read_to_string(root().join("docs/observability.md")).expect("the page");
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let names = |text: &str| -> BTreeSet<String> {
        // Those of `cotter run` are compared by the tests of the command.
        let is_ours = |word: &&str| word.starts_with("cotter_") && !word.starts_with("cotter_run_");
        let words = text.split(|c| !is_part(c)).filter(is_ours);
        words.map(|word| word.trim_end_matches("_bucket").to_owned()).collect()
    };
    let made = recorded().into_keys().map(|key| key.split('{').next().unwrap().to_owned()).collect();
    // Alerts may use the series of a histogram; the table has the metrics.
    let table = page.lines().filter(|line| line.starts_with("| `cotter_")).collect::<Vec<_>>().join("\n");
    assert_eq!(names(&table), made, "the table of docs/observability.md");
    let others: Vec<_> = names(&page).difference(&made).cloned().collect();
    assert!(others.is_empty(), "in docs/observability.md, and nowhere else: {others:?}");
}

/// Their labels are in the table of the page, too.
#[test]
fn the_page_has_every_kind_of_event() {
    let page = std::fs::read_to_string(root().join("docs/observability.md")).expect("the page");
    for kind in events() {
        let row = format!("| `{}` |", kind.as_str());
        assert!(page.contains(&row), "docs/observability.md has no row {row}");
    }
}

#[test]
fn a_client_is_observed_by_the_recorder_of_the_process() {
    let test = "observed::metrics::a_client_is_observed_by_the_recorder_of_the_process";
    cotter_testkit::in_own_process(
        test,
        |_| (),
        || {
            let recorder = DebuggingRecorder::new();
            let snapshotter = recorder.snapshotter();
            recorder.install().unwrap();
            let client = Client::builder()
                .observe(metrics::observer())
                .connect_to(memory::Store::new())
                .wait()
                .unwrap();
            client.mutex("a").lock().wait().unwrap().finish().wait().unwrap();
            // A snapshot takes the values of counters out.
            let (mut acquired, mut held) = (0, 0);
            until("it is recorded", || {
                for (key, value) in values(&snapshotter) {
                    match (key.as_str(), value) {
                        ("cotter_lock_acquired_total{lock=all}", DebugValue::Counter(n)) => acquired += n,
                        ("cotter_lock_hold_seconds{lock=all}", DebugValue::Histogram(all)) => {
                            held += all.len()
                        }
                        _ => {}
                    }
                }
                acquired >= 1 && held >= 1
            });
            assert_eq!((acquired, held), (1, 1));
        },
    );
}
