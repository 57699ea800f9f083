//! The file store through the public API: several clients in one process are several processes to the kernel.

use cotter::{Client, Released, file};
use std::path::PathBuf;
use std::time::Duration;
use tempfile::TempDir;

/// A private place with the directory of a store in it.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn directory(&self) -> PathBuf {
        self.0.path().join("locks")
    }

    async fn client(&self) -> Client {
        Client::builder().backend(file::Store::at(self.directory())).connect().await.unwrap()
    }
}

#[tokio::test]
async fn one_holder_at_a_time_and_rising_tokens() {
    let place = Place::new();
    let (one, other) = (place.client().await, place.client().await);
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
    let (one, other) = (place.client().await, place.client().await);
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
    let (one, other) = (place.client().await, place.client().await);
    let _first = one.mutex("orders").lock().await.unwrap();
    let wait = Duration::from_millis(30);
    assert!(other.mutex("orders").try_lock_for(wait).await.unwrap().is_none());
    assert!(!place.directory().join("orders.queue").exists());
}
