//! What cannot work is refused when the client connects, with what to do about it.

use super::setup::server;
use crate::trial;
use cotter::backend::Connect;
use cotter::postgres::Store;
use cotter::{Client, ErrorKind, Level, Severity};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::Postgres;
use cotter_testkit::timing::eventually;

/// The error of a connection with these options, which must name all of these.
async fn refused(url: &str, kind: ErrorKind, words: &[&str]) {
    let error = Client::connect(url).await.expect_err("it cannot work");
    let text = error.to_string();
    assert_eq!(error.kind(), kind, "{text}");
    assert!(words.iter().all(|word| text.contains(word)), "{text}");
    assert!(text.lines().count() == 1 && !format!("{error:?}").contains("secret"), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn missing_tables_are_named_with_the_command_that_creates_them() {
    let server = Postgres::migrated();
    refused(&server.url("prefix=other"), ErrorKind::Config, &["other_lock", "cotter migrate"]).await;
    refused(&server.url("schema=elsewhere"), ErrorKind::Config, &["schema elsewhere", "cotter migrate"])
        .await;
    assert_eq!(server.sql("select count(*) from pg_tables where tablename like 'other%'"), "0");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn missing_privileges_passwords_and_databases_are_named() {
    let server = server();
    server.sql("revoke update on cotter_lock from app");
    let client = Client::connect(server.url("")).await.unwrap();
    let error = client.mutex("a").lock().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    demand(!error.outcome_unknown(), Kind::Untrue, format!("it was not carried out: {error}"));
    assert!(error.to_string().contains("cotter_lock") && error.to_string().contains("GRANT"), "{error}");
    trial::fails(&client, "cotter_lock").await;
    let url = server.url("");
    refused(&url.replace("secret", "wrong-secret"), ErrorKind::Denied, &["app"]).await;
    refused(&url.replace(":secret@", "@"), ErrorKind::Denied, &["password"]).await;
    refused(&url.replace("/cotter?", "/nothing?"), ErrorKind::Config, &["nothing"]).await;
    // The user of a program may not create the tables.
    let store = Store::from_url(server.url("prefix=mine")).unwrap();
    assert_eq!(store.migrate().await.unwrap_err().kind(), ErrorKind::Denied);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn servers_that_take_no_writes_are_passed_over() {
    let (mut replica, primary) = (server(), server());
    replica.demote();
    refused(&replica.url(""), ErrorKind::Unavailable, &["replica", "primary"]).await;
    let both =
        format!("postgres://app:secret@127.0.0.1:{},127.0.0.1:{}/cotter", replica.port(), primary.port());
    let client = Client::connect(&both).await.unwrap();
    let guard = client.mutex("a").lock().await.unwrap();
    // The waiter's notifications come from the primary too.
    let other = Client::connect(primary.url("")).await.unwrap();
    let waiting = tokio::spawn(async move { other.mutex("a").lock().await.unwrap().token() });
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    guard.finish().await.unwrap();
    waiting.await.unwrap();
    let found = trial::about(&client, "addresses").await;
    assert_eq!((found.severity, found.level), (Severity::Ok, None), "{found}");
    replica.sql("select pg_promote()");
    let found = trial::about(&client, "addresses").await;
    assert_eq!((found.severity, found.level), (Severity::Problem, Some(Level::BestEffort)), "{found}");
    primary.sql("alter role app set default_transaction_read_only = on");
    refused(&primary.url(""), ErrorKind::Config, &["default_transaction_read_only"]).await;
}

/// As managed databases are whose disk is full, and new sessions begin so.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn a_database_that_is_read_only_for_a_while_is_waited_for() {
    let server = server();
    let client = Client::connect(server.url("")).await.unwrap();
    server.sql("alter role app set default_transaction_read_only = on");
    server.sql("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'app'");
    let waiting = tokio::spawn(async move { client.mutex("a").lock().await.map(|guard| guard.token()) });
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    assert!(!waiting.is_finished(), "{:?}", waiting.await);
    server.sql("alter role app reset default_transaction_read_only");
    waiting.await.unwrap().unwrap();
}

/// A role or a database may have another default, and locks are exclusive all the same.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn other_isolation_levels_are_set_right() {
    let server = server();
    server.sql("alter role app set default_transaction_isolation = 'serializable'");
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
    // While sessions are open, by a reload.
    server.sql("alter role app reset default_transaction_isolation");
    let client = Client::connect(server.url("")).await.unwrap();
    let guard = client.mutex("a").lock().await.unwrap();
    server.sql("alter system set default_transaction_isolation = 'repeatable read'");
    server.sql("select pg_reload_conf()");
    eventually("it is reloaded", || server.sql("show default_transaction_isolation") == "repeatable read")
        .await;
    let ended = guard.finish().await;
    demand(ended.is_ok(), Kind::LeftBehind, format!("the release has failed: {ended:?}"));
    client.mutex("a").lock().await.unwrap().finish().await.unwrap();
    // By hand, as a pooler might that gives the statement to a session without the setting.
    let begin = "begin isolation level repeatable read";
    let call = "select cotter_release_v1('a', gen_random_uuid(), 1, null)";
    let said = server.psql("cotter").args(["-c", begin, "-c", call]).output().unwrap();
    assert!(String::from_utf8_lossy(&said.stderr).contains("not read committed"), "{said:?}");
}

/// As a server does that has the functions only in name: it grants a lock, and has none.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn advisory_locks_that_the_server_only_pretends_to_have_are_refused() {
    let server = server();
    let url = server.url("mode=advisory");
    Client::connect(&url).await.unwrap().mutex("a").lock().await.unwrap().finish().await.unwrap();
    server.sql(
        "create schema stub; grant usage on schema stub to app; \
         create view stub.pg_locks as select * from pg_catalog.pg_locks where false; grant select on stub.pg_locks to app; \
         alter role app set search_path = stub, pg_catalog, public",
    );
    refused(&url, ErrorKind::Unsupported, &["PostgreSQL", "advisory locks", "mode=lease"]).await;
}

/// Two that create the tables at once, and a third time: everything stays.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn migration_can_be_repeated() {
    let server = Postgres::start();
    let store = |options| Store::from_url(server.url_of("owner", options)).unwrap();
    let options = "schema=locks&prefix=app_1";
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
    // Whoever may create tables may do so in a schema that is there.
    server.sql("grant create on schema public to app");
    Store::from_url(server.url("prefix=mine")).unwrap().migrate().await.unwrap();
}

/// As a part of a migration of somebody else's own, and undone again.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn what_is_printed_is_all_and_can_be_taken_back() {
    let server = Postgres::start();
    let store = |options| Store::from_url(server.url_of("owner", options)).unwrap();
    let (printed, longer) = (store("prefix=printed"), store("prefix=printed_too"));
    let schema = printed.schema().unwrap();
    let objects = || {
        let of = |what, name| format!("select count(*) from {what} where {name} like 'printed%'");
        ["pg_class", "pg_proc"]
            .map(|what| server.sql(&of(what, if what == "pg_class" { "relname" } else { "proname" })))
    };
    server.sql(&format!("begin;\n{schema}rollback;"));
    assert_eq!(objects(), ["0", "0"], "it does not end the transaction around it");
    server.sql(&schema);
    longer.migrate().await.unwrap();
    server.sql(&format!("{schema}{}", printed.drop_statements().unwrap()));
    let tables = "select count(*) from pg_tables where tablename like 'printed%'";
    assert_eq!(server.sql(tables), "5", "those of the longer prefix");
    let functions = "select count(*) from pg_proc where proname like 'printed%'";
    assert_eq!(server.sql(functions), "17", "those of the longer prefix");
    server.sql(&longer.drop_statements().unwrap());
    assert_eq!(objects(), ["0", "0"]);
    // What is gone may be dropped once more. A table of ShedLock has other users.
    server.sql(&longer.drop_statements().unwrap());
    assert_eq!(store("mode=shedlock").drop_statements(), None);
}
