//! The length of a grant, and what may change it.

use super::fixture::{Fixture, TTL, WHILE, give, is_busy, take, used, wait_in_task};
use crate::backend::{Backend, Extension, Grant, Leave, Until};
use std::sync::Arc;
use std::time::Duration;

/// Returns a ttl long enough not to expire early on a busy machine, yet short enough to wait for.
pub(super) fn short(backend: &Arc<dyn Backend>) -> Duration {
    backend.info().capabilities.min_ttl.max(Duration::from_millis(300))
}

/// Waits until such a lease has ended, at the latest.
pub(super) async fn its_end(backend: &Arc<dyn Backend>) {
    tokio::time::sleep(short(backend) + backend.info().capabilities.ttl_step + WHILE).await;
}

pub(super) async fn extend(backend: &Arc<dyn Backend>, grant: &Grant, ttl: Duration) -> Extension {
    let mut answers = backend.extend(&[grant], ttl).await;
    assert_eq!(answers.len(), 1);
    answers.remove(0).expect("answers")
}

/// Returns true if the grant lives as long as its process, with no expiry to wait for. Checks that the grant says so.
fn lives_with_process(backend: &Arc<dyn Backend>, grant: &Grant) -> bool {
    let leases = backend.info().capabilities.leases;
    assert_eq!(leases, grant.ttl.is_some(), "a grant has a ttl where the store has leases, and only there");
    !leases
}

pub(super) async fn as_of_is_before_the_request(f: &Fixture) {
    let backend = f.connect().await;
    let step = backend.info().capabilities.ttl_step;
    let sent = f.now();
    let grant = take(&backend, &f.claim("a")).await;
    // A proof that grants share may be older than the request: it is only guaranteed not to be later.
    let by_then = |ttl: Option<Duration>| ttl.unwrap_or(TTL) + step;
    assert!(grant.as_of <= f.now());
    if !lives_with_process(&backend, &grant) {
        assert!(
            grant.as_of + grant.ttl.expect("checked") <= sent + WHILE / 2 + by_then(Some(TTL)),
            "{grant:?}"
        );
    }
    tokio::time::sleep(WHILE).await;
    let sent = f.now();
    if let Extension::Extended { as_of, ttl } = extend(&backend, &grant, TTL).await {
        assert!(as_of <= f.now() && as_of + by_then(ttl) <= sent + WHILE / 2 + by_then(Some(TTL)));
    }
}

pub(super) async fn a_lease_ends(f: &Fixture) {
    let (one, other) = (f.connect().await, f.connect().await);
    let mut claim = f.claim("a");
    claim.ttl = short(&one);
    let grant = take(&one, &claim).await;
    is_busy(&other, &f.claim("a")).await;
    its_end(&one).await;
    if lives_with_process(&one, &grant) {
        return is_busy(&other, &f.claim("a")).await;
    }
    take(&other, &f.claim("a")).await;
    assert!(matches!(extend(&one, &grant, TTL).await, Extension::Lost(_)));
}

pub(super) async fn an_ended_lease_wakes_the_waiter(f: &Fixture) {
    let (one, other) = (f.connect().await, f.connect().await);
    let mut claim = f.claim("a");
    claim.ttl = short(&one);
    let grant = take(&one, &claim).await;
    let waiting = wait_in_task(&other, &f.claim("a"), f.soon());
    if lives_with_process(&one, &grant) {
        f.queued(&one, 1).await;
        give(&one, &claim).await;
    }
    assert!(waiting.await.expect("no panic").is_some());
}

pub(super) async fn extend_keeps_it(f: &Fixture) {
    let (one, other) = (f.connect().await, f.connect().await);
    let mut claim = f.claim("a");
    // Half of it is far more than an answer takes, on a busy machine as well.
    let lease = short(&one) * 3;
    claim.ttl = lease;
    let grant = take(&one, &claim).await;
    for _ in 0..3 {
        tokio::time::sleep(lease / 2).await;
        let Extension::Extended { ttl, .. } = extend(&one, &grant, lease).await else { panic!("it is held") };
        assert!(ttl.is_none_or(|given| given >= lease), "at least what was asked, not {ttl:?}");
        is_busy(&other, &f.claim("a")).await;
    }
}

pub(super) async fn extend_never_shortens(f: &Fixture) {
    let (one, other) = (f.connect().await, f.connect().await);
    let grant = take(&one, &f.claim("a")).await;
    let Extension::Extended { ttl, .. } = extend(&one, &grant, short(&one)).await else {
        panic!("it is held")
    };
    if !lives_with_process(&one, &grant) {
        assert!(ttl.expect("a lease") > short(&one) * 2, "{ttl:?}");
    }
    its_end(&one).await;
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
    next.ttl = short(&one);
    let held = take(&other, &next).await;
    assert!(matches!(extend(&one, &old, TTL).await, Extension::Lost(_)));
    if lives_with_process(&other, &held) {
        return;
    }
    its_end(&one).await;
    take(&one, &f.claim("a")).await;
}

/// Some of the grants were released: each answer belongs to its own grant.
pub(super) async fn extend_answers_for_each_of_many(f: &Fixture) {
    let backend = f.connect().await;
    if !backend.info().capabilities.names {
        return;
    }
    let mut grants = Vec::new();
    for i in 0..f.most_held.min(150) {
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
    let leave = Leave { used: 1, keep_for: Some(short(&one)) };
    one.release(&claim, leave).await.expect("answers");
    is_busy(&other, &f.claim("a")).await;
    assert!(matches!(extend(&one, &first, TTL).await, Extension::Lost(_)));
    let next = other
        .acquire(&f.claim("a"), f.soon())
        .await
        .expect("answers")
        .granted()
        .expect("free after the rest");
    assert!(next.number > first.number);
}

pub(super) async fn an_old_claim_answers_the_time_that_is_left(f: &Fixture) {
    let backend = f.connect().await;
    let mut claim = f.claim("a");
    claim.ttl = short(&backend) * 2;
    let grant = take(&backend, &claim).await;
    if lives_with_process(&backend, &grant) {
        return;
    }
    tokio::time::sleep(short(&backend)).await;
    let sent = f.now();
    let again = backend.acquire(&claim, Until::Now).await.expect("answers").granted().expect("still held");
    let (before, end) = (grant.as_of + claim.ttl, again.as_of + again.ttl.expect("a lease"));
    if end > before + WHILE / 2 {
        // Set anew, as a lease that grants share may be: then it is true.
        assert!(again.as_of <= f.now() && end <= sent + claim.ttl + WHILE / 2, "{again:?}");
        let other = f.connect().await;
        tokio::time::sleep(before.since(f.now()) + backend.info().capabilities.ttl_step).await;
        let next = f.claim("a");
        let early = other.acquire(&next, Until::Now).await.expect("answers").granted();
        // Who is answered after the end, on a slow machine, may have been served in time.
        assert!(early.is_none() || f.now() >= end, "somebody else was let in before {end:?}: {early:?}");
        if early.is_some() {
            other.release(&next, used(1)).await.expect("answers");
        }
    }
    backend.release(&claim, used(1)).await.expect("answers");
}
