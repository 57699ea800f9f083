//! What every user of the file store can do.

use super::place::Place;
use cotter::{Client, Eviction, Filter, Owner, Released, file};
use cotter_testkit::timing::Stopwatch;
use std::time::Duration;

#[tokio::test]
async fn one_holder_at_a_time_and_rising_tokens() {
    let place = Place::new();
    let (one, other) = (place.client().await.unwrap(), place.client().await.unwrap());
    let first = one.mutex("orders").lock().await.unwrap();
    assert!(other.mutex("orders").try_lock().await.unwrap().is_none());
    assert!(other.mutex("Orders").try_lock().await.unwrap().is_some());
    let token = first.token();
    assert_eq!(first.release().await.unwrap(), Released::Yes);
    let second = other.mutex("orders").try_lock().await.unwrap().unwrap();
    assert!(second.token() > token);
}

#[tokio::test]
async fn a_waiter_gets_the_lock_when_it_is_dropped() {
    let place = Place::new();
    let (one, other) = (place.client().await.unwrap(), place.client().await.unwrap());
    let first = one.mutex("orders").lock().await.unwrap();
    let waiting = tokio::spawn(other.mutex("orders").lock());
    while std::fs::read_dir(place.directory().join("orders.queue")).is_err() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let token = first.token();
    drop(first);
    let second = waiting.await.unwrap().unwrap();
    assert!(second.token() > token);
    assert!(!place.directory().join("orders.queue").exists());
    drop(second);
    let text = std::fs::read_to_string(place.directory().join("orders.lock")).unwrap();
    assert!(text.contains("state=free") && text.contains("name=orders\n"), "{text}");
}

#[tokio::test]
async fn a_busy_lock_is_not_an_error() {
    let place = Place::new();
    let (one, other) = (place.client().await.unwrap(), place.client().await.unwrap());
    let _first = one.mutex("orders").lock().await.unwrap();
    let wait = Duration::from_millis(30);
    assert!(other.mutex("orders").try_lock_for(wait).await.unwrap().is_none());
    // The wait is taken back in the background.
    gone(&place.directory().join("orders.queue")).await;
}

async fn gone(path: &std::path::Path) {
    while path.exists() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn who_holds_is_read_without_taking_the_lock() {
    let place = Place::new();
    let (one, other) = (place.client().await.unwrap(), place.client().await.unwrap());
    let long = "ü".repeat(250);
    let guard = one.mutex(&long).lock().await.unwrap();
    one.mutex("free").lock().await.unwrap().finish().await.unwrap();
    let record = other.holder(&long).await.unwrap().expect("it is held");
    assert_eq!((record.name.as_str(), record.holders[0].token), (long.as_str(), guard.token()));
    assert_eq!(record.holders[0].pid, Some(std::process::id()));
    assert!(record.holders[0].since.is_some() && record.holders[0].remaining.is_none());
    assert!(other.holder("free").await.unwrap().is_none());
    let mut all = other.admin().list(Filter::held().with_free());
    let mut names = Vec::new();
    while let Some(record) = all.next().await.unwrap() {
        names.push(record.name.to_string());
    }
    assert_eq!(names, ["free".to_owned(), long]);
}

/// The record of a holder that was killed still says that it holds.
#[tokio::test]
async fn a_record_alone_holds_nothing() {
    let place = Place::new();
    let client = place.client().await.unwrap();
    let guard = client.mutex("orders").lock().await.unwrap();
    let path = place.directory().join("orders.lock");
    let held = std::fs::read(&path).unwrap();
    guard.finish().await.unwrap();
    std::fs::write(&path, held).unwrap();
    assert!(client.holder("orders").await.unwrap().is_none());
    assert_eq!(client.admin().evict("orders").await.unwrap(), Eviction::NotHeld);
    assert!(client.mutex("orders").try_lock().await.unwrap().is_some());
}

#[tokio::test]
async fn a_held_lock_cannot_be_taken_away() {
    let place = Place::new();
    let client = place.client().await.unwrap();
    let _guard = client.mutex("orders").lock().await.unwrap();
    let pid = std::process::id();
    assert_eq!(client.admin().evict("orders").await.unwrap(), Eviction::HolderMustExit { pid });
}

/// A chain of many: each is woken by the one before it. They come at such times that each would look 37 ms after the
/// one before it, if it were not woken.
// Nobody is woken by a ticket: whoever waits looks every 50 ms.
#[cfg(not(cotter_portable))]
#[tokio::test]
async fn a_long_line_moves_on_by_itself() {
    const LINE: u64 = 20;
    let place = Place::new();
    let store = file::Store::at(place.directory());
    let client = Client::builder().local_turns(false).connect_to(store).await.unwrap();
    let first = client.mutex("orders").lock().await.unwrap();
    let mut line = Vec::new();
    for _ in 0..LINE {
        let wanted = client.mutex("orders").lock();
        line.push(tokio::spawn(async move { wanted.await.unwrap().release().await.unwrap() }));
        tokio::time::sleep(Duration::from_millis(37)).await;
    }
    assert_eq!(std::fs::read_dir(place.directory().join("orders.queue")).unwrap().count() as u64, LINE);
    let start = Stopwatch::start();
    first.finish().await.unwrap();
    for task in line {
        assert_eq!(task.await.unwrap(), Released::Yes);
    }
    start.at_most(Duration::from_millis(LINE * 37 / 2), "each is woken by the one before it");
}

/// It has released the lock, and the time is for everybody.
#[tokio::test]
async fn an_owner_does_not_re_enter_a_lock_that_is_kept_for_a_while() {
    let (place, me) = (Place::new(), Owner::new());
    let client = place.client().await.unwrap();
    let mutex = client.mutex("a").owner(&me);
    let rest = Duration::from_millis(500);
    assert_eq!(mutex.lock().await.unwrap().keep_for(rest).await.unwrap(), Released::Yes);
    assert!(mutex.try_lock().await.unwrap().is_none(), "it is kept");
    assert!(mutex.try_lock_for(rest * 20).await.unwrap().is_some(), "not for longer");
}
