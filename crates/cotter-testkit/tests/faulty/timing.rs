//! The stopwatch: what it allows, and what it says.

use cotter_testkit::history::{Class, Kind};
use cotter_testkit::timing::{Busy, Stopwatch};
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_millis(10);

fn said(check: impl FnOnce() + std::panic::UnwindSafe) -> String {
    let refused = catch_unwind(check).expect_err("it is refused");
    refused.downcast::<String>().map(|text| *text).expect("with words")
}

#[test]
fn a_bound_is_as_wide_as_the_machine_is_slow() {
    let ms = Duration::from_millis;
    let allowed = |late, stretch| Busy { late: ms(late), stretch }.allowed(ms(100));
    assert_eq!(allowed(0, 1.0), ms(100), "an idle machine is allowed nothing");
    assert_eq!(allowed(30, 2.5), ms(280));
}

#[test]
fn what_took_too_long_is_told_with_what_the_machine_did() {
    let watch = Stopwatch::of(Kind::SlowHandOver);
    let text = said(|| watch.took_at_most(Duration::from_secs(3600), LIMIT, "a hand-over"));
    assert!(
        text.starts_with("violation[slow-hand-over]: a hand-over: it took 3600s, at most 10ms; "),
        "{text}"
    );
    for told in ["late", "times as long", "a load of ", "which allows "] {
        assert!(text.contains(told), "{text}");
    }
}

#[test]
fn what_came_too_early_is_told_as_such() {
    let text = said(|| Stopwatch::start().at_least(Duration::from_secs(3600), "a pause"));
    assert!(text.starts_with("violation[too-early]: a pause: "), "{text}");
    assert_eq!(Kind::TooEarly.class(), Class::Order, "no busy machine excuses it");
}

#[test]
#[should_panic(expected = "overlap")]
fn two_holders_are_no_matter_of_time() {
    let _ = Stopwatch::of(Kind::Overlap);
}

#[test]
fn of_a_time_before_anybody_watched_nothing_is_known() {
    let Some(begin) = Instant::now().checked_sub(Duration::from_secs(3600)) else { return };
    let _ = Stopwatch::start();
    assert_eq!(Busy::between(begin, begin), None);
}

#[test]
fn a_busy_machine_is_noticed() {
    let (begin, done) = (Stopwatch::start(), AtomicBool::new(false));
    let since = Instant::now();
    thread::scope(|scope| {
        let cores = thread::available_parallelism().map_or(2, usize::from);
        for _ in 0..cores * 4 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    std::hint::spin_loop()
                }
            });
        }
        thread::sleep(Duration::from_secs(2));
        let busy = Busy::since(since);
        done.store(true, Ordering::Relaxed);
        assert!(busy.stretch > 1.5, "four threads want each core: {busy}");
        let then = Busy::between(since, Instant::now()).expect("it was watched");
        assert!(then.stretch > 1.5, "it is remembered: {then}");
    });
    begin.at_least(Duration::from_secs(2), "it was busy for so long");
}
