//! Requests whose runtime does not go on.

use crate::setup::server;
use cotter::{Client, Guard, Lease};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};

/// Nothing here may be freed by the end of its lease.
const TTL: Duration = Duration::from_secs(60);

fn client(url: &str) -> Client {
    Client::builder().url(url).lease(Lease::renewed(TTL)).connect().wait().unwrap()
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Polled once, which hands its request to the driver, and not driven any further.
fn begin<T>(
    runtime: &Runtime,
    operation: impl Future<Output = T> + 'static,
) -> Pin<Box<dyn Future<Output = T>>> {
    let mut operation: Pin<Box<dyn Future<Output = T>>> = Box::pin(operation);
    let is_pending = runtime.block_on(poll_fn(|cx| Poll::Ready(operation.as_mut().poll(cx).is_pending())));
    assert!(is_pending, "it takes a round trip");
    operation
}

fn held(runtime: &Runtime, client: &Client, name: &str) -> Guard {
    runtime.block_on(client.mutex(name).lock()).unwrap()
}

#[track_caller]
fn is_free_within(limit: Duration, other: &Client, name: &str) {
    let start = Instant::now();
    let guard = other.mutex(name).try_lock_for(limit).wait().unwrap();
    drop(guard.unwrap_or_else(|| panic!("{name} is still held after {:?}", start.elapsed())));
}

/// Between two calls of `block_on` nobody drives the connection of a runtime.
#[test]
fn a_release_of_a_runtime_that_stands_still_is_carried_out() {
    let server = server!();
    let (client, other) = (client(&server.url("")), client(&server.url("")));
    let (still, gone) = (runtime(), runtime());
    let (a, b) = (held(&still, &client, "a"), held(&gone, &client, "b"));
    let (a, b) = (begin(&still, a.release()), begin(&gone, b.release()));
    drop((a, gone, b));
    is_free_within(Duration::from_secs(1), &other, "b");
    is_free_within(Duration::from_secs(5), &other, "a");
    // What comes late by the old way frees nobody else.
    let next = held(&still, &other, "a");
    assert!(client.mutex("a").try_lock().wait().unwrap().is_none());
    assert!(next.is_valid());
    drop(next);
}

#[test]
fn an_acquire_of_a_runtime_that_stands_still_leaves_nothing() {
    let server = server!();
    let (client, other) = (client(&server.url("")), client(&server.url("")));
    let still = runtime();
    // Its connection is there.
    drop(held(&still, &client, "other"));
    drop(begin(&still, client.mutex("a").lock()));
    is_free_within(Duration::from_secs(5), &other, "a");
    // The question arrives now, and is undone.
    still.block_on(async { tokio::time::sleep(Duration::from_millis(50)).await });
    is_free_within(Duration::from_secs(15), &other, "a");
}
