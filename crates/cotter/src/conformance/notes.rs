//! Values beside names, for stores that support them.

use super::fixture::{Fixture, give, refused, settle, take};
use crate::backend::{Backend, EvictOrder, NoteAt, Notes, Until};
use crate::{Eviction, Name};
use std::sync::Arc;

const fn at(token: u64, sequence: u64) -> NoteAt<'static> {
    NoteAt::new("", token, sequence)
}

fn notes(backend: &Arc<dyn Backend>) -> Option<&dyn Notes> {
    backend.notes()
}

pub(super) async fn a_note_outlives_its_writer(f: &Fixture) {
    let (one, other) = (f.connect().await, f.connect().await);
    let (Some(writer), Some(reader)) = (notes(&one), notes(&other)) else { return };
    let claim = f.claim("a");
    assert!(reader.load(&claim.name, "").await.expect("answers").is_none());
    let grant = take(&one, &claim).await;
    assert!(writer.store(&grant, at(grant.number, 1), b"first").await.expect("answers").is_some());
    assert!(writer.store(&grant, at(grant.number, 2), b"second").await.expect("answers").is_some());
    give(&one, &claim).await;
    let note = reader.load(&claim.name, "").await.expect("answers").expect("it stays");
    assert_eq!((note.bytes.as_slice(), note.token.get()), (b"second".as_slice(), grant.number));
}

pub(super) async fn keys_beside_one_name_are_apart(f: &Fixture) {
    let backend = f.connect().await;
    let Some(notes) = notes(&backend) else { return };
    let (claim, other) = (f.claim("a"), f.claim("b"));
    let grant = take(&backend, &claim).await;
    let keys = ["", "history", "History", "a:b", "%68", "key"];
    for (sequence, key) in (1..).zip(keys) {
        let at = NoteAt::new(key, grant.number, sequence);
        notes.store(&grant, at, key.as_bytes()).await.expect("answers").expect("the holder may");
    }
    let again = NoteAt::new("", grant.number, 99);
    notes.store(&grant, again, b"").await.expect("answers").expect("the holder may");
    give(&backend, &claim).await;
    for key in keys {
        let note = notes.load(&claim.name, key).await.expect("answers").expect("it stays");
        assert_eq!(note.bytes, key.as_bytes(), "under {key:?}");
        assert!(notes.load(&other.name, key).await.expect("answers").is_none(), "beside another name");
    }
}

pub(super) async fn a_note_survives_eviction(f: &Fixture) {
    let backend = f.connect().await;
    let (Some(notes), Some(admin)) = (notes(&backend), backend.admin()) else { return };
    let claim = f.claim("a");
    let grant = take(&backend, &claim).await;
    notes.store(&grant, at(grant.number, 1), b"kept").await.expect("answers").expect("the holder may");
    let order = EvictOrder::new().at_once();
    let evicted = admin.evict(&claim.name, order).await.expect("answers");
    let late = notes.store(&grant, at(grant.number, 2), b"late").await.expect("answers");
    match evicted {
        Eviction::Evicted { .. } => assert!(late.is_none(), "an evicted holder writes nothing"),
        _ => give(&backend, &claim).await,
    }
    let kept = notes.load(&claim.name, "").await.expect("answers").expect("it stays");
    assert_eq!(kept.bytes.as_slice(), if late.is_some() { b"late" } else { b"kept" });
}

pub(super) async fn a_stale_writer_is_refused(f: &Fixture) {
    let (one, other) = (f.connect().await, f.connect().await);
    let (Some(stale), Some(current)) = (notes(&one), notes(&other)) else { return };
    let (old, new) = (f.claim("a"), f.claim("a"));
    let before = take(&one, &old).await;
    give(&one, &old).await;
    let grant = take(&other, &new).await;
    current.store(&grant, at(grant.number, 1), b"new").await.expect("answers").expect("the holder may");
    assert!(stale.store(&before, at(before.number, 9), b"old").await.expect("answers").is_none());
    assert!(
        current.store(&grant, at(grant.number, 1), b"again").await.expect("answers").is_none(),
        "same pair"
    );
    let note = current.load(&new.name, "").await.expect("answers").expect("a note");
    assert_eq!(note.bytes, b"new");
}

/// Whoever has read an old copy of a note, or has missed one, writes nothing. What a holder has written itself it replaces.
pub(super) async fn a_stale_reader_is_refused(f: &Fixture) {
    let backend = f.connect().await;
    let Some(notes) = notes(&backend) else { return };
    let (name, mut seen) = (f.name("a"), vec![0]);
    for bytes in [b"one".as_slice(), b"two"] {
        let claim = f.claim("a");
        let grant = take(&backend, &claim).await;
        let newest = *seen.last().expect("one");
        let stale = seen.iter().rev().skip(1).copied().chain([newest + 1, u64::MAX >> 12]);
        for (sequence, seen) in (1..).zip(stale) {
            let refused = notes.store(&grant, at(grant.number, sequence).over(seen), b"stale").await;
            assert_eq!(
                refused.expect("answers"),
                None,
                "revision {seen} instead of {newest} replaced the note"
            );
        }
        let first = at(grant.number, 10).over(newest);
        assert!(notes.store(&grant, first, b"first").await.expect("answers").is_some(), "over {newest}");
        let again = notes.store(&grant, at(grant.number, 11).over(newest), bytes).await.expect("answers");
        let again = again.expect("its own note does not stop a holder");
        let overtaken = notes.store(&grant, at(grant.number, 11).over(again), b"late").await;
        assert_eq!(overtaken.expect("answers"), None, "the same pair");
        give(&backend, &claim).await;
        let note = notes.load(&name, "").await.expect("answers").expect("a note");
        assert_eq!((note.bytes.as_slice(), note.revision), (bytes, again));
        seen.push(note.revision);
    }
}

pub(super) async fn only_a_holder_writes(f: &Fixture) {
    let backend = f.connect().await;
    let Some(notes) = notes(&backend) else { return };
    let claim = f.claim("a");
    let grant = take(&backend, &claim).await;
    give(&backend, &claim).await;
    assert!(notes.store(&grant, at(grant.number, 1), b"late").await.expect("answers").is_none());
    assert!(notes.load(&claim.name, "").await.expect("answers").is_none());
}

pub(super) async fn swap_compares(f: &Fixture) {
    let backend = f.connect().await;
    let Some(notes) = notes(&backend) else { return };
    let name = f.name("a");
    if !backend.info().capabilities.swap {
        return refused(notes.swap(&name, "k", 0, b"one").await);
    }
    let first = notes.swap(&name, "k", 0, b"one").await.expect("answers").expect("there was none");
    for seen in [0, u64::MAX] {
        assert!(notes.swap(&name, "k", seen, b"lost").await.expect("answers").is_none());
    }
    let second = notes.swap(&name, "k", first, b"two").await.expect("answers").expect("nobody was between");
    assert_ne!(first, second);
    let note = notes.load(&name, "k").await.expect("answers").expect("a note");
    assert_eq!((note.bytes.as_slice(), note.revision), (b"two".as_slice(), second));
    assert!(notes.load(&name, "other").await.expect("answers").is_none());
}

pub(super) async fn swaps_at_once_lose_none(f: &Fixture) {
    const TASKS: u64 = 10;
    const EACH: u64 = 5;
    let backend = f.connect().await;
    if !backend.info().capabilities.swap {
        return;
    }
    let name = f.name("a");
    let mut tasks = Vec::new();
    for _ in 0..TASKS {
        let (backend, name) = (f.connect().await, name.clone());
        tasks.push(tokio::spawn(async move {
            let notes = backend.notes().expect("swap needs notes");
            for _ in 0..EACH {
                while !counted(notes, &name).await {
                    tokio::task::yield_now().await;
                }
            }
        }));
    }
    for task in tasks {
        task.await.expect("no panic");
    }
    let note = notes(&backend).expect("has notes").load(&name, "k").await.expect("answers").expect("a note");
    assert_eq!(note.bytes, (TASKS * EACH).to_string().as_bytes(), "a write was lost, or counted twice");
}

/// Adds one to a number, unless somebody else was in between.
async fn counted(notes: &dyn Notes, name: &Name) -> bool {
    let old = notes.load(name, "k").await.expect("answers");
    let seen = old.as_ref().map_or(0, |n| n.revision);
    let number: u64 = old.map_or(0, |n| String::from_utf8(n.bytes).unwrap().parse().unwrap());
    notes.swap(name, "k", seen, (number + 1).to_string().as_bytes()).await.expect("answers").is_some()
}

pub(super) async fn a_change_wakes(f: &Fixture) {
    let (one, other) = (f.connect().await, f.connect().await);
    let (Some(writer), Some(_)) = (notes(&one), notes(&other)) else { return };
    let (claim, until) = (f.claim("a"), f.soon());
    let (name, grant) = (claim.name.clone(), take(&one, &claim).await);
    let first = writer.store(&grant, at(grant.number, 1), b"one").await;
    let seen = first.expect("answers").expect("the holder may");
    let watched = name.clone();
    let waiting = tokio::spawn(async move {
        let notes = other.notes().expect("has notes");
        notes.changed(&watched, "", seen, until).await.expect("answers")
    });
    settle().await;
    assert!(!waiting.is_finished());
    let second = writer.store(&grant, at(grant.number, 2), b"two").await;
    let last = second.expect("answers").expect("the holder may");
    let note = waiting.await.expect("no panic").expect("in time");
    assert_eq!((note.bytes.as_slice(), note.revision), (b"two".as_slice(), last));
    assert!(writer.changed(&name, "", last, Until::Now).await.expect("answers").is_none());
}
