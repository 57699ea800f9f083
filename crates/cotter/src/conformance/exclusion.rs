//! Mutual exclusion, and protection against undoing another claim.

use super::fixture::{Fixture, give, is_busy, poll_once, take, used};
use crate::backend::{Backend, ClaimId, Found, Leave, Until};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

pub(super) async fn acquire_release_acquire(f: &Fixture) {
    let backend = f.connect().await;
    for _ in 0..10 {
        let claim = f.claim("a");
        take(&backend, &claim).await;
        give(&backend, &claim).await;
    }
}

pub(super) async fn second_claim_is_busy(f: &Fixture) {
    let (one, other) = (f.connect().await, f.connect().await);
    take(&one, &f.claim("a")).await;
    is_busy(&one, &f.claim("a")).await;
    is_busy(&other, &f.claim("a")).await;
}

pub(super) async fn other_names_are_independent(f: &Fixture) {
    let backend = f.connect().await;
    take(&backend, &f.claim("a")).await;
    if !backend.info().capabilities.names {
        return is_busy(&backend, &f.claim("b")).await;
    }
    take(&backend, &f.claim("b")).await;
}

pub(super) async fn twenty_tasks_never_overlap(f: &Fixture) {
    let (one, other) = (f.connect().await, f.connect().await);
    let inside = Arc::new(AtomicU32::new(0));
    let total = Arc::new(AtomicU32::new(0));
    let mut tasks = Vec::new();
    for i in 0..20 {
        let backend = if i % 2 == 0 { one.clone() } else { other.clone() };
        let (inside, total, claim) = (inside.clone(), total.clone(), f.claim("a"));
        tasks.push(tokio::spawn(async move {
            backend
                .acquire(&claim, Until::Forever)
                .await
                .expect("answers")
                .granted()
                .expect("waits without end");
            assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two inside");
            tokio::task::yield_now().await;
            inside.fetch_sub(1, Ordering::SeqCst);
            total.fetch_add(1, Ordering::SeqCst);
            give(&backend, &claim).await;
        }));
    }
    for task in tasks {
        task.await.expect("no task fails");
    }
    assert_eq!(total.load(Ordering::SeqCst), 20);
}

pub(super) async fn release_twice_frees_once(f: &Fixture) {
    let backend = f.connect().await;
    let claim = f.claim("a");
    take(&backend, &claim).await;
    give(&backend, &claim).await;
    let again = backend.release(&claim, used(1)).await.expect("answers");
    assert_eq!(again.found(), Found::Nothing);
}

/// A release that is dropped, at any poll, is either carried out or can be sent again.
pub(super) async fn a_dropped_release_can_be_repeated(f: &Fixture) {
    let backend = f.connect().await;
    for polls in 0..4 {
        let claim = f.claim("a");
        take(&backend, &claim).await;
        let mut releasing = Box::pin(backend.release(&claim, used(1)));
        for _ in 0..polls {
            if poll_once(&mut releasing).await {
                break;
            }
            tokio::task::yield_now().await;
        }
        drop(releasing);
        let again = backend.release(&claim, used(1)).await.expect("answers");
        assert!(matches!(again.found(), Found::Held | Found::Nothing), "{again:?} after {polls} polls");
        give_at_once(&backend, f).await;
    }
}

async fn give_at_once(backend: &Arc<dyn Backend>, f: &Fixture) {
    let next = f.claim("a");
    take(backend, &next).await;
    give(backend, &next).await;
}

pub(super) async fn late_release_does_not_touch_the_next_holder(f: &Fixture) {
    let (one, other) = (f.connect().await, f.connect().await);
    let (old, new) = (f.claim("a"), f.claim("a"));
    take(&one, &old).await;
    give(&one, &old).await;
    take(&other, &new).await;
    assert_eq!(one.release(&old, used(1)).await.expect("answers").found(), Found::Nothing);
    is_busy(&one, &f.claim("a")).await;
    give(&other, &new).await;
}

pub(super) async fn busy_leaves_nothing_behind(f: &Fixture) {
    let backend = f.connect().await;
    let (held, busy) = (f.claim("a"), f.claim("a"));
    take(&backend, &held).await;
    is_busy(&backend, &busy).await;
    give(&backend, &held).await;
    let next = f.claim("a");
    take(&backend, &next).await;
    assert_eq!(backend.release(&busy, Leave::default()).await.expect("answers").found(), Found::Nothing);
    is_busy(&backend, &f.claim("a")).await;
}

pub(super) async fn acquire_again_answers_the_same_grant(f: &Fixture) {
    let backend = f.connect().await;
    let mut claim = f.claim("a");
    claim.turns = 5;
    let first = take(&backend, &claim).await;
    let again = take(&backend, &claim).await;
    assert_eq!((first.number, first.turns, first.claim.id), (again.number, again.turns, again.claim.id));
}

pub(super) async fn retry_counts_nothing(f: &Fixture) {
    let backend = f.connect().await;
    let claim = f.claim("a");
    for _ in 0..3 {
        take(&backend, &claim).await;
    }
    give(&backend, &claim).await;
    take(&backend, &f.claim("a")).await;
}

pub(super) async fn released_claim_stays_released(f: &Fixture) {
    let backend = f.connect().await;
    let claim = f.claim("a");
    take(&backend, &claim).await;
    give(&backend, &claim).await;
    let next = claim.renewed();
    assert_ne!(claim.id, next.id);
    assert_ne!(ClaimId::random(), ClaimId::random());
    take(&backend, &next).await;
}
