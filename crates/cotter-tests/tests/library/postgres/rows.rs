//! `mode=row`: tables of the user's own, and locks inside transactions of the user's own.

use super::setup::{backend, claim, client, driver, eventually, server, take};
use cotter::backend::{Leave, Until};
use cotter::postgres::Store;
use cotter::{Client, ErrorKind};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::Postgres;
use cotter_testkit::timing::{FAR, Stopwatch, happens};
use std::process::Stdio;
use std::time::Duration;

const TTL: Duration = Duration::from_secs(30);

/// A server with a table of orders, some of them to lock.
fn shop() -> Postgres {
    let server = server();
    server.sql("create schema shop; create table shop.orders (id bigint primary key, state text, code text)");
    server
        .sql("insert into shop.orders values (7, 'new', 'twice'), (8, 'new', 'twice'), (9, 'new', 'it''s')");
    server.sql("grant usage on schema shop to app; grant select, update on shop.orders to app");
    server
}

/// The row of an order is locked for everybody, cotter or not.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn rows_that_are_there_are_locked() {
    let server = shop();
    let client = Client::connect(server.url("mode=row&table=shop.orders&column=id")).await.unwrap();
    let guard = client.mutex("7").lock().await.unwrap();
    let by_hand = |id: u32| {
        let select = format!("select from shop.orders where id = {id} for update nowait");
        server.psql("cotter").args(["-c", &select]).stderr(Stdio::null()).status().unwrap().success()
    };
    assert!(!by_hand(7) && by_hand(8));
    assert!(client.mutex("8").try_lock().await.unwrap().is_some());
    guard.put_note("of the order").await.unwrap();
    guard.finish().await.unwrap();
    assert!(by_hand(7));
    // Names are those of the table: another store with the same prefix has others.
    let rows = Client::connect(server.url("mode=row")).await.unwrap();
    assert!(rows.note("7").await.unwrap().is_none() && client.note("7").await.unwrap().is_some());
    rows.mutex("7").lock().await.unwrap().finish().await.unwrap();
    // Whoever locks a row by hand keeps cotter out.
    let hold = "begin; select from shop.orders where id = 7 for update; select pg_sleep(2); commit";
    let mut holding = server.psql("cotter").args(["-c", hold]).stdout(Stdio::null()).spawn().unwrap();
    eventually("it is locked", || !by_hand(7)).await;
    assert!(client.mutex("7").try_lock().await.unwrap().is_none());
    client.mutex("7").lock().await.unwrap().finish().await.unwrap();
    holding.wait().unwrap();
}

/// Nobody holds the row, and nobody can get it: not what a job that asks once and goes away should take for a holder.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn a_table_that_is_locked_as_a_whole_is_an_outage() {
    let server = shop();
    for (mode, table) in [("mode=row&table=shop.orders&column=id", "shop.orders"), ("mode=row", "cotter_row")]
    {
        let client = Client::connect(server.url(&format!("{mode}&timeout=500ms"))).await.unwrap();
        client.mutex("7").lock().await.unwrap().finish().await.unwrap();
        let lock = format!("begin; lock table {table} in exclusive mode; select pg_sleep(100)");
        let mut locking = server.psql("cotter").args(["-c", &lock]).stderr(Stdio::null()).spawn().unwrap();
        let locks =
            "select pid from pg_stat_activity where query like '%pg_sleep(100)' and wait_event = 'PgSleep'";
        eventually("it is locked", || !server.sql(locks).is_empty()).await;
        let answer = tokio::time::timeout(FAR, client.mutex("7").try_lock()).await.expect("an end");
        demand(answer.is_err(), Kind::BusyWhileDown, format!("{mode}: {answer:?}, and nobody holds it"));
        assert!(answer.as_ref().unwrap_err().is_retryable(), "{answer:?}");
        server.sql(&format!("select pg_terminate_backend({})", server.sql(locks)));
        locking.wait().unwrap();
        let guard = client.mutex("7").try_lock_for(FAR).await.unwrap().expect("nothing has stayed");
        guard.finish().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn rows_that_cannot_be_locked_are_named() {
    let server = shop();
    let store = |column: &str| server.url(&format!("mode=row&table=shop.orders&column={column}"));
    let client = Client::connect(store("id")).await.unwrap();
    let error = client.mutex("77").lock().await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::NotFound, false), "{error}");
    assert!(error.to_string().contains("INSERT INTO shop.orders (id, …) VALUES ('77', …)"), "{error}");
    let error = client.mutex("seven").lock().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    let codes = Client::connect(store("code")).await.unwrap();
    let error = codes.mutex("twice").lock().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(error.to_string().contains("2 rows of shop.orders"), "{error}");
    for hostile in ["it's", "'; drop table shop.orders; --"] {
        match codes.mutex(hostile).try_lock().await {
            Ok(guard) => assert!(guard.is_some() && hostile == "it's"),
            Err(error) => assert_eq!(error.kind(), ErrorKind::NotFound, "{error}"),
        }
    }
    for (url, said) in
        [(server.url("mode=row&table=shop.nothing&column=id"), "shop.nothing"), (store("nothing"), "nothing")]
    {
        let error = Client::connect(&url).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{error}");
        assert!(error.to_string().contains(said), "{error}");
    }
    server.sql("revoke update on shop.orders from app");
    let error = Client::connect(store("id")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    assert!(error.to_string().contains("GRANT"), "{error}");
}

/// They would lock the row under a name of their own, with tokens, notes and a holder of their own.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn other_ways_to_write_a_value_have_no_row() {
    let server = shop();
    server.sql(
        "create table shop.kinds (number integer unique, padded char(5) unique); \
         insert into shop.kinds values (7, 'ab'); grant select, update on shop.kinds to app",
    );
    for (column, good, others) in
        [("number", "7", ["07", " 7", "+7"]), ("padded", "ab", ["ab ", "ab   ", "ab       "])]
    {
        let url = server.url(&format!("mode=row&table=shop.kinds&column={column}"));
        let (client, db) = (client(&url, TTL).await, driver(&server).await);
        let lock = Store::from_url(&url).unwrap().lock_statement().unwrap();
        for other in others {
            let error = client.mutex(other).try_lock().await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotFound, "{other:?}: {error}");
            assert!(error.to_string().contains(&format!("exactly '{other}'")), "{error}");
            let error = db.query_one(&lock, &[&other]).await.unwrap_err();
            assert_eq!(error.code().map(|code| code.code()), Some("CT004"), "{other:?}: {error:?}");
            // The server tells of an error before it lets go of the row.
            db.batch_execute("select 1").await.unwrap();
        }
        // None of them has left the row locked.
        let guard = client.mutex(good).try_lock().await.unwrap().expect("it is free");
        guard.finish().await.unwrap();
        db.query_one(&lock, &[&good]).await.unwrap();
    }
}

/// A transaction of the user's own holds the same lock as a client, and its tokens are of the same order.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn a_transaction_of_the_users_own_holds_the_lock() {
    let server = shop();
    for (options, name) in [("mode=row", "clear"), ("mode=row&table=shop.orders&column=id", "7")] {
        let url = server.url(options);
        let lock = Store::from_url(&url).unwrap().lock_statement().unwrap();
        let (other, mut db) = (client(&url, TTL).await, driver(&server).await);
        let mut last = other.mutex(name).lock().await.unwrap().token().as_i64();
        for commits in [true, false, true] {
            let transaction = db.transaction().await.unwrap();
            let token: i64 = transaction.query_one(&lock, &[&name]).await.unwrap().get(0);
            assert!(token > last, "{options}: {token} after {last}");
            assert!(other.mutex(name).try_lock().await.unwrap().is_none(), "{options}");
            let waiting = {
                let mutex = other.mutex(name);
                tokio::spawn(async move { mutex.lock().await.unwrap() })
            };
            eventually("it waits", || server.sql("select count(*) from pg_locks where not granted") == "1")
                .await;
            match commits {
                true => transaction.commit().await.unwrap(),
                false => transaction.rollback().await.unwrap(),
            }
            let guard = waiting.await.unwrap();
            last = guard.token().as_i64();
            assert!(last > token, "{options}: {last} after {token}");
            let busy = format!("set lock_timeout = 50; {}", lock.replace("$1", &format!("'{name}'")));
            let error = db.batch_execute(&busy).await.unwrap_err();
            assert_eq!(error.code().map(|code| code.code()), Some("55P03"), "{options}: {error:?}");
            db.batch_execute("reset lock_timeout").await.unwrap();
            guard.finish().await.unwrap();
        }
        let transaction = db
            .build_transaction()
            .isolation_level(tokio_postgres::IsolationLevel::Serializable)
            .start()
            .await
            .unwrap();
        let error = transaction.query_one(&lock, &[&name]).await.unwrap_err();
        assert_eq!(error.code().map(|code| code.code()), Some("CT001"), "{options}: {error:?}");
    }
    let error = Store::from_url(server.url("")).unwrap().lock_statement().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config, "{error}");
}

/// Two transactions of the user's own that lock two names in opposite orders: the server ends one of them, which may try again, and
/// nothing of it stays locked.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn a_deadlock_between_transactions_ends() {
    let server = Postgres::builder().with("deadlock_timeout", "50ms").start();
    server.migrate("");
    let lock = Store::from_url(server.url("mode=row")).unwrap().lock_statement().unwrap();
    let client = client(&server.url("mode=row"), TTL).await;
    let (mut one, mut other) = (driver(&server).await, driver(&server).await);
    let (one, other) = (one.transaction().await.unwrap(), other.transaction().await.unwrap());
    let token = |row: Result<tokio_postgres::Row, tokio_postgres::Error>| row.map(|row| row.get::<_, i64>(0));
    let a = token(one.query_one(&lock, &[&"a"]).await).unwrap();
    let b = token(other.query_one(&lock, &[&"b"]).await).unwrap();
    // Somebody who waits behind them gets each in the end: not both at once, or a deadlock would be left if `one` is ended, in
    // which the two sessions of the client have a part that the server cannot see.
    let third = tokio::spawn(async move {
        for name in ["a", "b"] {
            client.mutex(name).lock().await.unwrap().finish().await.unwrap();
        }
        client
    });
    eventually("it waits", || server.sql("select count(*) from pg_locks where not granted") != "0").await;
    let start = Stopwatch::start();
    // Whoever is ended gives way at once, as a caller does that rolls back.
    let then = async |transaction: tokio_postgres::Transaction<'_>, name: &str| {
        let answer = token(transaction.query_one(&lock, &[&name]).await);
        transaction.rollback().await.unwrap();
        answer
    };
    let answers = tokio::join!(then(one, "b"), then(other, "a"));
    let (error, token) = match answers {
        (Err(error), Ok(token)) => (error, token),
        (Ok(token), Err(error)) => (error, token),
        both => panic!("one of them is ended: {both:?}"),
    };
    assert_eq!(error.code().map(|code| code.code()), Some("40P01"), "{error:?}");
    assert!(token > a.max(b));
    start.at_most(Duration::from_secs(5), "the server ends one of them");
    let client = happens("both are free", third).await.unwrap();
    client.close(FAR).await.unwrap();
    assert_eq!(server.sql("select count(*) from pg_locks where not granted"), "0");
}

/// Waiters are served in order of arrival, unless somebody comes at the very moment.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn many_waiters_are_served_in_order() {
    let server = server();
    for mode in ["row", "advisory"] {
        let one = backend(&server.url(&format!("mode={mode}"))).await;
        let first = claim("order", TTL);
        let mut last = take(&one, &first).await.number;
        let mut waiting = Vec::new();
        for many in 1..=12 {
            let (one, claim) = (one.clone(), claim("order", TTL));
            waiting.push(tokio::spawn(async move {
                let grant = one.acquire(&claim, Until::Forever).await.unwrap().granted().unwrap();
                one.release(&claim, Leave::used(1)).await.unwrap();
                grant.number
            }));
            let count = "select count(*) from pg_stat_activity where wait_event_type = 'Lock'";
            eventually("it waits", || server.sql(count) == many.to_string()).await;
        }
        let start = Stopwatch::start();
        one.release(&first, Leave::used(1)).await.unwrap();
        for waiter in waiting {
            let number = waiter.await.unwrap();
            assert!(number > last, "{mode}: {number} after {last}");
            last = number;
        }
        start.at_most(Duration::from_secs(5), format!("{mode}: all of them are woken"));
    }
}
