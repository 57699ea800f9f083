//! A password that is replaced while clients use it: on the server first, in the file a moment later.

use super::setup::{client, eventually, queued};
use cotter_testkit::servers::Redis;
use std::fs;
use std::time::Duration;
use tokio::time::{sleep, timeout};

const TTL: Duration = Duration::from_secs(30);
const PLENTY: Duration = Duration::from_secs(20);

/// From now on the user has this password, and nobody is connected with another one.
fn set_password(server: &Redis, password: &str) {
    let rule = ["ACL", "SETUSER", "app", "on", "resetpass", password, "~*", "&*", "+@all"];
    assert_eq!(server.command(&rule), "OK");
    server.command(&["CLIENT", "KILL", "USER", "app"]);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_waiter_logs_in_with_the_new_password() {
    let (server, folder) = (Redis::start(), tempfile::tempdir().unwrap());
    let file = folder.path().join("password");
    set_password(&server, ">old");
    fs::write(&file, "old\n").unwrap();
    let url = format!("redis://app@127.0.0.1:{}?password_file={}", server.port(), file.display());
    let held = client(&server.url(""), TTL).await.mutex("a").lock().await.unwrap();
    let app = client(&url, TTL).await;
    let waiting = tokio::spawn(app.mutex("a").lock());
    eventually("it waits", || queued(&server, "a") == 1).await;

    set_password(&server, ">new");
    sleep(Duration::from_millis(500)).await;
    assert!(!waiting.is_finished(), "the file is not written yet");
    fs::write(&file, "new\n").unwrap();
    held.finish().await.unwrap();
    let guard = timeout(PLENTY, waiting).await.expect("it is free").unwrap().unwrap();
    guard.finish().await.unwrap();
}
