//! Requests whose runtime does not go on.

use cotter::{Client, Guard, Lease};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::Redis;
use cotter_testkit::timing::{FAR, Stopwatch, first_within};
use std::collections::BTreeSet;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};

/// Nothing here may be freed by the end of its lease.
const TTL: Duration = Duration::from_secs(60);

/// What other work takes from one of two runs it takes from the other one the next time.
const ROUNDS: usize = 4;

fn client(url: &str) -> Client {
    Client::builder().lease(Lease::renewed(TTL)).connect(url).wait().unwrap()
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// One that has a connection of its own: until then its requests go out over the engine's.
fn connected_runtime(server: &Redis, client: &Client) -> Runtime {
    let (runtime, before) = (runtime(), connected(server));
    let end = Instant::now() + Duration::from_secs(10);
    while connected(server) == before {
        assert!(Instant::now() < end, "it does not connect");
        drop(held(&runtime, client, "other"));
        runtime.block_on(async { tokio::time::sleep(Duration::from_millis(20)).await });
    }
    // It has said its name, and may still be about to load its scripts.
    runtime.block_on(async { tokio::time::sleep(Duration::from_millis(100)).await });
    runtime
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
    let since = Stopwatch::start();
    let guard = other.mutex(name).try_lock_for(FAR).wait().unwrap().expect("it is free");
    since.at_most(limit, format!("{name} is free"));
    drop(guard);
}

/// Between two calls of `block_on` nobody drives the connection of a runtime.
#[test]
#[ignore = "needs redis-server"]
fn a_release_of_a_runtime_that_stands_still_is_carried_out() {
    let server = Redis::start();
    let (client, other) = (client(&server.url("")), client(&server.url("")));
    let (still, gone) = (connected_runtime(&server, &client), connected_runtime(&server, &client));
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
#[ignore = "needs redis-server"]
fn an_acquire_of_a_runtime_that_stands_still_leaves_nothing() {
    let server = Redis::start();
    let (client, other) = (client(&server.url("")), client(&server.url("")));
    let still = connected_runtime(&server, &client);
    drop(begin(&still, client.mutex("a").lock()));
    is_free_within(Duration::from_secs(5), &other, "a");
    // The question arrives now, and is undone.
    still.block_on(async { tokio::time::sleep(Duration::from_millis(50)).await });
    is_free_within(Duration::from_secs(15), &other, "a");
}

/// The connections go with their runtimes; that of the engine stays.
fn no_runtime_is_connected(server: &Redis) {
    let left = first_within(FAR, || (connected(server) <= 1).then_some(()));
    demand(left.is_some(), Kind::LeftBehind, format!("{} connections are left", connected(server)));
}

/// Takes and gives back for a while on each of so many runtimes; answers with how often, and with the connections that the
/// server has had.
fn churn(server: &Redis, client: &Client, runtimes: usize) -> (usize, BTreeSet<String>) {
    no_runtime_is_connected(server);
    let end = Instant::now() + Duration::from_secs(3);
    let threads: Vec<_> = (0..runtimes)
        .map(|i| {
            let client = client.clone();
            std::thread::spawn(move || {
                runtime().block_on(async {
                    let mut pairs = 0;
                    while Instant::now() < end {
                        let mutex = client.mutex(format!("{runtimes} {i} {}", pairs % 7));
                        mutex.lock().await.unwrap().finish().await.unwrap();
                        pairs += 1;
                    }
                    pairs
                })
            })
        })
        .collect();
    let mut connections = BTreeSet::new();
    while threads.iter().any(|t| !t.is_finished()) {
        connections.extend(connections_of(server));
        std::thread::sleep(Duration::from_millis(50));
    }
    (threads.into_iter().map(|t| t.join().unwrap()).sum(), connections)
}

/// The ids of the connections of clients of cotter.
fn connections_of(server: &Redis) -> Vec<String> {
    let list = server.command(&["CLIENT", "LIST"]);
    let ours = list.lines().filter(|line| line.contains(" name=cotter "));
    ours.filter_map(|line| line.split(' ').next().map(str::to_owned)).collect()
}

fn connected(server: &Redis) -> usize {
    connections_of(server).len()
}

#[test]
#[ignore = "needs redis-server"]
fn many_runtimes_do_as_well_as_few_and_leave_nothing() {
    let server = Redis::start();
    let client = client(&server.url(""));
    let mut pairs = Vec::new();
    let as_well = (0..ROUNDS).any(|_| {
        let (few, _) = churn(&server, &client, 8);
        let (many, connections) = churn(&server, &client, 32);
        // None is closed under a runtime that uses it, and opened again.
        let opened = connections.len();
        assert!(opened <= 32 + 1, "violation[connected-again]: {opened} connections for 32 runtimes");
        pairs.push((many, few));
        many * 2 >= few
    });
    demand(as_well, Kind::UnfairShare, format!("pairs on 32 runtimes, and on 8: {pairs:?}"));
    no_runtime_is_connected(&server);
    let other = self::client(&server.url(""));
    for i in 0..32 {
        for n in 0..7 {
            let name = format!("32 {i} {n}");
            let free = other.mutex(&name).try_lock().wait().unwrap();
            demand(free.is_some(), Kind::LeftBehind, format!("{name} is still held"));
        }
    }
}

/// Such a runtime cannot drive a connection.
#[test]
#[ignore = "needs redis-server"]
fn runtimes_without_timers_or_sockets_work() {
    let server = Redis::start();
    let client = client(&server.url(""));
    let plain = |client| self::client(&server.url(client));
    let mut builders = [(); 3].map(|()| Builder::new_current_thread());
    builders[1].enable_time();
    builders[2].enable_io();
    for client in [client, plain("mode=plain")] {
        for runtime in builders.iter_mut().map(|b| b.build().unwrap()) {
            for i in 0..10 {
                let guard = runtime.block_on(client.mutex(format!("a {}", i % 3)).try_lock()).unwrap();
                runtime.block_on(guard.expect("it is free").finish()).unwrap();
                std::thread::sleep(Duration::from_millis(5));
            }
            let guard = runtime.block_on(client.mutex("b").lock()).unwrap();
            let busy = runtime.block_on(client.mutex("b").try_lock_for(Duration::from_millis(50))).unwrap();
            assert!(busy.is_none());
            drop(guard);
        }
    }
}
