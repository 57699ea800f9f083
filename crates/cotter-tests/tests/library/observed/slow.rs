//! Observers that block or panic.

use super::Seen;
use cotter::{Client, EventKind, Lease, memory};
use cotter_testkit::timing::{FAR, until};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const TTL: Duration = Duration::from_millis(150);

/// Holds a lock through many leases, and demands that it is kept.
fn is_renewed(client: &Client, other: &Client) {
    let kept = client.mutex("kept").lease(Lease::renewed(TTL)).lock().wait().unwrap();
    for i in 0..3 {
        let lease = Lease::fixed(Duration::from_millis(20));
        let lost = client.mutex(format!("lost {i}")).lease(lease).lock().wait().unwrap();
        lost.lost().wait_for(FAR).expect("a fixed lease ends on time");
    }
    for _ in 0..10 {
        std::thread::sleep(TTL / 2);
        assert!(kept.is_valid(), "violation[needless-loss]: it was not renewed");
        assert!(other.mutex("kept").try_lock().wait().unwrap().is_none());
    }
    kept.finish().wait().unwrap();
}

/// More events than fit into the queue.
const MANY: usize = 20_000;

#[test]
fn an_observer_that_blocks_loses_no_lock_and_is_told_what_it_missed() {
    let (go_on, blocked) = channel::<()>();
    let blocked = Mutex::new(blocked);
    let (observer, seen) = Seen::new();
    let store = memory::Store::new();
    let client = Client::builder()
        .observe(move |event| {
            // Until the sender is gone.
            let _ = blocked.lock().unwrap().recv();
            observer(event);
        })
        .connect_to(store.clone())
        .wait()
        .unwrap();
    let other = Client::builder().connect_to(store).wait().unwrap();
    is_renewed(&client, &other);
    let _held = other.mutex("busy").lock().wait().unwrap();
    let mutex = client.mutex("busy");
    for _ in 0..MANY {
        assert!(mutex.try_lock().wait().unwrap().is_none());
    }
    drop((go_on, mutex, client));
    let events = seen.all();
    let (mut busy, mut dropped) = (0, 0);
    for event in &events {
        match event.kind {
            EventKind::Busy { .. } => busy += 1,
            EventKind::Dropped { events } => dropped += events,
            _ => {}
        }
    }
    assert!(dropped > 0, "nothing was dropped");
    assert_eq!(busy + dropped, MANY as u64, "each event is told or counted");
}

#[test]
fn an_observer_that_panics_loses_no_lock_and_no_event() {
    let (observer, seen) = Seen::new();
    let store = memory::Store::new();
    let called = Arc::new(Mutex::new(0));
    let calls = called.clone();
    let panics = move |_: &cotter::Event| {
        *calls.lock().unwrap() += 1;
        std::panic::resume_unwind(Box::new("an observer panics"));
    };
    let client =
        Client::builder().observe(panics).observe(observer).connect_to(store.clone()).wait().unwrap();
    let other = Client::builder().connect_to(store).wait().unwrap();
    is_renewed(&client, &other);
    drop(client);
    let events = seen.all();
    assert_eq!(events.last().map(|event| event.kind.as_str()), Some("released"), "{events:#?}");
    until("it is told of all", || *called.lock().unwrap() == events.len());
}
