//! Passwords that an application gets from somewhere else. The servers have none to compare them with: who comes with another one is
//! somebody else.

use crate::vault::{self, LIMIT, Says, Vault};
use cotter::zookeeper::Store;
use cotter::{Client, Error, ErrorKind};
use cotter_testkit::servers::ZooKeeper;
use cotter_testkit::timing::eventually;
use std::sync::Arc;
use std::time::Duration;

async fn connect(server: &ZooKeeper, vault: Arc<Vault>) -> Result<Client, Error> {
    let store = Store::from_url(format!("zookeeper://app@127.0.0.1:{}", server.port(0)))?;
    let store = store.with_session(Duration::from_secs(20))?.with_prefix("asked")?;
    let store = store.with_password_from(async move || vault.ask().await).with_connect_timeout(LIMIT);
    Client::builder().connect_to(store).await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper"]
async fn a_session_goes_on_with_the_password_that_is_asked_for() {
    let mut server = ZooKeeper::start(1);
    let vault = Vault::new(Says::Password("secret"));
    let client = connect(&server, vault.clone()).await.unwrap();
    let guard = client.mutex("a").lock().await.unwrap();
    let stranger = connect(&server, Vault::new(Says::Password("another"))).await.unwrap();
    let error = stranger.mutex("a").try_lock().await.unwrap_err();
    assert!(error.kind() == ErrorKind::Denied && !format!("{error:?}").contains("another"), "{error:?}");

    let before = vault.asked();
    server.kill(0);
    server.restart(0);
    eventually("it connects again", || vault.asked() > before).await;
    client.mutex("b").lock().await.unwrap().finish().await.unwrap();
    guard.finish().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper"]
async fn without_a_password_it_is_said_why() {
    let server = ZooKeeper::start(1);
    vault::without_a_password_it_is_said_why(async |vault| connect(&server, vault).await).await;
    let store = Store::from_url(server.url("")).unwrap();
    let store = store.with_password_from(async || Ok::<_, Error>("secret".to_owned()));
    let error = Client::builder().connect_to(store).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Config && error.to_string().contains("user name"), "{error}");
}
