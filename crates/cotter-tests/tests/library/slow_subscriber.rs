//! A `tracing` subscriber that blocks must not lose a lock.

use cotter::{Client, Lease, memory};
use cotter_testkit::in_own_process;
use cotter_testkit::timing::FAR;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tracing::span;

const TTL: Duration = Duration::from_millis(150);
static EVENTS: AtomicU32 = AtomicU32::new(0);

/// Blocks for three leases on every event.
struct Slow;

impl tracing::Subscriber for Slow {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        if event.metadata().target().starts_with("cotter") {
            EVENTS.fetch_add(1, Ordering::SeqCst);
            std::thread::sleep(TTL * 3);
        }
    }
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

#[test]
fn a_subscriber_that_blocks_loses_no_lock() {
    let test = "slow_subscriber::a_subscriber_that_blocks_loses_no_lock";
    in_own_process(test, |_| (), with_a_slow_subscriber);
}

fn with_a_slow_subscriber() {
    tracing::subscriber::set_global_default(Slow).unwrap();
    let store = memory::Store::new();
    let client = Client::builder().connect_to(store.clone()).wait().unwrap();
    let other = Client::builder().connect_to(store).wait().unwrap();
    let kept = client.mutex("kept").lease(Lease::renewed(TTL)).lock().wait().unwrap();
    // Each loss is an event that blocks.
    for i in 0..3 {
        let lost = client
            .mutex(format!("lost {i}"))
            .lease(Lease::fixed(Duration::from_millis(20)))
            .lock()
            .wait()
            .unwrap();
        lost.lost().wait_for(FAR).expect("a fixed lease ends on time");
    }
    while EVENTS.load(Ordering::SeqCst) < 2 {
        assert!(kept.is_valid());
        assert!(other.mutex("kept").try_lock().wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(TTL * 2);
    assert!(kept.is_valid(), "renewed while the subscriber slept");
}
