//! Servers that refuse, and what is said of it.

use super::setup::{USED, backend, claim, client, clock, eventually, queued, take};
use cotter::backend::{Connect, Host};
use cotter::{ErrorKind, redis};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::{Redis, Wire};
use std::time::Duration;

const TTL: Duration = Duration::from_secs(20);

/// From now on the server accepts nobody but the administrator, who is its only client.
fn crowded(server: &Redis) -> Wire {
    let mut admin = server.wire();
    for words in [&["CONFIG", "SET", "maxclients", "1"][..], &["CLIENT", "KILL", "SKIPME", "yes"]] {
        let said = admin.command(words).unwrap();
        assert!(!said.starts_with("ERR"), "{said}");
    }
    admin
}

/// Such a server answers a login as it answers everything: that is no wrong password, and it may pass.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_server_with_too_many_clients_may_have_room_later() {
    let server = Redis::start();
    let mut admin = crowded(&server);
    let urls = ["", "mode=plain", "mode=getset", "mode=redisson"].map(|mode| server.url(mode));
    let other_database = server.open_url("").replace('?', "/2?");
    for url in urls.iter().chain([&server.open_url(""), &other_database]) {
        let store = redis::Store::from_url(url).unwrap();
        let error = store.connect(&Host::without_engine(clock())).await.map(drop).unwrap_err();
        assert!(error.kind() == ErrorKind::Unavailable && error.is_retryable(), "{url}: {error}");
    }
    admin.command(&["CONFIG", "SET", "maxclients", "100"]).unwrap();
    backend(&urls[0]).await;
}

/// After an outage all clients come back at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn who_waits_outlives_a_time_with_too_many_clients() {
    for mode in ["", "mode=plain"] {
        let server = Redis::start();
        let holder = backend(&server.url(mode)).await;
        let held = claim("a", TTL);
        take(&holder, &held).await;
        let client = client(&server.url(mode), TTL).await;
        let waiting = tokio::spawn(client.mutex("a").lock());
        if mode.is_empty() {
            eventually("it waits", || queued(&server, "a") == 1).await;
        } else {
            tokio::time::sleep(TTL / 200).await;
        }
        let mut admin = crowded(&server);
        tokio::time::sleep(TTL / 20).await;
        admin.command(&["CONFIG", "SET", "maxclients", "100"]).unwrap();
        demand(!waiting.is_finished(), Kind::TooEarly, "the wait has ended");
        holder.release(&held, USED).await.unwrap();
        let guard = tokio::time::timeout(TTL, waiting).await.expect("it is free").unwrap().unwrap();
        guard.finish().await.unwrap();
    }
}

/// A Sentinel does not know what locks need.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_server_without_a_command_is_unsupported_and_the_command_named() {
    let server = Redis::builder().without("EVAL").without("EVALSHA").without("SETNX").start();
    for (mode, command) in [("", "EVAL"), ("mode=getset", "SETNX")] {
        let client = client(&server.open_url(mode), TTL).await;
        let error = client.mutex("a").try_lock().await.unwrap_err();
        let said = error.to_string();
        let explained = said.contains(&format!("the command {command};")) && said.contains("sentinel");
        assert!(error.kind() == ErrorKind::Unsupported && explained, "{said}");
    }
}

/// As providers of servers remove commands, or rename them.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_server_without_a_command_of_the_scripts_is_not_supported() {
    let server = Redis::builder().without("ZADD").start();
    let error = client(&server.url(""), TTL).await.semaphore("a", 2).try_acquire().await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Unsupported, false), "{error}");
    assert!(error.to_string().contains("docs/stores/redis.md"), "{error}");
}

async fn refused(url: &str) -> String {
    let store = redis::Store::from_url(url).unwrap();
    let error = store.connect(&Host::without_engine(clock())).await.map(drop).unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Denied, false), "{url}: {error}");
    assert!(!format!("{error:?}").contains("canary"), "{error:?}");
    error.to_string()
}

/// The driver only says that there was a reason.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn the_reason_of_a_refused_login_is_told() {
    let (open, closed) = (Redis::start(), Redis::builder().with("requirepass", "s3cret").start());
    for mode in ["", "mode=plain", "mode=getset"] {
        for (server, login, reason) in [
            (&open, "nobody:canary@", "WRONGPASS invalid username-password pair or user is disabled"),
            (&open, ":canary@", "the server asks for no password: leave it out of the URL"),
            (&closed, ":canary@", "WRONGPASS"),
            (&closed, "", "the URL has no password: set one, or --password-file"),
        ] {
            let said = refused(&format!("redis://{login}127.0.0.1:{}?{mode}", server.port())).await;
            assert!(said.contains(reason), "{login} {mode}: {said}");
        }
    }
}

/// The driver replaces the code of this error, and a server that has renamed AUTH quotes the password.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_database_that_the_user_may_not_select_is_a_missing_right() {
    let server = Redis::start();
    server.command(&["ACL", "SETUSER", "app", "on", ">canary", "~*", "&*", "+@all", "-select"]);
    for mode in ["", "mode=plain", "mode=getset"] {
        let said = refused(&format!("redis://app:canary@127.0.0.1:{}/2?{mode}", server.port())).await;
        assert!(said.contains("a database other than 0 in the URL needs the right +select"), "{said}");
    }
    let without = Redis::builder().without("AUTH").start();
    refused(&format!("redis://:canary@127.0.0.1:{}", without.port())).await;
}
