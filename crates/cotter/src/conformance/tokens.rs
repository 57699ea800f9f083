//! Fencing tokens.

use super::fixture::{Fixture, give, take, used, wait_in_task};
use super::modes::supports;
use super::permits::permits;
use crate::backend::{Backend, Grant, Mode, NoteAt};
use std::collections::HashSet;
use std::sync::Arc;

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

/// However many ask at once: a token that two of them had would make the note of the second one a repetition of the first.
pub(super) async fn each_share_has_a_token_of_its_own(f: &Fixture) {
    for (name, mode) in [("read", Mode::Shared), ("limited", permits(1, 4))] {
        let mut backends = vec![f.connect().await];
        if !supports(f, &backends[0], mode).await {
            continue;
        }
        for _ in 1..4 {
            backends.push(f.connect().await);
        }
        let mut given = HashSet::new();
        for _ in 0..10 {
            let ask = |backend: &Arc<dyn Backend>| wait_in_task(backend, &f.claim_as(name, mode), f.soon());
            let mut held = Vec::new();
            for (task, backend) in backends.iter().map(ask).collect::<Vec<_>>().into_iter().zip(&backends) {
                held.push((task.await.expect("no panic").expect("there is room for all"), backend.clone()));
            }
            held.sort_by_key(|(grant, _)| grant.number);
            for (grant, backend) in &held {
                assert!(given.insert(grant.number), "{} was given out twice, for {mode:?}", grant.number);
                its_note_is_kept(backend, grant).await;
            }
            for (grant, backend) in &held {
                give(backend, &grant.claim).await;
            }
        }
    }
}

async fn its_note_is_kept(backend: &Arc<dyn Backend>, grant: &Grant) {
    let Some(notes) = backend.notes() else { return };
    let (name, bytes) = (&grant.claim.name, grant.claim.id.to_string());
    let stored = notes.store(grant, NoteAt::new("", grant.number, 1), bytes.as_bytes()).await;
    stored.expect("answers").expect("nobody with a larger token has written");
    let kept = notes.load(name, "").await.expect("answers").expect("it was written");
    assert_eq!((kept.bytes, kept.token.get()), (bytes.into_bytes(), grant.number));
}
