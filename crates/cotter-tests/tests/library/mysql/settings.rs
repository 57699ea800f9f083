//! `from_opts`: the settings of an application's own driver.

use super::setup::{client, eventually, server};
use crate::logins::{ALL_MODES, are_refused, they_share_locks};
use cotter::mysql::Store;
use cotter::{Client, ErrorKind};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::Mariadb;
use cotter_testkit::timing::FAR;
use mysql_async::prelude::Queryable;
use mysql_async::{Opts, OptsBuilder, Pool, PoolConstraints, PoolOpts};
use std::time::Duration;

const TTL: Duration = Duration::from_secs(30);

fn settings(server: &Mariadb) -> Opts {
    let url = format!("mysql://app:secret@127.0.0.1:{}/cotter", server.port());
    Opts::from_url(&url).unwrap()
}

async fn of(store: Store) -> Client {
    Client::builder().connect_to(store).await.unwrap()
}

/// In all modes the locks are those of a URL with the same options.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn the_settings_of_an_application_are_enough() {
    let server = server();
    server.migrate("mode=shedlock");
    server.sql("GRANT SELECT, INSERT, UPDATE ON shedlock TO app");
    server.sql("CREATE TABLE orders (id BIGINT PRIMARY KEY); INSERT INTO orders VALUES (7)");
    server.sql("GRANT SELECT, UPDATE ON orders TO app");
    for options in ALL_MODES {
        let store = Store::from_opts(settings(&server)).unwrap().with_options(options).unwrap();
        let (ours, by_url) = (of(store).await, client(&server.url(options), TTL).await);
        they_share_locks(&ours, &by_url, options).await;
    }
}

/// Whatever an application sets for its own sessions, those of the locks exclude each other: eight tasks count, and lose nothing.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn settings_that_change_what_statements_do_change_no_lock() {
    let server = server();
    let hostile = OptsBuilder::from_opts(settings(&server))
        .client_found_rows(true)
        .stmt_cache_size(0)
        .init(vec!["SET autocommit = 0", "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE"])
        .setup(vec!["SET sql_mode = ''"]);
    let counter = std::sync::Arc::new(std::sync::Mutex::new(0));
    let mut tasks = Vec::new();
    for _ in 0..8 {
        let store = Store::from_opts(hostile.clone()).unwrap();
        let ours = Client::builder().local_turns(false).connect_to(store).await.unwrap();
        let counter = counter.clone();
        tasks.push(tokio::spawn(async move {
            for _ in 0..20 {
                let guard = ours.mutex("counter").lock().await.unwrap();
                let seen = *counter.lock().unwrap();
                tokio::task::yield_now().await;
                *counter.lock().unwrap() = seen + 1;
                guard.finish().await.unwrap();
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let counted = *counter.lock().unwrap();
    demand(counted == 160, Kind::LostWrite, format!("{counted} of 160"));
}

/// The only connection of an application's pool is in use while it holds a lock: it gets the lock all the same, and everything that
/// cotter had is closed afterwards.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn a_pool_of_one_is_left_to_the_application() {
    let server = server();
    let one = PoolOpts::default().with_constraints(PoolConstraints::new(1, 1).unwrap());
    let opts: Opts = OptsBuilder::from_opts(settings(&server)).pool_opts(one).into();
    let pool = Pool::new(opts.clone());
    for mode in ["lease", "row", "advisory"] {
        let store = Store::from_opts(opts.clone()).unwrap().with_options(&format!("mode={mode}")).unwrap();
        let ours = of(store).await;
        let mut only = pool.get_conn().await.unwrap();
        let guard = ours.mutex("single").lock().await.unwrap();
        only.query_drop("DO 1").await.unwrap();
        guard.finish().await.unwrap();
        drop(only);
        ours.close(FAR).await.unwrap();
        eventually("only the application's is left", || server.sessions() == 1).await;
    }
    pool.disconnect().await.unwrap();
}

#[tokio::test]
async fn what_cannot_be_used_is_named() {
    let error = Store::from_opts(Opts::from_url("mysql://app:secret@db").unwrap()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config, "{error}");
    assert!(error.to_string().contains("database") && !format!("{error:?}").contains("secret"), "{error:?}");
    let store = || Store::from_opts(Opts::from_url("mysql://app:secret@db/shop").unwrap()).unwrap();
    assert!(!format!("{:?}", store()).contains("secret"));
    let options = [
        ("socket=/run", "socket="),
        ("sslmode=disable", "sslmode="),
        ("ca=/nowhere", "ca="),
        ("password_file=/nowhere", "password_file="),
        ("client_name=x", "client_name="),
        ("mode=magic", "lease, row, advisory, shedlock"),
        ("mode=row&table=orders", "column="),
        ("prefix=a`b", "prefix="),
        ("what=x", "what"),
    ];
    are_refused(|options| store().with_options(options), &options);
}
