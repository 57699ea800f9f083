//! `file:` in one process: its files are taken away, and newcomers meet those who wait.

use cotter::{Client, Lease, LossCause};
use cotter_testkit::Actor;
use cotter_testkit::history::{History, Kind, Limits, Recorder, Use, check, demand};
use cotter_testkit::timing::FAR;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

async fn actor(store: &Path, log: &Recorder, process: u32) -> Actor {
    let url = format!("file://{}", store.display());
    let lease = Lease::renewed(Duration::from_millis(300));
    Actor::new(Client::builder().lease(lease).connect(url).await.unwrap(), log, process)
}

fn private_folder() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// Until so many wait, for long enough to be in the kernel's queue if they can.
async fn until_waiting(by: &Actor, waiters: u32) {
    let waiting = async || by.client().holder("x").await.unwrap().and_then(|r| r.waiters).unwrap_or(0);
    while waiting().await < waiters {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    tokio::time::sleep(Duration::from_millis(30)).await;
}

/// Somebody takes the lock file away, and another one makes a new one: the first holder is told before that.
#[tokio::test]
async fn a_holder_whose_file_is_taken_away_is_told() {
    let (folder, log) = (private_folder(), Recorder::in_memory());
    let store = folder.path().join("store");
    let (one, other) = (actor(&store, &log, 1).await, actor(&store, &log, 2).await);
    for _ in 0..5 {
        let held = one.lock("x").await.unwrap();
        std::fs::remove_file(store.join("x.lock")).unwrap();
        let told = tokio::time::timeout(FAR, held.guard().lost()).await;
        if let Ok(lost) = &told {
            held.lost(lost);
            assert_eq!(lost.cause, LossCause::Gone);
        }
        let next = other.lock("x").await.unwrap();
        tokio::time::sleep(Duration::from_millis(5)).await;
        drop((held, next));
        if told.is_err() {
            break;
        }
    }
    let found = check(&History::of(log.events()), &Limits::default());
    let all: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert!(all.is_empty(), "{}", all.join("\n"));
}

/// The lock is free for a moment, and somebody who listens is on the way to it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_newcomer_does_not_take_what_somebody_waits_for() {
    let (folder, log) = (private_folder(), Recorder::in_memory());
    let store = folder.path().join("store");
    let [one, first, second] =
        [actor(&store, &log, 1).await, actor(&store, &log, 2).await, actor(&store, &log, 3).await];
    let comes = actor(&store, &log, 4).await;
    for _ in 0..10 {
        let held = one.lock("x").await.unwrap();
        let waiter = first.clone();
        let next = tokio::spawn(async move { waiter.lock("x").await });
        until_waiting(&comes, 1).await;
        let waiter = second.clone();
        let waiting = tokio::spawn(async move { waiter.lock("x").await.map(drop) });
        until_waiting(&comes, 2).await;
        held.finish().await.unwrap();
        let newcomer = comes.client().mutex("x").try_lock().await.unwrap();
        let mut early = newcomer.is_some() && !next.is_finished();
        drop(newcomer);
        // The first in line stood in the kernel's queue. The second does not yet: only its ticket keeps newcomers out.
        let held = next.await.unwrap().unwrap();
        held.finish().await.unwrap();
        let newcomer = comes.client().mutex("x").try_lock().await.unwrap();
        early |= newcomer.is_some() && !waiting.is_finished();
        drop(newcomer);
        demand(!early, Kind::LostPlace, "a newcomer was served before a listening waiter");
        waiting.await.unwrap().unwrap();
    }
}

/// A reader could be let in beside those who read, but a writer waits: it would wait for as long as readers come.
#[tokio::test]
async fn a_reader_does_not_pass_a_writer_that_waits() {
    let (folder, log) = (private_folder(), Recorder::in_memory());
    let store = folder.path().join("store");
    let [one, other, newcomer] =
        [actor(&store, &log, 1).await, actor(&store, &log, 2).await, actor(&store, &log, 3).await];
    for _ in 0..10 {
        let reading = one.acquire("x", Use::Shared).await.unwrap();
        let writer = other.clone();
        let writing = tokio::spawn(async move { writer.acquire("x", Use::Exclusive).await });
        until_waiting(&newcomer, 1).await;
        let early = newcomer.try_acquire("x", Use::Shared).await.unwrap();
        demand(early.is_none(), Kind::LostPlace, "a reader was served before a writer that waits");
        reading.finish().await.unwrap();
        writing.await.unwrap().unwrap().finish().await.unwrap();
    }
}
