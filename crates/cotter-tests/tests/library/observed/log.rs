//! What is in the log: levels, targets and fields; and the span around an acquisition.

use super::Seen;
use cotter::{Client, Lease, memory};
use cotter_testkit::in_own_process;
use cotter_testkit::timing::{FAR, until};
use std::fmt::{Debug, Write};
use std::sync::Mutex;
use std::time::Duration;
use tracing::{Level, Metadata, field, span};

static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Everything down to this level, as lines.
struct Listener(Level);

fn line(about: &Metadata<'_>, record: impl FnOnce(&mut dyn field::Visit)) {
    let mut line = format!("{} {} {} ", about.level(), about.target(), about.name());
    record(&mut |field: &field::Field, value: &dyn Debug| {
        write!(line, "{field}={value:?} ").expect("it is text");
    });
    LINES.lock().unwrap().push(line);
}

impl tracing::Subscriber for Listener {
    fn enabled(&self, about: &Metadata<'_>) -> bool {
        *about.level() <= self.0 && about.target().starts_with("cotter")
    }
    fn max_level_hint(&self) -> Option<tracing::level_filters::LevelFilter> {
        Some(self.0.into())
    }
    fn new_span(&self, span: &span::Attributes<'_>) -> span::Id {
        line(span.metadata(), |visit| span.record(visit));
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        line(event.metadata(), |visit| event.record(visit));
    }
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

/// Waits for a line with all of these parts.
fn expect(parts: &[&str]) {
    let is_it = |line: &String| parts.iter().all(|part| line.contains(part));
    until(&format!("the log has {parts:?}"), || LINES.lock().unwrap().iter().any(is_it));
}

#[test]
fn the_log_has_what_happened_under_one_target() {
    in_own_process(
        "observed::log::the_log_has_what_happened_under_one_target",
        |_| (),
        || {
            tracing::subscriber::set_global_default(Listener(Level::TRACE)).unwrap();
            let client = Client::builder().connect_to(memory::Store::new()).wait().unwrap();
            let renewed = Lease::renewed(Duration::from_millis(200));
            let guard = client.mutex("a").lease(renewed).lock().wait().unwrap();
            let token = format!("lock.token={} ", guard.token());
            let lock = ["lock.name=\"a\"", &token, "lock.mode=\"exclusive\"", "store.system=\"memory\""];
            let with = |what: &[&'static str]| [what, &lock[..]].concat();
            expect(&["DEBUG cotter cotter.acquire ", "lock.name=a", "lock.mode=\"exclusive\""]);
            expect(&with(&["DEBUG cotter ", "message=acquired", "passed_on=false"]));
            expect(&with(&["TRACE cotter ", "message=renewed", "left_ms="]));
            guard.finish().wait().unwrap();
            expect(&with(&["DEBUG cotter ", "message=released", "to=\"store\"", "held_ms="]));
            let lease = Lease::fixed(Duration::from_millis(20));
            let lost = client.mutex("b").lease(lease).lock().wait().unwrap();
            lost.lost().wait_for(FAR).expect("it ends");
            let token = format!("lock.token={} ", lost.token());
            expect(&["WARN cotter ", "message=lock lost", "lock.name=\"b\"", &token, "held_ms="]);
        },
    );
}

#[test]
fn an_observer_that_panics_is_logged_once() {
    in_own_process(
        "observed::log::an_observer_that_panics_is_logged_once",
        |_| (),
        || {
            tracing::subscriber::set_global_default(Listener(Level::ERROR)).unwrap();
            let panics = |_: &cotter::Event| std::panic::resume_unwind(Box::new("an observer panics"));
            let (observer, seen) = Seen::new();
            let client = Client::builder()
                .observe(panics)
                .observe(observer)
                .connect_to(memory::Store::new())
                .wait()
                .unwrap();
            client.mutex("a").lock().wait().unwrap().finish().wait().unwrap();
            drop(client);
            // The thread has ended.
            assert_eq!(seen.all().len(), 2);
            let lines = LINES.lock().unwrap();
            assert!(
                lines.len() == 1 && lines[0].contains("ERROR cotter ") && lines[0].contains("panicked"),
                "{lines:?}"
            );
        },
    );
}

#[test]
fn what_the_log_does_not_want_is_not_told_and_a_loss_always_is() {
    let test = "observed::log::what_the_log_does_not_want_is_not_told_and_a_loss_always_is";
    in_own_process(
        test,
        |_| (),
        || {
            tracing::subscriber::set_global_default(Listener(Level::INFO)).unwrap();
            let client = Client::builder().connect_to(memory::Store::new()).wait().unwrap();
            let lease = Lease::fixed(Duration::from_millis(20));
            client.mutex("a").lock().wait().unwrap().finish().wait().unwrap();
            let lost = client.mutex("a").lease(lease).lock().wait().unwrap();
            lost.lost().wait_for(FAR).expect("it ends");
            expect(&["WARN cotter ", "message=lock lost", "lock.name=\"a\"", "its lease ended"]);
            assert_eq!(LINES.lock().unwrap().len(), 1, "{LINES:?}");
        },
    );
}
