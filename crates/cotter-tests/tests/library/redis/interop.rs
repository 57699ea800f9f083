//! `mode=plain` beside libraries that speak the same protocol: the Rust crate `rslock`, redis-py's lock, what ShedLock sends;
//! and beside one that does not, Redisson.

use super::setup::client;
use cotter::{ErrorKind, Released};
use cotter_testkit::servers::Redis;
use rslock::LockManager;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const TTL: Duration = Duration::from_secs(20);
/// How often both take it in turns.
const ROUNDS: usize = 5;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn rslock_and_plain_exclude_each_other() {
    let server = Redis::start();
    let client = client(&server.url("mode=plain&retry=5ms"), TTL).await;
    let mut theirs = LockManager::new(vec![server.open_url("")]);
    theirs.set_retry(1, Duration::from_millis(5));
    for _ in 0..ROUNDS {
        let guard = client.mutex("a").lock().await.unwrap();
        assert!(theirs.lock("a", TTL).await.is_err(), "it is held here");
        guard.finish().await.unwrap();
        let lock = theirs.lock("a", TTL).await.expect("it was given back");
        assert!(client.mutex("a").try_lock().await.unwrap().is_none(), "it is held there");
        let waiting = tokio::spawn(client.mutex("a").lock());
        assert!(theirs.extend(&lock, TTL).await.is_ok());
        assert!(!waiting.is_finished());
        theirs.unlock(&lock).await;
        waiting.await.unwrap().unwrap().finish().await.unwrap();
    }
    assert_eq!(server.command(&["EXISTS", "a"]), "0");
}

/// What the other side does, in its own words. Exit code 0: as expected.
fn python(server: &Redis, code: &str) -> bool {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/servers/python");
    let status = Command::new(home.join("bin/python"))
        .args(["-c", &format!("import redis\nr = redis.Redis(port={})\n{code}", server.port())])
        .status()
        .expect("target/servers/python is made by scripts/servers");
    status.success()
}

const THEY_CANNOT: &str = "exit(r.lock('a', timeout=20).acquire(blocking=False))";
/// The token is the value: it is given back by another process with the same one.
const THEY_TAKE: &str =
    "exit(not r.lock('a', timeout=20, thread_local=False).acquire(blocking=False, token='theirs'))";
const THEY_EXTEND: &str = "
l = r.lock('a', timeout=20, thread_local=False)
l.local.token = b'theirs'
exit(not l.extend(30, replace_ttl=True))";
const THEY_GIVE_BACK: &str = "
l = r.lock('a', timeout=20, thread_local=False)
l.local.token = b'theirs'
l.release()";
/// They refuse to release what is not theirs.
const THEY_CANNOT_RELEASE: &str = "
l = r.lock('a', timeout=20, thread_local=False)
l.local.token = b'theirs'
try:
    l.release()
except redis.exceptions.LockNotOwnedError:
    exit(0)
exit(1)";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server and redis-py"]
async fn redis_py_and_plain_exclude_each_other() {
    let server = Redis::start();
    let client = client(&server.url("mode=plain&retry=5ms"), TTL).await;
    for _ in 0..2 {
        let guard = client.mutex("a").lock().await.unwrap();
        for code in [THEY_CANNOT, THEY_CANNOT_RELEASE] {
            assert!(python(&server, code), "{code}");
        }
        assert!(guard.is_valid());
        guard.finish().await.unwrap();
        assert!(python(&server, THEY_TAKE), "it was given back");
        assert!(client.mutex("a").try_lock().await.unwrap().is_none(), "it is held there");
        let waiting = tokio::spawn(client.mutex("a").lock());
        assert!(python(&server, THEY_EXTEND));
        assert!(!waiting.is_finished());
        assert!(python(&server, THEY_GIVE_BACK));
        waiting.await.unwrap().unwrap().finish().await.unwrap();
    }
    assert_eq!(server.command(&["EXISTS", "a"]), "0");
}

/// What ShedLock 7 sends, with `safeUpdate`, and without it.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn shedlock_and_plain_exclude_each_other() {
    const KEY: &str = "job-lock:default:import";
    const VALUE: &str = "ADDED:2026-11-22T20:00:00.000Z@host:6c1f";
    const UNLOCK: &str =
        "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";
    let server = Redis::start();
    let theirs = || server.command(&["SET", KEY, VALUE, "PX", "60000", "NX"]) == "OK";
    let client = client(&server.url("mode=plain"), TTL).await;
    assert!(theirs());
    assert!(client.mutex(KEY).try_lock().await.unwrap().is_none(), "it is held there");
    assert_eq!(server.command(&["EVAL", UNLOCK, "1", KEY, VALUE]), "1");
    let guard = client.mutex(KEY).lock().await.unwrap();
    assert!(!theirs(), "it is held here");
    assert_eq!(server.command(&["EVAL", UNLOCK, "1", KEY, VALUE]), "0", "a late release with safeUpdate");
    guard.check().unwrap();
    assert_eq!(server.command(&["DEL", KEY]), "1", "a late release without it");
    assert_eq!(guard.release().await.unwrap(), Released::AlreadyLost);
}

/// The hash of Redisson's lock, and the command with which it takes one.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_lock_of_redisson_is_a_foreign_key() {
    let server = Redis::start();
    let theirs = || server.command(&["HINCRBY", "a", "6c1f7c5e-2a44-4b6c-8a55-1c2b7d1f0a11:1", "1"]);
    let client = client(&server.url("mode=plain"), TTL).await;
    assert_eq!(theirs(), "1");
    for error in
        [client.mutex("a").try_lock().await.unwrap_err(), client.mutex("a").lock().await.unwrap_err()]
    {
        assert_eq!(error.kind(), ErrorKind::ForeignKey, "{error}");
    }
    server.command(&["DEL", "a"]);
    let guard = client.mutex("a").lock().await.unwrap();
    assert!(theirs().contains("WRONGTYPE"));
    guard.finish().await.unwrap();
}
