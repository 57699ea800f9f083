//! `mode=row`: tables of the user's own.

use super::setup::{eventually, server};
use cotter::mysql::Store;
use cotter::{Client, ErrorKind};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::Mariadb;
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, TxOpts};
use std::process::Stdio;
use std::time::Duration;

/// A server with a table of orders, some of them to lock.
fn shop() -> Mariadb {
    let server = server();
    server.sql(
        "CREATE DATABASE shop; CREATE TABLE shop.orders (id BIGINT PRIMARY KEY, state TEXT, \
         code VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, bare INT, KEY (code)); \
         INSERT INTO shop.orders VALUES (7, 'new', 'twice', 7), (8, 'new', 'twice', 8), (9, 'new', 'it''s', 9), (0, 'new', 'Job', 0); \
         CREATE VIEW shop.seen AS SELECT * FROM shop.orders; CREATE TABLE shop.old (id BIGINT PRIMARY KEY) ENGINE = MyISAM; \
         GRANT SELECT, UPDATE ON shop.orders TO app; GRANT SELECT, UPDATE ON shop.seen TO app; GRANT SELECT, UPDATE ON shop.old TO app",
    );
    server
}

/// The row of an order is locked for everybody, cotter or not.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn rows_that_are_there_are_locked() {
    let server = shop();
    let client = Client::connect(server.url("mode=row&table=shop.orders&column=id")).await.unwrap();
    let guard = client.mutex("7").lock().await.unwrap();
    let by_hand = |id: u32| {
        let select = format!("SELECT id FROM shop.orders WHERE id = {id} FOR UPDATE NOWAIT");
        let mut asking = server.client("cotter");
        asking.args(["-e", &select]).stderr(Stdio::null()).stdout(Stdio::null()).status().unwrap().success()
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
    let hold = "BEGIN; SELECT id FROM shop.orders WHERE id = 7 FOR UPDATE; DO SLEEP(0.5); COMMIT";
    let mut holding = server.client("cotter").args(["-e", hold]).stdout(Stdio::null()).spawn().unwrap();
    eventually("it is locked", || !by_hand(7)).await;
    assert!(client.mutex("7").try_lock().await.unwrap().is_none());
    client.mutex("7").lock().await.unwrap().finish().await.unwrap();
    holding.wait().unwrap();
}

/// The notes of a row have the name of the table before them, for which there is less room than for a name.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn a_name_that_is_too_long_for_notes_is_told_so() {
    let server = shop();
    server.sql(
        "CREATE TABLE shop.long_names (name VARCHAR(510) CHARACTER SET ascii PRIMARY KEY); \
         INSERT INTO shop.long_names VALUES (REPEAT('x', 510)), (REPEAT('x', 491)), (REPEAT('x', 492)); \
         GRANT SELECT, UPDATE ON shop.long_names TO app",
    );
    let client = Client::connect(server.url("mode=row&table=shop.long_names&column=name")).await.unwrap();
    for length in [510, 492] {
        let name = "x".repeat(length);
        let guard = client.mutex(&name).lock().await.unwrap();
        let stored = guard.put_note("of the row").await.unwrap_err();
        let swapped = client.swap_note(&name, "", 0, "of the row").await.unwrap_err();
        for error in [stored, swapped] {
            assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::InvalidName, false), "{error}");
            assert!(error.to_string().contains("at most 491 bytes"), "{error}");
        }
        assert!(client.note(&name).await.unwrap().is_none());
        guard.finish().await.unwrap();
    }
    let name = "x".repeat(491);
    let guard = client.mutex(&name).lock().await.unwrap();
    guard.put_note("of the row").await.unwrap();
    assert_eq!(client.note(&name).await.unwrap().expect("it was put").bytes, b"of the row");
    guard.finish().await.unwrap();
}

/// A text is no number, and names that a collation takes for equal are two.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn a_row_of_another_name_is_not_locked() {
    let server = shop();
    let store = |column: &str| server.url(&format!("mode=row&table=shop.orders&column={column}"));
    let (ids, codes) =
        (Client::connect(store("id")).await.unwrap(), Client::connect(store("code")).await.unwrap());
    for (client, name) in [(&ids, "seven"), (&ids, "7th"), (&ids, "07"), (&codes, "job"), (&codes, "Job ")] {
        let error = client.mutex(name).lock().await.unwrap_err();
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::NotFound, false), "{name}: {error}");
    }
    codes.mutex("Job").lock().await.unwrap().finish().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn rows_that_cannot_be_locked_are_named() {
    let server = shop();
    let store = |table: &str, column: &str| server.url(&format!("mode=row&table={table}&column={column}"));
    let client = Client::connect(store("shop.orders", "id")).await.unwrap();
    let error = client.mutex("77").lock().await.unwrap_err();
    assert!(error.to_string().contains("INSERT INTO shop.orders (id, …) VALUES ('77', …)"), "{error}");
    let codes = Client::connect(store("shop.orders", "code")).await.unwrap();
    let error = codes.mutex("twice").lock().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    for hostile in ["it's", "'; DROP TABLE shop.orders; --", "\\'; DROP TABLE shop.orders; --"] {
        match codes.mutex(hostile).try_lock().await {
            Ok(guard) => assert!(guard.is_some() && hostile == "it's"),
            Err(error) => assert_eq!(error.kind(), ErrorKind::NotFound, "{error}"),
        }
    }
    for (table, column, said) in [
        ("shop.nothing", "id", "shop.nothing"),
        ("shop.orders", "nothing", "nothing"),
        ("shop.orders", "bare", "CREATE UNIQUE INDEX"),
        ("shop.seen", "id", "InnoDB"),
        ("shop.old", "id", "InnoDB"),
    ] {
        let error = Client::connect(store(table, column)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{error}");
        assert!(error.to_string().contains(said), "{error}");
    }
}

/// A transaction of the user's own holds the same lock as a client, whether it is committed or not.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn a_transaction_of_the_users_own_holds_the_lock() {
    let server = shop();
    let opts = mysql_async::Opts::from_url(&server.url("")).unwrap();
    for (options, name) in [("mode=row", "clear"), ("mode=row&table=shop.orders&column=id", "7")] {
        let url = server.url(options);
        let lock = Store::from_url(&url).unwrap().lock_statement().unwrap();
        let (client, mut db) = (Client::connect(&url).await.unwrap(), Conn::new(opts.clone()).await.unwrap());
        for commits in [false, true, true] {
            let mut transaction = db.start_transaction(TxOpts::default()).await.unwrap();
            let found: Option<mysql_async::Row> = transaction.exec_first(&lock, (name,)).await.unwrap();
            assert_eq!(found.is_some(), options.contains("table="), "{options}");
            let mutex = client.mutex(name);
            let busy = mutex.try_lock_for(Duration::from_millis(300)).await.unwrap();
            demand(busy.is_none(), Kind::Overlap, "a client holds what a transaction has locked");
            let waiting = tokio::spawn(async move { mutex.lock().await.unwrap() });
            tokio::time::sleep(Duration::from_millis(100)).await;
            match commits {
                true => transaction.commit().await.unwrap(),
                false => transaction.rollback().await.unwrap(),
            }
            let guard = waiting.await.unwrap();
            db.query_drop("SET SESSION innodb_lock_wait_timeout = 1").await.unwrap();
            let refused = db.exec_drop(&lock, (name,)).await.unwrap_err();
            let said = format!("{options}: a transaction has locked what a client holds: {refused}");
            demand(refused.to_string().contains("Lock wait timeout"), Kind::Overlap, said);
            guard.finish().await.unwrap();
        }
        db.disconnect().await.unwrap();
    }
    let error = Store::from_url(server.url("")).unwrap().lock_statement().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config, "{error}");
}

/// Some servers take every client for one of their own character set.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn the_character_set_of_the_server_does_not_matter() {
    let server = Mariadb::builder().with("character-set-client-handshake", "OFF");
    let server = server.with("character-set-server", "latin1").start();
    server.migrate("");
    server.sql(
        "CREATE TABLE wide (id VARCHAR(9) CHARACTER SET utf8mb4 PRIMARY KEY); \
         CREATE TABLE narrow (id VARCHAR(9) CHARACTER SET latin1 PRIMARY KEY); \
         INSERT INTO wide VALUES (_utf8mb4 X'4AC3B662'), (_utf8mb4 X'E697A5'); INSERT INTO narrow VALUES (_utf8mb4 X'4AC3B662'); \
         GRANT SELECT, UPDATE ON wide TO app; GRANT SELECT, UPDATE ON narrow TO app",
    );
    for (table, name) in [("wide", "J\u{f6}b"), ("wide", "\u{65e5}"), ("narrow", "J\u{f6}b")] {
        let url = server.url(&format!("mode=row&table={table}&column=id"));
        let client = Client::connect(url).await.unwrap();
        client.mutex(name).lock().await.unwrap().finish().await.unwrap();
    }
}
