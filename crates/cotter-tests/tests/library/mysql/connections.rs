//! The connections of a process: one, or a few while many tasks use locks at once.

use super::setup::{client, server};
use crate::steps::many_take_turns;
use cotter::Client;
use cotter_testkit::servers::{Database, Mariadb};
use cotter_testkit::timing::FAR;
use std::time::Duration;

/// The most sessions that this many tasks had. The engine has connections of its own.
async fn sessions_of(server: &Mariadb, options: &str, tasks: u32) -> usize {
    let client = Client::connect(server.url(options)).await.unwrap();
    for _ in 0..5 {
        many_take_turns(&client, tasks).await;
    }
    let sessions = server.sessions();
    client.close(FAR).await.unwrap();
    drop(client);
    super::setup::eventually("all are closed", || server.sessions() == 0).await;
    sessions
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs mariadbd"]
async fn a_process_has_as_many_connections_as_it_needs() {
    let server = server();
    assert!(sessions_of(&server, "", 1).await <= 2, "one task after the other needs one, and the engine one");
    let many = sessions_of(&server, "", 30).await;
    assert!((3..=8).contains(&many), "{many} sessions");
    assert!(sessions_of(&server, "connections=1", 30).await <= 2);
    // What is beyond the limit of the server is done without.
    server.sql("GRANT USAGE ON *.* TO app WITH MAX_USER_CONNECTIONS 2");
    assert!(sessions_of(&server, "", 30).await <= 2);
}

/// One connection carries holders, waiters, renewals and notes of many tasks, none of which waits for another for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs mariadbd"]
async fn one_connection_is_enough() {
    let server = Mariadb::migrated();
    let client = client(&server.url("connections=1"), Duration::from_millis(900)).await;
    let mut tasks = Vec::new();
    for task in 0..12 {
        let client = client.clone();
        tasks.push(tokio::spawn(async move {
            for _ in 0..3 {
                let first = client.mutex("one, first").lock().await.unwrap();
                let second = client.mutex(format!("one, second {}", task % 3)).lock().await.unwrap();
                first.put_note(format!("{task}")).await.unwrap();
                second.finish().await.unwrap();
                first.finish().await.unwrap();
            }
        }));
    }
    for task in tasks {
        tokio::time::timeout(Duration::from_secs(30), task).await.expect("no deadlock").unwrap();
    }
}

/// The server closes connections that were idle for `wait_timeout`, and so does much of what may stand in between.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn a_connection_that_was_closed_while_idle_costs_no_error() {
    let server = server();
    server.migrate_all();
    for mode in ["lease", "shedlock"] {
        let one = client(&server.url(&format!("mode={mode}")), Duration::from_secs(30)).await;
        let closed_while_idle = async || {
            tokio::time::sleep(Duration::from_millis(1200)).await;
            assert!(server.end_sessions() >= 1, "{mode}: one is kept");
            super::setup::eventually("they have gone", || server.sessions() == 0).await;
        };
        one.mutex("a").lock().await.unwrap().finish().await.unwrap();
        closed_while_idle().await;
        let guard = one.mutex("a").try_lock().await.unwrap_or_else(|e| panic!("{mode}: {e}"));
        let guard = guard.expect("it is free");
        closed_while_idle().await;
        guard.finish().await.unwrap_or_else(|e| panic!("{mode}: {e}"));
        one.close(FAR).await.unwrap();
    }
}
