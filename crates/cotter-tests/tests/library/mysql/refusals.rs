//! What cannot work is refused when the client connects, with what to do about it.

use super::setup::{client, server};
use crate::trial;
use cotter::backend::Connect;
use cotter::mysql::Store;
use cotter::{Client, ErrorKind, Level, Severity};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::Mariadb;
use std::time::Duration;

/// The error of a connection with these options, which must name all of these.
async fn refused(url: &str, kind: ErrorKind, words: &[&str]) {
    let error = Client::connect(url).await.expect_err("it cannot work");
    let text = error.to_string();
    assert_eq!(error.kind(), kind, "{text}");
    assert!(words.iter().all(|word| text.contains(word)), "{text}");
    assert!(text.lines().count() == 1 && !format!("{error:?}").contains("secret"), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn missing_tables_are_named_with_the_command_that_creates_them() {
    let server = server();
    let other = server.url_of("owner", "prefix=other");
    refused(&other, ErrorKind::Config, &["other_locks", "cotter migrate"]).await;
    assert_eq!(server.sql("SHOW TABLES LIKE 'other%'"), "");
    server.sql("DROP TABLE cotter_floor");
    refused(&server.url_of("owner", ""), ErrorKind::Config, &["cotter_floor", "cotter migrate"]).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn missing_privileges_passwords_and_databases_are_named() {
    let server = server();
    server.sql("REVOKE UPDATE, INSERT ON cotter_locks FROM app");
    let client = Client::connect(server.url("")).await.unwrap();
    let error = client.mutex("a").lock().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    demand(!error.outcome_unknown(), Kind::Untrue, format!("it was not carried out: {error}"));
    assert!(error.to_string().contains("cotter_locks") && error.to_string().contains("GRANT"), "{error}");
    trial::fails(&client, "cotter_locks").await;
    let url = server.url("");
    refused(&url.replace("secret", "wrong-secret"), ErrorKind::Denied, &["app"]).await;
    let owner = server.url_of("owner", "");
    refused(&owner.replace("/cotter?", "/nothing?"), ErrorKind::Denied, &["nothing"]).await;
    server.sql("GRANT ALL ON *.* TO owner");
    refused(&owner.replace("/cotter?", "/nothing?"), ErrorKind::Config, &["nothing"]).await;
    // The user of a program may not create the tables.
    let store = Store::from_url(server.url("prefix=mine")).unwrap();
    assert_eq!(store.migrate().await.unwrap_err().kind(), ErrorKind::Denied);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn servers_that_take_no_writes_are_passed_over() {
    let (replica, primary) = (server(), server());
    replica.sql("SET GLOBAL read_only = ON");
    refused(&replica.url(""), ErrorKind::Unavailable, &["read-only", "primary"]).await;
    let both = format!("mysql://app:secret@127.0.0.1:{},127.0.0.1:{}/cotter", replica.port(), primary.port());
    let client = Client::connect(&both).await.unwrap();
    let guard = client.mutex("a").lock().await.unwrap();
    let other = Client::connect(primary.url("")).await.unwrap();
    assert!(other.mutex("a").try_lock().await.unwrap().is_none(), "it is on the primary");
    guard.finish().await.unwrap();
    // The primary is demoted while it is in use: the next requests go to the other one.
    replica.sql("SET GLOBAL read_only = OFF");
    primary.sql("SET GLOBAL read_only = ON");
    client.mutex("a").lock().await.unwrap().finish().await.unwrap();
    assert_eq!(replica.sql("SELECT COUNT(*) FROM cotter_locks"), "1");
    let found = trial::about(&client, "addresses").await;
    assert_eq!((found.severity, found.level), (Severity::Ok, None), "{found}");
    primary.sql("SET GLOBAL read_only = OFF");
    let found = trial::about(&client, "addresses").await;
    assert_eq!((found.severity, found.level), (Severity::Problem, Some(Level::BestEffort)), "{found}");
}

/// Replicas in some clouds say so by this setting alone.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn servers_that_cannot_write_to_innodb_are_passed_over() {
    let (replica, primary) = (Mariadb::builder().with("innodb-read-only", "ON").start(), server());
    assert_eq!(replica.sql("SELECT @@read_only"), "0");
    refused(&replica.url_of("owner", ""), ErrorKind::Unavailable, &["read-only", "primary"]).await;
    let ports = format!("127.0.0.1:{},127.0.0.1:{}", replica.port(), primary.port());
    let client = Client::connect(format!("mysql://app:secret@{ports}/cotter")).await.unwrap();
    client.mutex("a").lock().await.unwrap().finish().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn a_node_of_a_galera_cluster_is_refused() {
    let server = Mariadb::builder().with("wsrep-on", "ON").with("binlog-format", "ROW").start();
    refused(&server.url_of("owner", ""), ErrorKind::Unsupported, &["Galera", "single primary"]).await;
}

/// Defaults of the server that would break a step are set right.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn other_defaults_of_sessions_are_set_right() {
    let server = server();
    server.sql(
        "SET GLOBAL autocommit = 0, tx_isolation = 'SERIALIZABLE', tx_read_only = ON, \
         sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH'",
    );
    let client = Client::connect(server.url("")).await.unwrap();
    let mut tasks = Vec::new();
    for _ in 0..4 {
        let mutex = client.mutex("a");
        tasks.push(tokio::spawn(async move {
            for _ in 0..20 {
                mutex.lock().await.unwrap().finish().await.unwrap();
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    server.sql("SET GLOBAL autocommit = 1");
    assert_ne!(server.sql("SELECT last_token FROM cotter_locks WHERE name = 'a'"), "");
}

/// A limit for the answers to people is none for the rows of a batch of renewals.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn a_limit_for_rows_costs_no_lock() {
    let server = server();
    server.sql("SET GLOBAL sql_select_limit = 1");
    let client = client(&server.url(""), Duration::from_millis(600)).await;
    let mut guards = Vec::new();
    for name in ["a", "b", "c"] {
        guards.push(client.mutex(name).lock().await.unwrap());
    }
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let lost: Vec<_> = guards.iter().filter(|guard| !guard.is_valid()).collect();
    demand(lost.is_empty(), Kind::NeedlessLoss, format!("nobody has taken them: {lost:?}"));
}

/// Other limits, and what is to follow the end of a transaction, concern no step.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn limits_for_the_statements_of_people_are_lifted() {
    let server = server();
    server.sql(
        "SET GLOBAL max_join_size = 1, sql_big_selects = 0, sql_safe_updates = 1, completion_type = 'RELEASE'",
    );
    for options in ["", "mode=row", "mode=advisory"] {
        let client = Client::connect(server.url(options)).await.unwrap();
        for _ in 0..5 {
            client.mutex("a").lock().await.unwrap().finish().await.unwrap();
        }
    }
}

/// Many processes with a few statements each may reach a limit of the server, until one of them ends.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn a_server_without_statements_to_spare_is_an_outage() {
    let server = server();
    let client = Client::connect(server.url("")).await.unwrap();
    server.sql("SET GLOBAL max_prepared_stmt_count = 0");
    let error = client.mutex("a").try_lock().await.unwrap_err();
    assert!(error.kind() == ErrorKind::Unavailable && error.is_retryable(), "{error}");
    let mutex = client.mutex("a");
    let waiting = tokio::spawn(async move { mutex.lock().await });
    tokio::time::sleep(Duration::from_millis(300)).await;
    server.sql("SET GLOBAL max_prepared_stmt_count = 16382");
    waiting.await.unwrap().unwrap().finish().await.unwrap();
}

/// Two that create the tables at once, and a third time: everything stays.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn migration_can_be_repeated() {
    let server = Mariadb::start();
    let store = |options| Store::from_url(server.url_of("owner", options)).unwrap();
    let options = "prefix=app_1";
    let tasks: Vec<_> =
        (0..4).map(|_| store(options)).map(|s| tokio::spawn(async move { s.migrate().await })).collect();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    let client = Client::connect(server.url_of("owner", options)).await.unwrap();
    let guard = client.mutex("a").lock().await.unwrap();
    store(options).migrate().await.unwrap();
    assert!(client.mutex("a").try_lock().await.unwrap().is_none());
    guard.finish().await.unwrap();
    // What is printed is what is run.
    server.sql(&store("prefix=printed").schema().unwrap());
    let tables = || server.sql("SHOW TABLES LIKE 'printed%'").lines().count();
    assert_eq!(tables(), 5);
    // And can be taken back.
    server.sql(&store("prefix=printed_too").schema().unwrap());
    server.sql(&store("prefix=printed").drop_statements().unwrap());
    assert_eq!(tables(), 5, "those of the longer prefix");
    server.sql(&store("prefix=printed_too").drop_statements().unwrap());
    assert_eq!(tables(), 0);
    server.sql(&store("prefix=printed_too").drop_statements().unwrap());
    assert_eq!(store("mode=shedlock").drop_statements(), None);
}
