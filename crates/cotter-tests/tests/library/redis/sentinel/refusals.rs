//! URLs, credentials and sentinels that are wrong, and what is said of it.

use super::{Watched, quick, server};
use crate::vault::{Says, Vault};
use cotter::redis::Store;
use cotter::{Client, Error, ErrorKind};
use cotter_testkit::servers::{Redis, Sentinels};
use cotter_testkit::timing::Stopwatch;
use std::fs;
use std::time::Duration;

/// Refused for good, with these words.
async fn is_refused(url: &str, kind: ErrorKind, words: &[&str]) {
    let error = Client::connect(url).await.expect_err(url);
    let said = error.to_string();
    assert!(error.kind() == kind && !error.is_retryable(), "{url}: {said}");
    assert!(!said.contains("canary") && !format!("{error:?}").contains("canary"), "{error:?}");
    for word in words {
        assert!(said.contains(word), "{url}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn servers_and_sentinels_are_told_apart() {
    let server = server();
    let sentinels = quick().watch(&server, 0);
    let url = format!("redis+sentinel://:canary@127.0.0.1:{}/store", server.port());
    is_refused(&url, ErrorKind::Config, &["no sentinel", "redis://", "26379"]).await;
    let url = format!("redis://127.0.0.1:{}", sentinels.ports()[0]);
    for mode in ["", "?mode=plain", "?mode=getset"] {
        let words = ["this is a sentinel", "redis+sentinel://HOST:26379/store", r#"["store"]"#];
        is_refused(&format!("{url}{mode}"), ErrorKind::Config, &words).await;
    }
    let url = format!("redis+sentinel://{}/orders", sentinels.addresses());
    is_refused(&url, ErrorKind::Config, &["does not know the service \"orders\"", r#"["store"]"#]).await;
}

/// The credentials of the servers are not tried on the sentinels.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn sentinels_have_credentials_of_their_own() {
    let (server, folder) = (server(), tempfile::tempdir().unwrap());
    let sentinels = quick().password("the-canary&co").watch(&server, 0);
    for option in ["", "sentinel_password=another-canary", "sentinel_user=nobody&sentinel_password=canary"] {
        let words = ["does not let this client in", "sentinel_password_file="];
        is_refused(&sentinels.url(option), ErrorKind::Denied, &words).await;
    }
    let file = folder.path().join("password");
    fs::write(&file, "the-canary&co\n").unwrap();
    let rule = ["ACL", "SETUSER", "app", "on", ">canary", "+sentinel|get-master-addr-by-name"];
    for number in 0..3 {
        assert_eq!(sentinels.ask(number, &rule), "OK");
    }
    for option in [
        "sentinel_password=the-canary%26co",
        &format!("sentinel_password_file={}", file.display()),
        // Without the right to more than the address.
        "sentinel_user=app&sentinel_password=canary",
    ] {
        let client = Client::connect(sentinels.url(option)).await.expect(option);
        client.mutex("a").lock().await.unwrap().finish().await.unwrap();
    }
    let vault = Vault::new(Says::Password("the-canary&co"));
    let asked = vault.clone();
    let store = Store::from_url(sentinels.url("")).unwrap();
    let store = store.with_sentinel_password_from(async move || asked.ask().await).unwrap();
    let client = Client::builder().connect_to(store.clone()).await.unwrap();
    client.mutex("a").lock().await.unwrap().finish().await.unwrap();
    vault.says(Says::Sealed);
    let error = Client::builder().connect_to(store).await.unwrap_err();
    assert!(error.is_retryable() && error.to_string().contains("the vault is sealed"), "{error}");
    let alone = Store::from_url("redis://h").unwrap();
    let error = alone.with_sentinel_password_from(async || Ok::<_, Error>(String::new())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config, "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn what_a_user_of_the_server_lacks_is_named() {
    let server = Redis::start();
    let sentinels = quick().watch(&server, 0);
    is_refused(&sentinels.url("mode=plain"), ErrorKind::Denied, &["+role"]).await;
    let wrong = sentinels.url("").replace("/store", "/store/0").replace(":password@", ":canary@");
    let place = format!("127.0.0.1:{}, the master of \"store\"", server.port());
    is_refused(&wrong, ErrorKind::Denied, &[&place, "password"]).await;
}

/// As long as one is there, the others are not needed to find the master.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn sentinels_that_are_away_hold_nobody_up() {
    let mut watched = Watched::start();
    watched.sentinels.stop(0);
    watched.sentinels.kill(1);
    let start = Stopwatch::start();
    let client = watched.connect("").await;
    start.at_most(Duration::from_secs(1), "connected by the third one");
    client.mutex("a").lock().await.unwrap().finish().await.unwrap();
    watched.sentinels.kill(0);
    watched.sentinels.kill(2);
    client
        .mutex("a")
        .lock()
        .await
        .expect("nobody has to be asked for a master that is there")
        .finish()
        .await
        .unwrap();
    let error = Client::connect(watched.sentinels.url("")).await.expect_err("nobody knows the master");
    assert!(error.kind() == ErrorKind::Unavailable && error.is_retryable(), "{error}");
    assert!(error.to_string().contains("none of the sentinels has answered"), "{error}");
}

/// One that cannot be reached may know the service.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn a_service_is_unknown_only_if_nobody_knows_it() {
    let server = server();
    let sentinels: Sentinels = quick().watch(&server, 0);
    // A port that was free a moment ago may be another server's by now.
    let url = format!("redis+sentinel://{},127.0.0.1:1/orders", sentinels.addresses());
    let error = Client::connect(url).await.expect_err("unknown");
    assert!(error.is_retryable() && error.to_string().contains(r#"["store"]"#), "{error}");
}

/// The lock is that of the service, wherever the master is and in whatever order its sentinels are named.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn a_store_is_named_by_its_service() {
    let server = server();
    let sentinels = quick().watch(&server, 0);
    let one = Client::connect(sentinels.url("")).await.unwrap();
    let hosts: Vec<_> = sentinels.addresses().split(',').rev().map(str::to_owned).collect();
    let turned = sentinels.url("").replace(&sentinels.addresses(), &hosts.join(","));
    let other = Client::connect(turned).await.unwrap();
    let instance = &one.info().instance;
    assert!(instance == &other.info().instance && instance.ends_with("/store"), "{instance}");
    let error = cotter::multi([&one.mutex("a"), &other.mutex("a")]).lock().await.expect_err("one lock twice");
    assert!(error.to_string().contains("twice") || error.to_string().contains("same"), "{error}");
}
