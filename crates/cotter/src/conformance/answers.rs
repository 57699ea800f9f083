//! Answers to a release and an extension after the lock has gone, and the limits of undoing a claim that got nothing.

use super::fixture::{Fixture, TTL, WHILE, give, is_busy, poll_once, take, used};
use super::leases::extend;
use crate::backend::{Backend, EvictOrder, Extension, Found, Leave, NoteAt, Until};
use crate::{ErrorKind, Eviction, LossCause};
use std::sync::Arc;
use std::time::Duration;

/// Deleted, flushed, failed over: the holder was not notified, so the answers must report the loss.
pub(super) async fn a_lock_that_vanished_is_not_given_back(f: &Fixture) {
    vanished(f, false).await;
}

/// The same, with a new holder in its place, which must not be affected.
pub(super) async fn a_lock_that_another_has_by_now_is_not_given_back(f: &Fixture) {
    vanished(f, true).await;
}

async fn vanished(f: &Fixture, is_taken_again: bool) {
    let (one, other) = (f.connect().await, f.connect().await);
    if is_taken_again && !one.info().capabilities.distinct {
        return;
    }
    for asks_first in [false, true] {
        let held = f.claim("a");
        let grant = take(&one, &held).await;
        if !f.remove(&other, &held.name).await {
            return give(&one, &held).await;
        }
        let next = f.claim("a");
        if is_taken_again {
            // Some protocols count in milliseconds, and distinguish holders only by that.
            tokio::time::sleep(Duration::from_millis(2)).await;
            take(&other, &next).await;
        }
        if asks_first {
            assert!(matches!(extend(&one, &grant, TTL).await, Extension::Lost(_)));
        }
        let released = one.release(&held, used(1)).await.expect("answers");
        assert!(matches!(released.found(), Found::Nothing | Found::Evicted), "{released:?}");
        if is_taken_again {
            is_busy(&one, &f.claim("a")).await;
            give(&other, &next).await;
        }
    }
}

/// However a wait ends, and whatever is stored for it: releasing a busy claim does not free another holder.
pub(super) async fn a_busy_claim_frees_nobody(f: &Fixture) {
    let (one, other) = (f.connect().await, f.connect().await);
    let held = f.claim("a");
    let grant = take(&one, &held).await;
    let (busy, waited) = (f.claim("a"), f.claim("a"));
    is_busy(&other, &busy).await;
    other.release(&busy, Leave::default()).await.expect("answers");
    assert!(other.acquire(&waited, f.within(WHILE)).await.expect("answers").granted().is_none());
    other.release(&waited, Leave::default()).await.expect("answers");
    for polls in 0..8 {
        let dropped = f.claim("a");
        let mut asking = Box::pin(other.acquire(&dropped, Until::Forever));
        for _ in 0..polls {
            assert!(!poll_once(&mut asking).await, "it is held");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        drop(asking);
        other.release(&dropped, Leave::default()).await.expect("answers");
        is_busy(&one, &f.claim("a")).await;
    }
    assert!(matches!(extend(&one, &grant, TTL).await, Extension::Extended { .. }));
    give(&one, &held).await;
}

async fn evict(backend: &Arc<dyn Backend>, name: &crate::Name, now: bool) -> bool {
    let Some(admin) = backend.admin() else { return false };
    let order = if now { EvictOrder::new().at_once() } else { EvictOrder::new() };
    match admin.evict(name, order).await {
        // A store that cannot find the holder answers with this.
        Err(e) if e.kind() == ErrorKind::Unsupported => false,
        evicted => matches!(evicted.expect("answers"), Eviction::Evicted { .. }),
    }
}

/// The holder learns that it was evicted, either immediately or when its lease ends.
pub(super) async fn an_evicted_holder_is_told_so(f: &Fixture) {
    let (one, other) = (f.connect().await, f.connect().await);
    if !one.info().capabilities.records {
        return;
    }
    for now in [false, true] {
        let held = f.claim("a");
        let grant = take(&one, &held).await;
        if !evict(&other, &held.name, now).await {
            return give(&one, &held).await;
        }
        let told = extend(&one, &grant, TTL).await;
        assert!(matches!(told, Extension::Lost(LossCause::Evicted)), "{told:?}");
        if now {
            let next = f.claim("a");
            take(&other, &next).await;
            assert_eq!(one.release(&held, used(1)).await.expect("answers").found(), Found::Evicted);
            give(&other, &next).await;
        } else {
            // Its lease has not ended, so no other claim has had the lock.
            is_busy(&other, &f.claim("a")).await;
            give(&one, &held).await;
        }
    }
}

/// Its lease may still run, but its writes are no longer accepted.
pub(super) async fn an_evicted_holder_writes_no_notes(f: &Fixture) {
    let backend = f.connect().await;
    let Some(notes) = backend.notes() else { return };
    for now in [false, true] {
        let held = f.claim("a");
        let grant = take(&backend, &held).await;
        let at = |sequence| NoteAt::new("", grant.number, sequence);
        notes.store(&grant, at(1), b"in time").await.expect("answers").expect("the holder may");
        if evict(&backend, &held.name, now).await {
            assert!(notes.store(&grant, at(2), b"late").await.expect("answers").is_none());
        }
        backend.release(&held, used(1)).await.expect("answers");
        let kept = notes.load(&held.name, "").await.expect("answers").expect("it stays");
        assert_eq!(kept.bytes, b"in time");
    }
}
