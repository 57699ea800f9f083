//! Locks of a real server together with those of another store.

use crate::multi::sixteen_tasks_in_both_orders;
use cotter::{Client, ErrorKind, memory, multi};
use cotter_testkit::servers::{Proxy, Redis};
use std::time::Duration;

#[test]
#[ignore = "needs redis-server"]
fn sixteen_tasks_lock_a_server_and_the_memory_in_both_orders() {
    let (server, store) = (Redis::start(), memory::Store::new());
    let clients: Vec<_> = (0..4)
        .map(|_| {
            let memory = Client::builder().connect_to(store.clone()).wait().unwrap();
            [Client::connect(server.url("")).wait().unwrap(), memory]
        })
        .collect();
    sixteen_tasks_in_both_orders(|task| {
        let [redis, memory] = &clients[task % clients.len()];
        vec![redis.mutex("a"), memory.mutex("a"), redis.mutex("b")]
    });
}

#[test]
#[ignore = "needs redis-server"]
fn none_is_held_when_a_server_is_down() {
    let (server, store) = (Redis::start(), memory::Store::new());
    let proxy = Proxy::start(server.port());
    let give_up = Duration::from_millis(500);
    let redis = Client::builder().give_up(give_up).connect(proxy.redis_url("")).wait().unwrap();
    let connect = || Client::builder().connect_to(store.clone()).wait().unwrap();
    let (memory, other) = (connect(), connect());
    proxy.refuse(true);
    proxy.cut();
    let all = multi([&redis.mutex("a"), &memory.mutex("a"), &memory.mutex("b")]);
    for error in [
        all.try_lock().wait().unwrap_err(),
        all.try_lock_for(give_up).wait().unwrap_err(),
        all.lock().wait().unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        for name in ["a", "b"] {
            let held = other.mutex(name).try_lock().wait().unwrap();
            assert!(held.is_some(), "violation[left-behind]: {name:?} is held");
        }
    }
    proxy.refuse(false);
    all.try_lock_for(Duration::from_secs(20))
        .wait()
        .unwrap()
        .expect("it is up again")
        .finish()
        .wait()
        .unwrap();
}

/// The three steps of docs/migrating.md: whoever holds, the programs of the step before and after are kept out.
#[test]
#[ignore = "needs redis-server"]
fn from_plain_to_native_there_is_no_gap() {
    let server = Redis::start();
    let mutex = |options| Client::connect(server.url(options)).wait().unwrap().mutex("orders");
    let [(plain, native), (other_plain, other_native)] = [(); 2].map(|()| (mutex("mode=plain"), mutex("")));
    let (both, other) = (multi([&plain, &native]), multi([&other_plain, &other_native]));
    let old = other_plain.lock().wait().unwrap();
    assert!(both.try_lock().wait().unwrap().is_none(), "an old program holds");
    old.finish().wait().unwrap();
    let guard = both.lock().wait().unwrap();
    assert!(other_plain.try_lock().wait().unwrap().is_none(), "old programs are kept out");
    assert!(other.try_lock().wait().unwrap().is_none(), "and those with both");
    assert!(other_native.try_lock().wait().unwrap().is_none(), "and new ones");
    guard.finish().wait().unwrap();
    let new = other_native.lock().wait().unwrap();
    assert!(both.try_lock().wait().unwrap().is_none(), "a new program holds");
    new.finish().wait().unwrap();
    both.lock().wait().unwrap().finish().wait().unwrap();
}

/// The same name under another prefix or in another mode is another lock.
#[test]
#[ignore = "needs redis-server"]
fn one_name_in_two_places_is_two_locks() {
    let server = Redis::start();
    let connect = |options: &str| Client::connect(server.url(options)).wait().unwrap();
    server.command(&["ACL", "SETUSER", "cotter", "~other:*", "&other:*"]);
    let (own, again, other) = (connect(""), connect(""), connect("prefix=other"));
    let all = multi([&own.mutex("a"), &other.mutex("a"), &connect("mode=plain").mutex("a")]);
    all.lock().wait().unwrap().finish().wait().unwrap();
    let error = multi([&own.mutex("a"), &again.mutex("a")]).lock().wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
}
