//! A password that is replaced while clients use it: on the server first, in the file or the vault a moment later.

use super::setup::{client, eventually, queued};
use crate::vault::{self, LIMIT, Vault};
use cotter::redis::Store;
use cotter::{Client, Error, Lease};
use cotter_testkit::servers::Redis;
use std::fs;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, timeout};

const TTL: Duration = Duration::from_secs(30);
/// The longest lease of the quorum, for which its members vote for nobody at first.
const SHORT: Duration = Duration::from_secs(1);
const PLENTY: Duration = Duration::from_secs(20);

/// From now on the user has this password, and nobody is connected with another one.
fn set_password(server: &Redis, password: &str) {
    change(server, password);
    server.command(&["CLIENT", "KILL", "USER", "app"]);
}

fn change(server: &Redis, password: &str) {
    let rule = ["ACL", "SETUSER", "app", "on", "resetpass", password, "~*", "&*", "+@all"];
    assert_eq!(server.command(&rule), "OK");
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

async fn connect(server: &Redis, vault: Arc<Vault>) -> Result<Client, Error> {
    let store = Store::from_url(format!("redis://app@127.0.0.1:{}", server.port()))?;
    let store = store.with_password_from(async move || vault.ask().await).with_connect_timeout(LIMIT);
    Client::builder().connect_to(store).await
}

fn replace(server: &Redis, password: &str) {
    set_password(server, &format!(">{password}"));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_password_that_changes_is_asked_for_again() {
    let server = Redis::start();
    let connect = async |vault| connect(&server, vault).await;
    vault::a_password_that_changes_is_asked_for_again(connect, |password| replace(&server, password)).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn without_a_password_it_is_said_why() {
    let server = Redis::start();
    replace(&server, "secret");
    let connect = async |vault| connect(&server, vault).await;
    vault::without_a_password_it_is_said_why(connect).await;
    vault::who_is_logged_in_needs_none(connect, |password| change(&server, &format!(">{password}"))).await;
    vault::a_client_that_was_connected_says_why(connect, || replace(&server, "secret")).await;
}

/// Each member of a quorum has a callback of its own.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn members_of_a_quorum_ask_for_theirs() {
    let servers = [Redis::start(), Redis::start(), Redis::start()];
    let vaults = ["one", "two", "three"].map(|password| Vault::new(vault::Says::Password(password)));
    let members =
        servers.iter().zip(["one", "two", "three"]).zip(&vaults).map(|((server, password), vault)| {
            replace(server, password);
            let vault = vault.clone();
            let store =
                Store::from_url(format!("redis://app@127.0.0.1:{}?prefix=votes", server.port())).unwrap();
            store.with_votes(SHORT).with_password_from(async move || vault.ask().await)
        });
    let store = cotter::quorum::Store::new(members).unwrap();
    let client = Client::builder().lease(Lease::renewed(SHORT)).connect_to(store).await.unwrap();
    client.mutex("a").lock().await.unwrap().finish().await.unwrap();
    assert!(vaults.iter().all(|vault| vault.asked() > 0));
}
