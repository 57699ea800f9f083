//! Logins that end before their connection does, and passwords that an application gets from somewhere else.

use crate::vault::{self, LIMIT, Vault};
use cotter::backend::Filter;
use cotter::etcd::Store;
use cotter::{Client, Error, ErrorKind};
use cotter_testkit::bare::client;
use cotter_testkit::servers::Etcd;
use cotter_testkit::timing::Stopwatch;
use std::sync::Arc;
use std::time::Duration;

/// Who waits for such a lock looks again after a quarter of this, if nobody tells it before.
const TTL: Duration = Duration::from_secs(16);
/// How long a login lasts.
const LOGIN: Duration = Duration::from_secs(2);

/// A cluster with a user who may use locks, where logins are of this kind.
fn serve(kind: &[&str]) -> (Etcd, String) {
    let server = Etcd::with_args(1, &[kind, &["--bcrypt-cost", "4"]].concat());
    server.require_logins();
    let url = format!("etcd://app:s3cret@127.0.0.1:{}", server.port(0));
    (server, url)
}

/// They end also while they are used.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn a_login_that_lasts_only_so_long_is_renewed() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key");
    std::fs::write(&key, "0123456789abcdef0123456789abcdef").unwrap();
    let (key, login) = (key.display(), LOGIN.as_secs());
    let kind = format!("jwt,pub-key={key},priv-key={key},sign-method=HS256,ttl={login}s");
    let (_server, url) = serve(&["--auth-token", &kind]);
    let (one, other) = (client(&url, TTL).await, client(&url, TTL).await);
    let guard = one.mutex("held").lock().await.unwrap();
    let waiting = tokio::spawn(other.mutex("held").lock());
    for n in 0..20 {
        tokio::time::sleep(LOGIN / 5).await;
        let tried = one.mutex(format!("n{n}")).try_lock().await;
        tried.unwrap().expect("it is free").finish().await.unwrap();
        assert!(guard.is_valid() && !waiting.is_finished(), "after {n} attempts");
    }
    guard.finish().await.unwrap();
    waiting.await.unwrap().unwrap().finish().await.unwrap();
    they_are_told(&one, &other).await;
}

/// A release wakes who waits for it, whichever of them it is.
async fn they_are_told(one: &Client, other: &Client) {
    for [one, other] in [[one, other], [other, one]] {
        let guard = one.mutex("told").lock().await.unwrap();
        let waiting = tokio::spawn(other.mutex("told").lock());
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert!(!waiting.is_finished());
        let start = Stopwatch::start();
        guard.finish().await.unwrap();
        waiting.await.unwrap().unwrap().finish().await.unwrap();
        start.at_most(TTL / 8, "it is woken");
    }
}

/// They end when nobody has used them for a while.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn a_client_that_was_idle_logs_in_again() {
    let (_server, url) = serve(&["--auth-token-ttl", &LOGIN.as_secs().to_string()]);
    let (client, other) = (client(&url, TTL).await, client(&url, TTL).await);
    they_are_told(&client, &other).await;
    let rest = || tokio::time::sleep(LOGIN * 2);
    client.mutex("a").lock().await.unwrap().finish().await.unwrap();
    rest().await;
    client.mutex("a").try_lock().await.unwrap().expect("it is free").finish().await.unwrap();
    rest().await;
    assert_eq!(client.admin().list(Filter::held()).collect().await.unwrap(), []);
    rest().await;
    client.time().await.unwrap();
    rest().await;
    client.mutex("a").lock().await.unwrap().finish().await.unwrap();
    rest().await;
    they_are_told(&client, &other).await;
}

/// Another lock keeps the lease alive, and with it the entry of the one that could not be released.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn a_release_that_was_denied_is_carried_out_once_it_is_permitted() {
    let (server, url) = serve(&[]);
    let client = client(&url, TTL).await;
    let (kept, guard) = (client.mutex("kept").lock().await.unwrap(), client.mutex("a").lock().await.unwrap());
    let as_root = |words: &[&str]| server.ctl(&[&["--user", "root:god", "user"], words].concat());
    as_root(&["revoke-role", "app", "locks"]);
    let error = guard.finish().await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Denied, false), "{error}");
    as_root(&["grant-role", "app", "locks"]);
    let freed = tokio::time::timeout(Duration::from_secs(20), client.mutex("a").lock()).await;
    let freed = freed.expect("violation[left-behind]: the lease keeps the entry of a released lock").unwrap();
    freed.finish().await.unwrap();
    assert!(kept.is_valid());
}

async fn connect(server: &Etcd, vault: Arc<Vault>) -> Result<Client, Error> {
    let store = Store::from_url(format!("etcd://app@127.0.0.1:{}", server.port(0)))?;
    let store = store.with_password_from(async move || vault.ask().await).with_connect_timeout(LIMIT);
    Client::builder().connect_to(store).await
}

/// Its logins end with the old user.
fn replace(server: &Etcd, password: &str) {
    let as_root = |words: &[&str]| server.ctl(&[&["--user", "root:god", "user"], words].concat());
    as_root(&["delete", "app"]);
    as_root(&["add", &format!("app:{password}")]);
    as_root(&["grant-role", "app", "locks"]);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn a_password_that_changes_is_asked_for_again() {
    let (server, _) = serve(&[]);
    let connect = async |vault| connect(&server, vault).await;
    vault::a_password_that_changes_is_asked_for_again(connect, |password| replace(&server, password)).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn without_a_password_it_is_said_why() {
    let (server, url) = serve(&[]);
    replace(&server, "secret");
    let connect = async |vault| connect(&server, vault).await;
    vault::without_a_password_it_is_said_why(connect).await;
    vault::a_client_that_was_connected_says_why(connect, || replace(&server, "secret")).await;
    // Nobody could log in with a password alone.
    let store = Store::from_url(url.replace("app:s3cret@", "")).unwrap();
    let store = store.with_password_from(async || Ok::<_, Error>("secret".to_owned()));
    let error = Client::builder().connect_to(store).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Config && error.to_string().contains("user name"), "{error}");
}
