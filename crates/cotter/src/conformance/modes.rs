//! Shared locks, for stores that support them.

use super::fixture::{Fixture, give, is_busy, refused, take, wait_in_task};
use crate::backend::{Backend, Mode, Until};
use std::sync::Arc;

/// Returns false if the store does not support the mode, after checking that it refuses it.
pub(super) async fn supports(f: &Fixture, backend: &Arc<dyn Backend>, mode: Mode) -> bool {
    let capabilities = &backend.info().capabilities;
    let can = match mode {
        Mode::Exclusive => true,
        Mode::Shared => capabilities.shared,
        Mode::Permits { .. } => capabilities.permits,
    };
    if !can {
        refused(backend.acquire(&f.claim_as("refused", mode), Until::Now).await);
    }
    can
}

pub(super) async fn readers_share(f: &Fixture) {
    let (one, other) = (f.connect().await, f.connect().await);
    if !supports(f, &one, Mode::Shared).await {
        return;
    }
    let first = take(&one, &f.claim_as("a", Mode::Shared)).await;
    let second = take(&other, &f.claim_as("a", Mode::Shared)).await;
    assert!(second.number > first.number, "one counter for all modes");
    is_busy(&one, &f.claim("a")).await;
}

pub(super) async fn a_writer_excludes_readers(f: &Fixture) {
    let (one, other) = (f.connect().await, f.connect().await);
    if !supports(f, &one, Mode::Shared).await {
        return;
    }
    let writer = f.claim("a");
    take(&one, &writer).await;
    is_busy(&other, &f.claim_as("a", Mode::Shared)).await;
    give(&one, &writer).await;
    take(&other, &f.claim_as("a", Mode::Shared)).await;
}

pub(super) async fn a_waiting_writer_stops_new_readers(f: &Fixture) {
    let (one, other) = (f.connect().await, f.connect().await);
    if !supports(f, &one, Mode::Shared).await {
        return;
    }
    if !one.info().capabilities.ordered {
        return;
    }
    let reader = f.claim_as("a", Mode::Shared);
    take(&one, &reader).await;
    let writer = wait_in_task(&other, &f.claim("a"), f.soon());
    f.queued(&one, 1).await;
    is_busy(&one, &f.claim_as("a", Mode::Shared)).await;
    give(&one, &reader).await;
    assert!(writer.await.expect("no panic").is_some());
}

pub(super) async fn downgrade_lets_readers_in(f: &Fixture) {
    let (one, other) = (f.connect().await, f.connect().await);
    let writer = f.claim("a");
    let grant = take(&one, &writer).await;
    if !one.info().capabilities.downgrade {
        return refused(one.downgrade(&grant).await);
    }
    let waiting = wait_in_task(&other, &f.claim_as("a", Mode::Shared), f.soon());
    f.queued(&one, 1).await;
    let shared = one.downgrade(&grant).await.expect("it is held");
    assert_eq!(shared.claim.mode, Mode::Shared);
    assert!(waiting.await.expect("no panic").is_some());
    is_busy(&other, &f.claim("a")).await;
}

/// The writer had used several turns of its block: none of those tokens may be issued again after the downgrade.
pub(super) async fn downgrade_gives_no_token_back(f: &Fixture) {
    let backend = f.connect().await;
    if !backend.info().capabilities.downgrade {
        return;
    }
    let mut writer = f.claim("a");
    writer.turns = 50;
    let block = take(&backend, &writer).await;
    let last = block.number + u64::from(block.turns) - 1;
    backend.downgrade(&block).await.expect("it is held");
    give(&backend, &writer).await;
    let next = take(&backend, &f.claim("a")).await;
    assert!(next.number > last, "{} was reserved for the writer", next.number);
}
