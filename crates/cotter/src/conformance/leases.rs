//! Time: how long a grant lasts, and who may change that.

use super::fixture::{Fixture, TTL, WHILE, give, is_busy, settle, take, used, wait_in_task};
use crate::backend::{Backend, Extension, Grant, Leave, Until};
use std::sync::Arc;
use std::time::Duration;

/// Long enough that a busy machine does not end it early, short enough to wait for.
const SHORT: Duration = Duration::from_millis(300);

pub(super) async fn extend(backend: &Arc<dyn Backend>, grant: &Grant, ttl: Duration) -> Extension {
    let mut answers = backend.extend(&[grant], ttl).await;
    assert_eq!(answers.len(), 1);
    answers.remove(0).expect("answers")
}

/// Where the grant lives with its process there is nothing to wait for; then the grant must say so.
fn lives_with_process(backend: &Arc<dyn Backend>, grant: &Grant) -> bool {
    let leases = backend.info().capabilities.leases;
    assert_eq!(leases, grant.ttl.is_some(), "a grant has a ttl where the store has leases, and only there");
    !leases
}

pub(super) async fn as_of_is_before_the_request(f: &Fixture) {
    let backend = f.connect().await;
    let before = f.now();
    let grant = take(&backend, &f.claim("a")).await;
    assert!(before <= grant.as_of && grant.as_of <= f.now());
    if !lives_with_process(&backend, &grant) {
        assert!(grant.ttl.expect("checked") <= TTL);
    }
    tokio::time::sleep(WHILE).await;
    let before = f.now();
    if let Extension::Extended { as_of, .. } = extend(&backend, &grant, TTL).await {
        assert!(before <= as_of && as_of <= f.now());
    }
}

pub(super) async fn a_lease_ends(f: &Fixture) {
    let (one, other) = (f.connect().await, f.connect().await);
    let mut claim = f.claim("a");
    claim.ttl = SHORT;
    let grant = take(&one, &claim).await;
    is_busy(&other, &f.claim("a")).await;
    tokio::time::sleep(SHORT + WHILE).await;
    if lives_with_process(&one, &grant) {
        return is_busy(&other, &f.claim("a")).await;
    }
    take(&other, &f.claim("a")).await;
    assert!(matches!(extend(&one, &grant, TTL).await, Extension::Lost(_)));
}

pub(super) async fn an_ended_lease_wakes_the_waiter(f: &Fixture) {
    let (one, other) = (f.connect().await, f.connect().await);
    let mut claim = f.claim("a");
    claim.ttl = SHORT;
    let grant = take(&one, &claim).await;
    let waiting = wait_in_task(&other, &f.claim("a"), f.soon());
    if lives_with_process(&one, &grant) {
        settle().await;
        give(&one, &claim).await;
    }
    assert!(waiting.await.expect("no panic").is_some());
}

pub(super) async fn extend_keeps_it(f: &Fixture) {
    let (one, other) = (f.connect().await, f.connect().await);
    let mut claim = f.claim("a");
    claim.ttl = SHORT;
    let grant = take(&one, &claim).await;
    for _ in 0..4 {
        tokio::time::sleep(SHORT / 2).await;
        assert!(matches!(extend(&one, &grant, SHORT).await, Extension::Extended { .. }));
        is_busy(&other, &f.claim("a")).await;
    }
}

pub(super) async fn extend_never_shortens(f: &Fixture) {
    let (one, other) = (f.connect().await, f.connect().await);
    let grant = take(&one, &f.claim("a")).await;
    let Extension::Extended { ttl, .. } = extend(&one, &grant, SHORT).await else { panic!("it is held") };
    if !lives_with_process(&one, &grant) {
        assert!(ttl.expect("a lease") > SHORT * 2, "{ttl:?}");
    }
    tokio::time::sleep(SHORT + WHILE).await;
    is_busy(&other, &f.claim("a")).await;
}

pub(super) async fn extend_never_creates(f: &Fixture) {
    let (one, other) = (f.connect().await, f.connect().await);
    let claim = f.claim("a");
    let grant = take(&one, &claim).await;
    give(&one, &claim).await;
    assert!(matches!(extend(&one, &grant, TTL).await, Extension::Lost(_)));
    take(&other, &f.claim("a")).await;
}

pub(super) async fn extend_does_not_touch_others(f: &Fixture) {
    let (one, other) = (f.connect().await, f.connect().await);
    let claim = f.claim("a");
    let old = take(&one, &claim).await;
    give(&one, &claim).await;
    let mut next = f.claim("a");
    next.ttl = SHORT;
    let held = take(&other, &next).await;
    assert!(matches!(extend(&one, &old, TTL).await, Extension::Lost(_)));
    if lives_with_process(&other, &held) {
        return;
    }
    tokio::time::sleep(SHORT + WHILE).await;
    take(&one, &f.claim("a")).await;
}

/// Some of them were given back: each answer belongs to its own grant.
pub(super) async fn extend_answers_for_each_of_many(f: &Fixture) {
    let backend = f.connect().await;
    let mut grants = Vec::new();
    for i in 0..150 {
        grants.push(take(&backend, &f.claim(&format!("many{i}"))).await);
    }
    let gone = |i: usize| i % 7 == 3;
    for (_, grant) in grants.iter().enumerate().filter(|(i, _)| gone(*i)) {
        give(&backend, &grant.claim).await;
    }
    let all: Vec<&Grant> = grants.iter().collect();
    let answers = backend.extend(&all, TTL * 2).await;
    assert_eq!(answers.len(), all.len());
    for (i, answer) in answers.into_iter().enumerate() {
        let lost = matches!(answer.expect("answers"), Extension::Lost(_));
        assert_eq!(lost, gone(i), "number {i}");
    }
}

pub(super) async fn kept_lease_stays_busy_for_the_rest(f: &Fixture) {
    let (one, other) = (f.connect().await, f.connect().await);
    let claim = f.claim("a");
    let first = take(&one, &claim).await;
    if !one.info().capabilities.keep_for {
        return give(&one, &claim).await;
    }
    let leave = Leave { used: 1, keep_for: Some(SHORT) };
    one.release(&claim, leave).await.expect("answers");
    is_busy(&other, &f.claim("a")).await;
    assert!(matches!(extend(&one, &first, TTL).await, Extension::Lost(_)));
    let next = other.acquire(&f.claim("a"), f.soon()).await.expect("answers").expect("free after the rest");
    assert!(next.number > first.number);
}

pub(super) async fn an_old_claim_answers_the_time_that_is_left(f: &Fixture) {
    let backend = f.connect().await;
    let mut claim = f.claim("a");
    claim.ttl = SHORT * 2;
    let grant = take(&backend, &claim).await;
    if lives_with_process(&backend, &grant) {
        return;
    }
    tokio::time::sleep(SHORT).await;
    let again = backend.acquire(&claim, Until::Now).await.expect("answers").expect("still held");
    assert!(again.as_of + again.ttl.expect("a lease") <= grant.as_of + claim.ttl + WHILE / 2);
    backend.release(&claim, used(1)).await.expect("answers");
}
