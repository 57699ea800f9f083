//! `mode=plain` beside libraries that speak the same protocol: the Rust crate `rslock` and redis-py's lock.

use crate::setup::{client, server};
use cotter_testkit::servers::{Redis, missing};
use rslock::LockManager;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const TTL: Duration = Duration::from_secs(20);
/// How often both take it in turns.
const ROUNDS: usize = 5;

#[tokio::test(flavor = "multi_thread")]
async fn rslock_and_plain_exclude_each_other() {
    let server = server!();
    let client = client(&server.url("mode=plain&retry=5ms"), TTL).await;
    let mut theirs = LockManager::new(vec![server.url("")]);
    theirs.set_retry(1, Duration::from_millis(5));
    for _ in 0..ROUNDS {
        let guard = client.mutex("a").lock().await.unwrap();
        assert!(theirs.lock("a", TTL).await.is_err(), "it is held here");
        guard.release().await.unwrap();
        let lock = theirs.lock("a", TTL).await.expect("it was given back");
        assert!(client.mutex("a").try_lock().await.unwrap().is_none(), "it is held there");
        let waiting = tokio::spawn(client.mutex("a").lock());
        assert!(theirs.extend(&lock, TTL).await.is_ok());
        assert!(!waiting.is_finished());
        theirs.unlock(&lock).await;
        waiting.await.unwrap().unwrap().release().await.unwrap();
    }
    assert_eq!(server.command(&["EXISTS", "a"]), "0");
}

/// What the other side does, in its own words. Exit code 0: as expected.
fn python(server: &Redis, code: &str) -> Option<bool> {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/servers/python");
    let Ok(status) = Command::new(home.join("bin/python"))
        .args(["-c", &format!("import redis\nr = redis.Redis(port={})\n{code}", server.port())])
        .status()
    else {
        missing("redis", "target/servers/python (made by scripts/servers)");
        return None;
    };
    Some(status.success())
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
async fn redis_py_and_plain_exclude_each_other() {
    let server = server!();
    let client = client(&server.url("mode=plain&retry=5ms"), TTL).await;
    for _ in 0..2 {
        let guard = client.mutex("a").lock().await.unwrap();
        for code in [THEY_CANNOT, THEY_CANNOT_RELEASE] {
            let Some(as_expected) = python(&server, code) else { return };
            assert!(as_expected, "{code}");
        }
        assert!(guard.is_valid());
        guard.release().await.unwrap();
        assert_eq!(python(&server, THEY_TAKE), Some(true), "it was given back");
        assert!(client.mutex("a").try_lock().await.unwrap().is_none(), "it is held there");
        let waiting = tokio::spawn(client.mutex("a").lock());
        assert_eq!(python(&server, THEY_EXTEND), Some(true));
        assert!(!waiting.is_finished());
        assert_eq!(python(&server, THEY_GIVE_BACK), Some(true));
        waiting.await.unwrap().unwrap().release().await.unwrap();
    }
    assert_eq!(server.command(&["EXISTS", "a"]), "0");
}
