//! Grants that pass from one claim to another.

use super::fixture::{Fixture, TTL, give, is_busy, refused, take, used};
use crate::backend::{Backend, Claim, EvictOrder, Extension, Found, Grant, Mode, Until};
use std::sync::Arc;

/// Returns false if the store has no tickets, after checking that it refuses them.
async fn supports(f: &Fixture, backend: &Arc<dyn Backend>) -> bool {
    let can = backend.info().capabilities.tickets;
    if !can {
        refused(backend.adopt(&f.claim("refused"), &f.claim("refused")).await);
    }
    can
}

async fn adopt(backend: &Arc<dyn Backend>, from: &Claim, to: &Claim) -> Option<Grant> {
    backend.adopt(from, to).await.expect("the store answers")
}

pub(super) async fn a_grant_changes_hands_once(f: &Fixture) {
    let (one, other) = (f.connect().await, f.connect().await);
    if !supports(f, &one).await {
        return;
    }
    let (from, to, late) = (f.claim("a"), f.claim("a"), f.claim("a"));
    let granted = take(&one, &from).await;
    let adopted = adopt(&other, &from, &to).await.expect("violation[lost-place]: it is held");
    assert_eq!((adopted.claim.id, adopted.number, adopted.turns), (to.id, granted.number, 1));
    assert!(adopted.ttl.is_some_and(|left| left <= TTL), "the lease goes on as it was");
    assert!(adopt(&one, &from, &late).await.is_none(), "violation[overlap]: the ticket was used");
    let again = adopt(&other, &from, &to).await.expect("the same request again");
    assert_eq!((again.claim.id, again.number), (to.id, adopted.number));
    // The one before has nothing any more, and frees nothing.
    let lost = one.extend(&[&granted], TTL).await.pop().expect("one answer").expect("the store answers");
    assert!(matches!(lost, Extension::Lost(_)), "violation[untold-loss]: it belongs to another claim");
    assert_eq!(one.release(&from, used(1)).await.expect("answers").found(), Found::Nothing);
    is_busy(&one, &f.claim("a")).await;
    let kept = other.extend(&[&adopted], TTL).await.pop().expect("one answer").expect("the store answers");
    assert!(matches!(kept, Extension::Extended { .. }), "its holder extends it");
    give(&other, &to).await;
    let next = take(&one, &f.claim("a")).await;
    assert!(next.number > adopted.number, "violation[token-order]: {} after {}", next.number, adopted.number);
}

pub(super) async fn an_adopted_block_ends_with_its_last_token(f: &Fixture) {
    let backend = f.connect().await;
    if !supports(f, &backend).await {
        return;
    }
    let (mut from, to) = (f.claim("a"), f.claim("a"));
    from.turns = 5;
    let granted = take(&backend, &from).await;
    let adopted = adopt(&backend, &from, &to).await.expect("it is held");
    let last = granted.number + u64::from(granted.turns) - 1;
    assert_eq!((adopted.number, adopted.turns), (last, 1), "violation[repeated-token]");
    give(&backend, &to).await;
    assert!(take(&backend, &f.claim("a")).await.number > last, "violation[repeated-token]");
}

pub(super) async fn what_is_not_held_is_not_adopted(f: &Fixture) {
    let backend = f.connect().await;
    if !supports(f, &backend).await {
        return;
    }
    let (from, to) = (f.claim("a"), f.claim("a"));
    assert!(adopt(&backend, &from, &to).await.is_none(), "never granted");
    take(&backend, &from).await;
    give(&backend, &from).await;
    assert!(adopt(&backend, &from, &to).await.is_none(), "given back");
    take(&backend, &f.claim("a")).await;
    assert!(adopt(&backend, &from, &to).await.is_none(), "violation[overlap]: held by another claim");
    let ttl = (backend.info().capabilities.min_ttl * 2).max(TTL / 100);
    let short = Claim { ttl, ..f.claim("b") };
    take(&backend, &short).await;
    tokio::time::sleep(short.ttl * 2).await;
    assert!(
        adopt(&backend, &short, &f.claim("b")).await.is_none(),
        "violation[overlap]: its lease has ended"
    );
    let evicted = f.claim("c");
    take(&backend, &evicted).await;
    let admin = backend.admin().expect("a store with tickets has records");
    drop(admin.evict(&evicted.name, EvictOrder::default()).await.expect("answers"));
    assert!(adopt(&backend, &evicted, &f.claim("c")).await.is_none(), "evicted");
}

pub(super) async fn readers_and_permits_are_adopted(f: &Fixture) {
    let backend = f.connect().await;
    if !supports(f, &backend).await {
        return;
    }
    for mode in [Mode::Shared, Mode::Permits { take: 2, of: 3 }] {
        if backend.info().supports(mode).is_err() {
            continue;
        }
        let name = format!("{mode:?}");
        let (from, beside, to) = (f.claim_as(&name, mode), f.claim_as(&name, mode), f.claim_as(&name, mode));
        take(&backend, &from).await;
        let beside =
            if mode == Mode::Shared { beside } else { f.claim_as(&name, Mode::Permits { take: 1, of: 3 }) };
        take(&backend, &beside).await;
        adopt(&backend, &from, &to).await.expect("it is held");
        give(&backend, &beside).await;
        let whole = if mode == Mode::Shared { Mode::Exclusive } else { mode };
        let next = f.claim_as(&name, whole);
        let answer = backend.acquire(&next, Until::Now).await.expect("answers").granted();
        assert!(answer.is_none(), "violation[overlap]: the adopted part is still held");
        give(&backend, &to).await;
        take(&backend, &next).await;
    }
}
