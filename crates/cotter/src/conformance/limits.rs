//! The limit of a semaphore, and names that are in use in another way.

use super::fixture::{Fixture, SOON, give, is_busy, settle, take, wait_in_task};
use super::modes::supports;
use super::permits::{permits, two};
use crate::ErrorKind;
use crate::backend::{Backend, Claim, EvictOrder, Leave, Mode, Until};
use std::sync::Arc;

/// Makes one attempt that must be refused because the name is in use in another way.
async fn is_refused(backend: &Arc<dyn Backend>, claim: &Claim) {
    let error =
        backend.acquire(claim, Until::Now).await.expect_err("violation[permits-over-limit]: not refused");
    assert_eq!(error.kind(), ErrorKind::LimitMismatch, "{error}");
}

pub(super) async fn another_limit_is_an_error(f: &Fixture) {
    let Some((one, other)) = two(f).await else { return };
    let claim = f.claim_as("a", permits(1, 3));
    take(&one, &claim).await;
    is_refused(&other, &f.claim_as("a", permits(1, 4))).await;
    is_refused(&other, &f.claim_as("a", permits(1, 2))).await;
    let differs = f.claim_as("a", permits(1, 4));
    let refused =
        tokio::time::timeout(SOON, other.acquire(&differs, Until::Forever)).await.expect("it does not wait");
    assert_eq!(refused.expect_err("another limit").kind(), ErrorKind::LimitMismatch);
    give(&one, &claim).await;
    take(&one, &f.claim_as("a", permits(1, 4))).await;
}

pub(super) async fn the_limit_can_be_set(f: &Fixture) {
    let (one, other) = (f.connect().await, f.connect().await);
    let first = f.claim_as("a", permits(2, 2));
    if !supports(f, &one, permits(1, 3)).await {
        return super::fixture::refused(one.set_limit(&first.name, 3).await);
    }
    take(&one, &first).await;
    let waiting = wait_in_task(&other, &f.claim_as("a", permits(1, 2)), f.soon());
    f.queued(&one, 1).await;
    other.set_limit(&first.name, 3).await.expect("answers");
    assert!(waiting.await.expect("no panic").is_some(), "there is one more now");
    is_busy(&one, &f.claim_as("a", permits(1, 3))).await;
    is_refused(&one, &f.claim_as("a", permits(1, 2))).await;
    give(&one, &first).await;
    take(&one, &f.claim_as("a", permits(2, 3))).await;
}

pub(super) async fn a_smaller_limit_interrupts_nobody(f: &Fixture) {
    let Some((one, other)) = two(f).await else { return };
    let (first, second) = (f.claim_as("a", permits(2, 3)), f.claim_as("a", permits(1, 3)));
    let grants = [take(&one, &first).await, take(&other, &second).await];
    let waiter = f.claim_as("a", permits(1, 3));
    let waiting = wait_in_task(&one, &waiter, f.soon());
    f.queued(&other, 1).await;
    other.set_limit(&first.name, 1).await.expect("answers");
    for (backend, grant) in [(&one, &grants[0]), (&other, &grants[1])] {
        let answer = super::leases::extend(backend, grant, grant.claim.ttl).await;
        assert!(matches!(answer, crate::backend::Extension::Extended { .. }), "{answer:?}");
    }
    give(&one, &first).await;
    settle().await;
    assert!(!waiting.is_finished(), "one is held, of one");
    give(&other, &second).await;
    assert!(waiting.await.expect("no panic").is_some());
    give(&one, &waiter).await;
}

/// It could never be served, and would hold up everybody behind it.
pub(super) async fn a_wait_for_more_than_a_smaller_limit_fails(f: &Fixture) {
    let Some((one, other)) = two(f).await else { return };
    let (held, wanted) = (f.claim_as("a", permits(2, 3)), f.claim_as("a", permits(3, 3)));
    take(&one, &held).await;
    let (asked, until) = (other.clone(), f.soon());
    let waiting = tokio::spawn(async move { asked.acquire(&wanted, until).await });
    f.queued(&one, 1).await;
    one.set_limit(&held.name, 2).await.expect("answers");
    let error = waiting.await.expect("no panic").expect_err("three of two");
    assert_eq!(error.kind(), ErrorKind::LimitMismatch);
    give(&one, &held).await;
    take(&other, &f.claim_as("a", permits(2, 2))).await;
}

pub(super) async fn the_limit_of_a_free_name_is_not_set(f: &Fixture) {
    let Some((one, other)) = two(f).await else { return };
    let claim = f.claim_as("a", permits(1, 3));
    other.set_limit(&claim.name, 9).await.expect("answers");
    take(&one, &claim).await;
    give(&one, &claim).await;
    other.set_limit(&claim.name, 9).await.expect("answers");
    take(&one, &f.claim_as("a", permits(2, 2))).await;
    is_busy(&other, &f.claim_as("a", permits(1, 2))).await;
}

/// Whoever leaves, those who stay have the number that was set, and those who come have to name it.
pub(super) async fn a_limit_that_was_set_outlives_who_was_first(f: &Fixture) {
    let Some((one, other)) = two(f).await else { return };
    let held = [1, 2, 3].map(|_| f.claim_as("a", permits(1, 5)));
    for claim in &held {
        take(&one, claim).await;
    }
    other.set_limit(&held[0].name, 2).await.expect("answers");
    for gone in &held[..2] {
        give(&one, gone).await;
        is_refused(&other, &f.claim_as("a", permits(1, 5))).await;
    }
    take(&other, &f.claim_as("a", permits(1, 2))).await;
    is_busy(&other, &f.claim_as("a", permits(1, 2))).await;
}

/// So they have when the first one is evicted, although its process does not let go.
pub(super) async fn a_limit_that_was_set_outlives_an_eviction(f: &Fixture) {
    let Some((one, other)) = two(f).await else { return };
    let Some(admin) = other.admin().filter(|_| one.info().capabilities.records) else { return };
    let held = [1, 2, 3].map(|_| f.claim_as("a", permits(1, 5)));
    let first = take(&one, &held[0]).await;
    for claim in &held[1..] {
        take(&one, claim).await;
    }
    other.set_limit(&held[0].name, 2).await.expect("answers");
    let _ = admin.evict(&held[0].name, EvictOrder::new().only(first.number.into())).await.expect("answers");
    is_refused(&other, &f.claim_as("a", permits(1, 5))).await;
    let _ = one.release(&held[0], Leave::used(1)).await.expect("answers");
    is_refused(&other, &f.claim_as("a", permits(1, 5))).await;
    is_busy(&other, &f.claim_as("a", permits(1, 2))).await;
}

pub(super) async fn a_lock_is_not_a_semaphore(f: &Fixture) {
    let Some((one, other)) = two(f).await else { return };
    let lock = f.claim("a");
    take(&one, &lock).await;
    is_refused(&other, &f.claim_as("a", permits(1, 3))).await;
    give(&one, &lock).await;
    if one.info().capabilities.shared {
        let reader = f.claim_as("a", Mode::Shared);
        take(&one, &reader).await;
        is_refused(&other, &f.claim_as("a", permits(1, 3))).await;
        give(&one, &reader).await;
    }
    take(&other, &f.claim_as("a", permits(1, 3))).await;
}

pub(super) async fn a_semaphore_is_not_a_lock(f: &Fixture) {
    let Some((one, other)) = two(f).await else { return };
    let held = f.claim_as("a", permits(3, 3));
    take(&one, &held).await;
    is_refused(&other, &f.claim("a")).await;
    let waiting = wait_in_task(&one, &f.claim_as("a", permits(3, 3)), Until::Forever);
    f.queued(&other, 1).await;
    is_refused(&other, &f.claim("a")).await;
    if one.info().capabilities.shared {
        is_refused(&other, &f.claim_as("a", Mode::Shared)).await;
    }
    give(&one, &held).await;
    let next = waiting.await.expect("no panic").expect("it waits for ever");
    give(&one, &next.claim).await;
    take(&other, &f.claim("a")).await;
}
