//! Passwords that an application gets from somewhere else.

use crate::vault::{self, LIMIT, Vault};
use cotter::postgres::Store;
use cotter::{Client, Error};
use cotter_testkit::servers::{Database, Postgres};
use std::sync::Arc;

async fn connect(server: &Postgres, options: &str, vault: Arc<Vault>) -> Result<Client, Error> {
    let store = Store::from_url(format!("postgres://app@127.0.0.1:{}/cotter?{options}", server.port()))?;
    let store = store.with_password_from(async move || vault.ask().await).with_connect_timeout(LIMIT);
    Client::builder().connect_to(store).await
}

fn replace(server: &Postgres, password: &str) {
    change(server, password);
    server.end_sessions();
}

fn change(server: &Postgres, password: &str) {
    server.sql(&format!("alter role app password '{password}'"));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn a_password_that_changes_is_asked_for_again() {
    let server = Postgres::start();
    server.migrate_all();
    for options in ["", "mode=advisory"] {
        let connect = async |vault| connect(&server, options, vault).await;
        vault::a_password_that_changes_is_asked_for_again(connect, |password| replace(&server, password))
            .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn without_a_password_it_is_said_why() {
    let server = Postgres::start();
    server.migrate_all();
    let connect = async |vault| connect(&server, "", vault).await;
    vault::without_a_password_it_is_said_why(connect).await;
    vault::who_is_logged_in_needs_none(connect, |password| change(&server, password)).await;
    vault::a_client_that_was_connected_says_why(connect, || replace(&server, "secret")).await;
}
