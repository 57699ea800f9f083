//! Semaphores, for stores that support them.

use super::fixture::{Fixture, give, is_busy, poll_once, settle, take, used, wait_in_task};
use super::leases::{its_end, short};
use super::modes::supports;
use crate::Filter;
use crate::backend::{Backend, Capabilities, EvictOrder, Found, Leave, Mode, Until};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

pub(super) const fn permits(take: u32, of: u32) -> Mode {
    Mode::Permits { take, of }
}

/// Two connections to a store with permits. Without them, checks that the store refuses them.
pub(super) async fn two(f: &Fixture) -> Option<(Arc<dyn Backend>, Arc<dyn Backend>)> {
    let (one, other) = (f.connect().await, f.connect().await);
    supports(f, &one, permits(1, 3)).await.then_some((one, other))
}

pub(super) async fn permits_up_to_the_limit(f: &Fixture) {
    let Some((one, other)) = two(f).await else { return };
    let two = f.claim_as("a", permits(2, 3));
    take(&one, &two).await;
    is_busy(&other, &f.claim_as("a", permits(2, 3))).await;
    take(&other, &f.claim_as("a", permits(1, 3))).await;
    is_busy(&one, &f.claim_as("a", permits(1, 3))).await;
    give(&one, &two).await;
    take(&other, &f.claim_as("a", permits(2, 3))).await;
}

pub(super) async fn several_permits_are_granted_all_or_none(f: &Fixture) {
    let Some((one, other)) = two(f).await else { return };
    let held = f.claim_as("a", permits(2, 4));
    take(&one, &held).await;
    for _ in 0..3 {
        is_busy(&other, &f.claim_as("a", permits(3, 4))).await;
    }
    let rest = f.claim_as("a", permits(2, 4));
    take(&other, &rest).await;
    is_busy(&one, &f.claim_as("a", permits(1, 4))).await;
    give(&other, &rest).await;
    give(&one, &held).await;
    take(&one, &f.claim_as("a", permits(4, 4))).await;
}

/// Claims of all sizes at the same time: never too many inside, nobody starves, and all permits come back.
pub(super) async fn contention_never_exceeds_the_limit(f: &Fixture) {
    const LIMIT: u32 = 3;
    if two(f).await.is_none() {
        return;
    }
    let inside = Arc::new(AtomicU32::new(0));
    let mut takers = Vec::new();
    for at in 0..6 {
        let (backend, inside) = (f.connect().await, inside.clone());
        let (take, claim) = (1 + at % LIMIT, f.claim_as("a", permits(1 + at % LIMIT, LIMIT)));
        takers.push(tokio::spawn(async move {
            for _ in 0..4 {
                let claim = claim.renewed();
                let got = backend.acquire(&claim, Until::Forever).await.expect("answers").granted();
                assert!(got.is_some(), "it waits for ever");
                let all = inside.fetch_add(take, Ordering::SeqCst) + take;
                assert!(all <= LIMIT, "{all} of {LIMIT} permits are held");
                tokio::time::sleep(Duration::from_millis(2)).await;
                inside.fetch_sub(take, Ordering::SeqCst);
                give(&backend, &claim).await;
            }
        }));
    }
    for taker in takers {
        taker.await.expect("no panic");
    }
    take(&f.connect().await, &f.claim_as("a", permits(LIMIT, LIMIT))).await;
}

pub(super) async fn permits_have_tokens_of_their_own(f: &Fixture) {
    let Some((one, other)) = two(f).await else { return };
    let lock = f.claim("a");
    let mut last = take(&one, &lock).await.number;
    give(&one, &lock).await;
    let mut held = Vec::new();
    for backend in [&one, &other, &one] {
        let claim = f.claim_as("a", permits(2, 6));
        let grant = take(backend, &claim).await;
        assert_eq!(grant.turns, 1);
        assert!(grant.number > last, "one counter for all modes");
        last = grant.number;
        held.push((backend, claim));
    }
    for (backend, claim) in held {
        give(backend, &claim).await;
    }
    assert!(take(&other, &f.claim("a")).await.number > last);
}

pub(super) async fn permits_are_given_back_once(f: &Fixture) {
    let Some((one, other)) = two(f).await else { return };
    let (first, second) = (f.claim_as("a", permits(2, 4)), f.claim_as("a", permits(2, 4)));
    let granted = take(&one, &first).await;
    let again = take(&one, &first).await;
    assert_eq!(again.number, granted.number, "an answered claim takes nothing more");
    take(&other, &second).await;
    give(&one, &first).await;
    for _ in 0..2 {
        let release = one.release(&first, used(1)).await.expect("answers");
        assert_ne!(release.found(), Found::Held);
    }
    take(&one, &f.claim_as("a", permits(2, 4))).await;
    is_busy(&one, &f.claim_as("a", permits(1, 4))).await;
}

pub(super) async fn permits_of_an_ended_lease_come_back(f: &Fixture) {
    let Some((one, other)) = two(f).await else { return };
    if !one.info().capabilities.leases {
        return;
    }
    let (mut ends, stays) = (f.claim_as("a", permits(2, 3)), f.claim_as("a", permits(1, 3)));
    ends.ttl = short(&one);
    take(&one, &ends).await;
    take(&one, &stays).await;
    let waiting = wait_in_task(&other, &f.claim_as("a", permits(1, 3)), f.soon());
    its_end(&one).await;
    assert!(waiting.await.expect("no panic").is_some());
    take(&one, &f.claim_as("a", permits(1, 3))).await;
    is_busy(&other, &f.claim_as("a", permits(1, 3))).await;
    assert_ne!(one.release(&ends, used(1)).await.expect("answers").found(), Found::Held);
    is_busy(&other, &f.claim_as("a", permits(1, 3))).await;
}

pub(super) async fn waiters_for_permits_keep_their_order(f: &Fixture) {
    let Some((holder, _)) = two(f).await else { return };
    if !holder.info().capabilities.ordered {
        return;
    }
    let held = f.claim_as("a", permits(3, 3));
    let mut last = take(&holder, &held).await.number;
    let mut waiting = Vec::new();
    for take in [2, 1, 3, 1] {
        let (backend, claim) = (f.connect().await, f.claim_as("a", permits(take, 3)));
        waiting.push((backend.clone(), claim.clone(), wait_in_task(&backend, &claim, f.soon())));
        f.queued(&holder, waiting.len()).await;
    }
    give(&holder, &held).await;
    for (backend, claim, task) in waiting {
        let grant = task.await.expect("no panic").expect("granted in time");
        assert!(grant.number > last, "tokens show the order");
        last = grant.number;
        give(&backend, &claim).await;
    }
}

/// The permits that are free are for the first waiter, although they are too few for it: otherwise it would starve.
pub(super) async fn a_waiter_that_wants_many_is_not_overtaken(f: &Fixture) {
    let Some((one, other)) = two(f).await else { return };
    if !one.info().capabilities.ordered {
        return;
    }
    let (first, second) = (f.claim_as("a", permits(1, 3)), f.claim_as("a", permits(1, 3)));
    take(&one, &first).await;
    take(&one, &second).await;
    let wants_all = f.claim_as("a", permits(3, 3));
    let waiting = wait_in_task(&other, &wants_all, f.soon());
    f.queued(&one, 1).await;
    is_busy(&one, &f.claim_as("a", permits(1, 3))).await;
    let behind = wait_in_task(&one, &f.claim_as("a", permits(1, 3)), f.soon());
    give(&one, &first).await;
    is_busy(&one, &f.claim_as("a", permits(1, 3))).await;
    settle().await;
    assert!(!waiting.is_finished() && !behind.is_finished(), "two are free, one is held");
    give(&one, &second).await;
    assert!(waiting.await.expect("no panic").is_some());
    settle().await;
    assert!(!behind.is_finished());
    give(&other, &wants_all).await;
    assert!(behind.await.expect("no panic").is_some());
}

/// At whatever poll the future is dropped, a release gives everything back.
pub(super) async fn a_dropped_wait_for_permits_takes_none(f: &Fixture) {
    let Some((one, other)) = two(f).await else { return };
    for polls in 0..6 {
        let held = f.claim_as("a", permits(2, 3));
        take(&one, &held).await;
        let wanted = f.claim_as("a", permits(2, 3));
        let mut asking = Box::pin(other.acquire(&wanted, Until::Forever));
        for poll in 0..polls {
            if poll == 2 {
                give(&one, &held).await;
            }
            if poll_once(&mut asking).await {
                break;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        drop(asking);
        other.release(&wanted, Leave::default()).await.expect("answers");
        one.release(&held, used(1)).await.expect("answers");
        let all = f.claim_as("a", permits(3, 3));
        let answer = one.acquire(&all, f.soon()).await.expect("answers");
        assert!(answer.granted().is_some(), "left behind after {polls} polls");
        give(&one, &all).await;
    }
}

pub(super) async fn every_holder_of_permits_is_shown(f: &Fixture) {
    let Some((one, other)) = two(f).await else { return };
    let Some(admin) = one.admin().filter(|_| one.info().capabilities.records) else { return };
    let (first, second) = (f.claim_as("a", permits(2, 4)), f.claim_as("a", permits(1, 4)));
    let tokens = [take(&one, &first).await.number, take(&other, &second).await.number];
    one.set_limit(&first.name, 5).await.expect("answers");
    let page = admin.list(&Filter::exactly(&first.name), None).await.expect("answers");
    let [record] = page.records.as_slice() else { panic!("one record, not {:?}", page.records) };
    let shown: HashSet<_> = record.holders.iter().map(|h| (h.token.get(), h.mode)).collect();
    assert_eq!(shown, HashSet::from([(tokens[0], permits(2, 5)), (tokens[1], permits(1, 5))]));
    assert!(record.holders.iter().all(|h| *h.label == *first.label));
    give(&one, &first).await;
    give(&other, &second).await;
    let page = admin.list(&Filter::exactly(&first.name), None).await.expect("answers");
    assert!(page.records.is_empty(), "{:?}", page.records);
}

pub(super) async fn waiters_are_served_as_far_as_permits_go(f: &Fixture) {
    let Some((one, other)) = two(f).await else { return };
    if !one.info().capabilities.ordered {
        return;
    }
    let held = f.claim_as("a", permits(4, 4));
    take(&one, &held).await;
    let mut waiting = Vec::new();
    for take in [1, 2, 1, 1] {
        waiting.push(wait_in_task(&other, &f.claim_as("a", permits(take, 4)), f.soon()));
        f.queued(&one, waiting.len()).await;
    }
    give(&one, &held).await;
    let last = waiting.pop().expect("there are four");
    let mut granted = Vec::new();
    for task in waiting {
        granted.push(task.await.expect("no panic").expect("there are enough for three"));
    }
    assert!(granted.is_sorted_by_key(|g| g.number), "in order of arrival");
    settle().await;
    assert!(!last.is_finished());
    give(&other, &granted[0].claim).await;
    assert!(last.await.expect("no panic").is_some());
}

pub(super) async fn evicted_permits_come_back(f: &Fixture) {
    let Some((one, other)) = two(f).await else { return };
    let Capabilities { leases, records, .. } = one.info().capabilities;
    let Some(admin) = other.admin().filter(|_| leases && records) else { return };
    let (first, second) = (f.claim_as("a", permits(2, 3)), f.claim_as("a", permits(1, 3)));
    let grant = take(&one, &first).await;
    take(&one, &second).await;
    let order = EvictOrder::new().at_once().only(grant.number.into());
    let _ = admin.evict(&first.name, order).await.expect("answers");
    is_busy(&other, &f.claim_as("a", permits(3, 3))).await;
    let next = f.claim_as("a", permits(2, 3));
    take(&other, &next).await;
    assert_eq!(one.release(&first, used(1)).await.expect("answers").found(), Found::Evicted);
    is_busy(&other, &f.claim_as("a", permits(1, 3))).await;
}
