//! Deadlocks and serialization failures: the server has undone a statement, and says that it may be tried again.

use super::setup::{client, eventually, server};
use cotter::mysql::Store;
use cotter::{Client, Error, ErrorKind, Lease};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::Mariadb;
use cotter_testkit::timing::FAR;
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Opts, TxOpts};
use std::time::Duration;

const TTL: Duration = Duration::from_secs(30);
/// What the server says of a deadlock.
const DEADLOCK: u16 = 1213;

/// Every write to a table fails as after a deadlock.
fn fail(server: &Mariadb, table: &str) {
    for event in ["INSERT", "UPDATE"] {
        server.sql(&format!(
            "CREATE TRIGGER hiccup_{event} BEFORE {event} ON {table} FOR EACH ROW \
             SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = {DEADLOCK}, MESSAGE_TEXT = 'try restarting transaction'"
        ));
    }
}

fn mend(server: &Mariadb) {
    server.sql("DROP TRIGGER hiccup_INSERT; DROP TRIGGER hiccup_UPDATE");
}

fn is_worth_another_try(what: &str, error: &Error) {
    let kind = (error.kind(), error.is_retryable(), error.outcome_unknown());
    assert_eq!(kind, (ErrorKind::Unavailable, true, false), "{what}: {error}");
}

/// The error says that nothing has happened and that another try may succeed, and nothing is left of the first one.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn an_acquisition_that_was_undone_is_worth_another_try() {
    let server = server();
    server.migrate("mode=shedlock");
    server.sql("GRANT SELECT, INSERT, UPDATE ON shedlock TO app");
    for (mode, table) in [
        ("lease", "cotter_locks"),
        ("row", "cotter_session"),
        ("advisory", "cotter_session"),
        ("shedlock", "shedlock"),
    ] {
        let url = server.url(&format!("mode={mode}"));
        let (one, other) = (client(&url, TTL).await, client(&url, TTL).await);
        fail(&server, table);
        if mode == "lease" {
            // Here the step is repeated until the time for an answer is over.
            let error = one.mutex("undone").try_lock().await.unwrap_err();
            assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Unavailable, true), "{error}");
        } else {
            is_worth_another_try(mode, &one.mutex("undone").try_lock().await.unwrap_err());
        }
        // Whoever waits tries again.
        let waiting = tokio::spawn(one.mutex("repeated").lock());
        tokio::time::sleep(Duration::from_millis(300)).await;
        mend(&server);
        let next = other.mutex("undone").try_lock_for(FAR).await.unwrap();
        demand(next.is_some(), Kind::LeftBehind, format!("{mode}: nobody holds it"));
        next.unwrap().finish().await.unwrap();
        waiting.await.unwrap().unwrap().finish().await.unwrap();
    }
}

/// A release, and a renewal, are repeated until they are carried out.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn releases_and_renewals_that_were_undone_are_repeated() {
    const SHORT: Duration = Duration::from_millis(1500);
    let server = server();
    server.migrate("mode=shedlock");
    server.sql("GRANT SELECT, INSERT, UPDATE ON shedlock TO app");
    for (mode, table) in [("lease", "cotter_locks"), ("shedlock", "shedlock")] {
        let url = server.url(&format!("mode={mode}"));
        let one = Client::builder().lease(Lease::renewed(SHORT)).connect(&url).await.unwrap();
        let other = client(&url, TTL).await;
        let guard = one.mutex("repeated").lock().await.unwrap();
        // The first renewals fall into this time.
        tokio::time::sleep(SHORT / 4).await;
        fail(&server, table);
        tokio::time::sleep(SHORT / 3).await;
        mend(&server);
        tokio::time::sleep(SHORT).await;
        demand(guard.is_valid(), Kind::NeedlessLoss, format!("{mode}: it was not renewed again"));
        fail(&server, table);
        let releasing = tokio::spawn(guard.finish());
        tokio::time::sleep(Duration::from_millis(300)).await;
        mend(&server);
        releasing.await.unwrap().unwrap();
        let next = other.mutex("repeated").try_lock().await.unwrap();
        demand(next.is_some(), Kind::LeftBehind, format!("{mode}: it was given back"));
        next.unwrap().finish().await.unwrap();
    }
}

/// Two transactions of the user's own that lock two names in opposite orders: the server ends one of them, which may try again, and
/// nothing of it stays locked.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn a_deadlock_between_transactions_ends() {
    let server = server();
    let lock = Store::from_url(server.url("mode=row")).unwrap().lock_statement().unwrap();
    let client = client(&server.url("mode=row"), TTL).await;
    for name in ["a", "b"] {
        client.mutex(name).lock().await.unwrap().finish().await.unwrap();
    }
    let opts = Opts::from_url(&server.url("").replace('?', "")).unwrap();
    let (mut one, mut other) = (Conn::new(opts.clone()).await.unwrap(), Conn::new(opts).await.unwrap());
    let mut one = one.start_transaction(TxOpts::default()).await.unwrap();
    let mut other = other.start_transaction(TxOpts::default()).await.unwrap();
    one.exec_drop(&lock, ("a",)).await.unwrap();
    other.exec_drop(&lock, ("b",)).await.unwrap();
    let (first, second) = tokio::join!(one.exec_drop(&lock, ("b",)), async {
        let answer = other.exec_drop(&lock, ("a",)).await;
        other.rollback().await.unwrap();
        answer
    });
    one.rollback().await.unwrap();
    let codes: Vec<u16> = [first, second]
        .into_iter()
        .filter_map(|answer| match answer.err()? {
            mysql_async::Error::Server(said) => Some(said.code),
            other => panic!("{other}"),
        })
        .collect();
    assert_eq!(codes, [DEADLOCK], "one of them is ended");
    for name in ["a", "b"] {
        let guard = client.mutex(name).try_lock().await.unwrap();
        demand(guard.is_some(), Kind::LeftBehind, format!("{name} is free"));
    }
    eventually("nobody waits", || super::setup::waiters(&server) == "0").await;
}
