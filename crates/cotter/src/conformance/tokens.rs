//! Fencing tokens.

use super::fixture::{Fixture, give, take, used};

pub(super) async fn tokens_rise(f: &Fixture) {
    let backend = f.connect().await;
    let mut last = 0;
    for _ in 0..100 {
        let claim = f.claim("a");
        let grant = take(&backend, &claim).await;
        assert!(grant.number > last);
        last = grant.number;
        give(&backend, &claim).await;
    }
}

pub(super) async fn tokens_rise_over_clients(f: &Fixture) {
    let mut last = 0;
    for _ in 0..10 {
        let backend = f.connect().await;
        let claim = f.claim("a");
        let grant = take(&backend, &claim).await;
        assert!(grant.number > last);
        last = grant.number;
        give(&backend, &claim).await;
        backend.close().await;
    }
}

pub(super) async fn tokens_fit_javascript(f: &Fixture) {
    let backend = f.connect().await;
    let grant = take(&backend, &f.claim("a")).await;
    assert!(grant.number > 0 && grant.number < 1 << 53, "{}", grant.number);
}

pub(super) async fn turns_are_what_was_reserved(f: &Fixture) {
    let backend = f.connect().await;
    let mut claim = f.claim("a");
    claim.turns = 100;
    let grant = take(&backend, &claim).await;
    assert!(grant.turns >= 1 && grant.turns <= 100);
    backend.release(&claim, used(grant.turns)).await.expect("answers");
    let next = take(&backend, &f.claim("a")).await;
    assert!(next.number > grant.number + u64::from(grant.turns) - 1);
}

/// Unused turns that are given back may be granted again.
pub(super) async fn unused_turns_go_back(f: &Fixture) {
    let backend = f.connect().await;
    let mut claim = f.claim("a");
    claim.turns = 1000;
    let grant = take(&backend, &claim).await;
    backend.release(&claim, used(1)).await.expect("answers");
    let next = take(&backend, &f.claim("a")).await;
    assert!(next.number > grant.number);
}

pub(super) async fn used_turns_do_not_come_again(f: &Fixture) {
    let backend = f.connect().await;
    let mut largest = 0;
    for turns in [3, 1, 50, 1, 1000, 2] {
        let mut claim = f.claim("a");
        claim.turns = turns;
        let grant = take(&backend, &claim).await;
        assert!(grant.number > largest);
        let taken = grant.turns.min(2);
        largest = grant.number + u64::from(taken) - 1;
        backend.release(&claim, used(taken)).await.expect("answers");
    }
}
