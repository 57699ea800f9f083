//! Random tasks: each call has one end, and what is acquired is released, lost or held.

use super::Seen;
use cotter::{Client, Event, EventKind, Guard, Lease, memory};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::collections::BTreeMap;
use std::time::Duration;

const TASKS: u64 = 8;
const CALLS: usize = 150;

fn ms(rng: &mut StdRng, most: u64) -> Duration {
    Duration::from_millis(rng.random_range(0..=most))
}

/// Asks for locks in all ways. Returns what it still holds, and the number of calls.
async fn task(client: Client, seed: u64) -> (Vec<Guard>, usize) {
    let rng = &mut StdRng::seed_from_u64(seed);
    let mut held = Vec::new();
    for _ in 0..CALLS {
        let name = format!("lock {}", rng.random_range(0..3));
        let lease = match rng.random_range(0..3) {
            0 => Lease::fixed(Duration::from_millis(5)),
            _ => Lease::renewed(Duration::from_secs(9)),
        };
        let mutex = client.mutex(name).lease(lease);
        // Some calls are dropped while they wait.
        let call = mutex.try_lock_for(ms(rng, 4));
        let Ok(answer) = tokio::time::timeout(ms(rng, 6), call).await else { continue };
        let Some(guard) = answer.unwrap() else { continue };
        tokio::time::sleep(ms(rng, 3)).await;
        match rng.random_range(0..20) {
            0 => held.push(guard),
            1..=9 => drop(guard.release().await.unwrap()),
            _ => drop(guard),
        }
        // A lock that is kept for ever would end the test: everything would be busy.
        if held.len() > 1 {
            held.clear();
        }
    }
    (held, CALLS)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_is_acquired_is_released_or_lost_or_held() {
    let (observer, seen) = Seen::new();
    let client = Client::builder().observe(observer).connect_to(memory::Store::new()).await.unwrap();
    let tasks: Vec<_> = (0..TASKS).map(|seed| tokio::spawn(task(client.clone(), seed))).collect();
    let (mut held, mut calls) = (Vec::new(), 0);
    for task in tasks {
        let (guards, made) = task.await.unwrap();
        held.extend(guards);
        calls += made;
    }
    let still_held = held.len();
    drop((held, client));
    check(&seen.all(), still_held, calls);
}

/// `held` locks were still held at the end, and are released by now.
fn check(events: &[Event], held: usize, calls: usize) {
    let mut open = BTreeMap::new();
    let mut count = BTreeMap::new();
    for event in events {
        *count.entry(event.kind.as_str()).or_insert(0) += 1;
        let name = event.name.clone();
        match event.kind {
            EventKind::Acquired { token, .. } => {
                assert!(open.insert((name, token), ()).is_none(), "acquired twice: {event:?}");
            }
            EventKind::Released { token, .. } | EventKind::Lost { token, .. } => {
                let was_open = open.remove(&(name, token)).is_some();
                assert!(was_open, "violation[unseen]: it ends without a beginning: {event:?}");
            }
            _ => {}
        }
    }
    assert!(open.is_empty(), "violation[unseen]: {held} were held, these have no end: {open:?}");
    let of = |kind: &str| count.get(kind).copied().unwrap_or(0);
    let ends = of("acquired") + of("busy") + of("gave_up") + of("failed");
    assert_eq!(ends, calls, "violation[unseen]: each call has one end: {count:?}");
    assert_eq!(of("acquired"), of("released") + of("lost"), "violation[unseen]: {count:?}");
    assert!(["acquired", "busy", "gave_up", "lost"].iter().all(|kind| of(kind) > 0), "{count:?}");
}
