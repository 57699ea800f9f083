//! The two older protocols beside code that speaks them by hand.

use super::setup::client;
use cotter::{Client, ErrorKind, Lease, Released};
use cotter_testkit::servers::Redis;
use cotter_testkit::timing::happens;
use std::time::{Duration, SystemTime};

const TTL: Duration = Duration::from_secs(5);

fn by_hand(server: &Redis, value: &str, millis: &str) -> bool {
    server.command(&["SET", "a", value, "NX", "PX", millis]) == "OK"
}

fn now() -> u128 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis()
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn plain_and_hand_written_code_exclude_each_other() {
    let server = Redis::start();
    let client = client(&server.url("mode=plain&retry=5ms"), TTL).await;
    let guard = client.mutex("a").lock().await.unwrap();
    assert!(!by_hand(&server, "me", "1000"));
    guard.finish().await.unwrap();
    assert!(by_hand(&server, "me", "300"));
    assert!(client.mutex("a").try_lock().await.unwrap().is_none());
    let guard = client.mutex("a").lock().await.unwrap();
    assert_eq!(server.command(&["GET", "a"]).len(), 32, "the claim id");
    guard.finish().await.unwrap();
    assert_eq!(server.command(&["EXISTS", "a"]), "0");
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn plain_renews_only_its_own() {
    let server = Redis::start();
    let client = client(&server.url("mode=plain"), Duration::from_millis(600)).await;
    let guard = client.mutex("a").lock().await.unwrap();
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert!(guard.is_valid() && !by_hand(&server, "me", "1000"), "it was renewed");
    server.command(&["SET", "a", "thief"]);
    happens("it is told", guard.lost()).await;
    drop(guard);
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(server.command(&["GET", "a"]), "thief");
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_chosen_request_id_is_stored_and_a_foreign_one_named() {
    let server = Redis::start();
    let url = server.url("mode=plain&request_id=order-7");
    let client = Client::builder().lease(Lease::fixed(TTL)).connect(url).await.unwrap();
    let guard = client.mutex("a").lock().await.unwrap();
    assert_eq!(server.command(&["GET", "a"]), "order-7");
    assert!(client.mutex("a").try_lock().await.unwrap().is_none(), "the same value is no way in");
    server.command(&["SET", "a", "order-8", "PX", "60000"]);
    let error = guard.release().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied);
    assert!(error.to_string().contains("order-8"), "{error}");
    assert_eq!(server.command(&["GET", "a"]), "order-8");
}

/// The algorithm as it is written by hand everywhere. True: got it.
fn getset_by_hand(server: &Redis, ttl: u128) -> bool {
    let expiry = (now() + ttl + 1).to_string();
    if server.command(&["SETNX", "a", &expiry]) == "1" {
        return true;
    }
    let seen = server.command(&["GET", "a"]);
    let Ok(ends) = seen.parse::<u128>() else { return false };
    ends < now() && server.command(&["GETSET", "a", &expiry]) == seen
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn getset_and_hand_written_code_exclude_each_other() {
    let server = Redis::start();
    let client = client(&server.url("mode=getset"), TTL).await;
    let guard = client.mutex("a").lock().await.unwrap();
    assert!(!getset_by_hand(&server, 1000));
    guard.finish().await.unwrap();
    assert!(getset_by_hand(&server, 300));
    assert!(client.mutex("a").try_lock().await.unwrap().is_none());
    // Nobody deletes it: its time is over by the clock.
    let guard = client.mutex("a").lock().await.unwrap();
    assert!(!getset_by_hand(&server, 1000));
    guard.finish().await.unwrap();
    assert_eq!(server.command(&["EXISTS", "a"]), "0");
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn getset_takes_leases_of_10_ms() {
    let server = Redis::start();
    let url = server.url("mode=getset");
    let client = Client::builder().lease(Lease::fixed(Duration::from_millis(10))).connect(url).await.unwrap();
    for _ in 0..20 {
        let guard = client.mutex("a").lock().await.unwrap();
        assert!(guard.remaining().is_some_and(|left| left <= Duration::from_millis(10)));
        drop(guard);
    }
}

/// Flaw 1: one whose clock is ahead takes a lock that is held.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn getset_trusts_foreign_clocks() {
    let server = Redis::start();
    let client = client(&server.url("mode=getset"), TTL).await;
    // Somebody whose clock is ten seconds behind has just taken it for five.
    server.command(&["SET", "a", &(now() - 5_000).to_string()]);
    assert!(client.mutex("a").try_lock().await.unwrap().is_some());
}

/// Flaw 2: who loses the race has overwritten the winner's expiry, and cotter does not touch what it has not written.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn getset_losers_overwrite_the_expiry() {
    let server = Redis::start();
    let client = client(&server.url("mode=getset"), TTL).await;
    let guard = client.mutex("a").lock().await.unwrap();
    let ours = server.command(&["GET", "a"]);
    let theirs = (now() + 60_000).to_string();
    server.command(&["GETSET", "a", &theirs]);
    assert_ne!(server.command(&["GET", "a"]), ours);
    assert_eq!(guard.release().await.unwrap(), Released::AlreadyLost);
    assert_eq!(server.command(&["GET", "a"]), theirs);
}

/// Flaw 3: a release by hand frees whosever lock it is. cotter's own late release does not.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn getset_has_no_owner() {
    let server = Redis::start();
    let url = server.url("mode=getset");
    let short = Lease::fixed(Duration::from_millis(50));
    let client = Client::builder().lease(short).connect(url).await.unwrap();
    let late = client.mutex("a").lock().await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(getset_by_hand(&server, 5_000));
    drop(late.release().await);
    assert_eq!(server.command(&["EXISTS", "a"]), "1", "not ours any more");
    server.command(&["DEL", "a"]);
    assert!(client.mutex("a").try_lock().await.unwrap().is_some());
}

/// The value is nothing but an expiry: after an eviction, a holder whose lease ends in the same millisecond is mistaken for the
/// one before it.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn getset_cannot_tell_leases_apart_that_end_in_the_same_millisecond() {
    let server = Redis::start();
    let client = client(&server.url("mode=getset"), TTL).await;
    let guard = client.mutex("a").lock().await.unwrap();
    let value = server.command(&["GET", "a"]);
    server.command(&["DEL", "a"]);
    assert_eq!(server.command(&["SETNX", "a", &value]), "1", "somebody else has it now");
    assert_eq!(guard.release().await.unwrap(), Released::Yes);
    assert_eq!(server.command(&["EXISTS", "a"]), "0");
}

/// The server refuses an expiry that does not fit into its arithmetic, and the sum with the clock must not wrap around.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_name_may_be_kept_for_as_long_as_time_can_be_counted() {
    let server = Redis::start();
    for mode in ["native", "plain", "getset", "redisson"] {
        let client = client(&server.url(&format!("mode={mode}")), TTL).await;
        for (name, rest) in [("a", Duration::MAX), ("b", Duration::from_millis(u64::MAX / 2))] {
            let guard = client.mutex(name).lock().await.unwrap();
            assert_eq!(guard.keep_for(rest).await.unwrap(), Released::Yes, "{mode}");
            assert!(
                client.mutex(name).try_lock().await.unwrap().is_none(),
                "violation[overlap]: {mode} {rest:?}"
            );
        }
        for key in ["a", "b"] {
            server.command(&["DEL", key]);
        }
    }
}
