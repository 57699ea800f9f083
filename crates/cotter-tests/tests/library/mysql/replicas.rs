//! What doctor says about a failover.

use super::setup::{client, eventually, server};
use crate::next_host::locked_there;
use cotter::mysql::Store;
use cotter::{Client, Finding, Lease, Level, Severity};
use cotter_testkit::servers::Mariadb;
use std::time::Duration;
use tokio::task::JoinHandle;

const TTL: Duration = Duration::from_secs(30);

async fn finding(server: &Mariadb) -> Finding {
    let findings = client(&server.url(""), TTL).await.admin().diagnose().await.unwrap();
    findings.into_iter().find(|finding| finding.subject == "replicas").expect("it is looked at")
}

/// By default, commits wait for 10 s, and when there is nobody to wait for, not even for that.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn doctor_says_when_commits_give_up_waiting() {
    let server = server();
    assert_eq!(finding(&server).await.severity, Severity::Ok);
    server.sql("SET GLOBAL rpl_semi_sync_master_enabled = ON");
    let short = finding(&server).await;
    assert_eq!((short.severity, short.level), (Severity::Warning, Some(Level::BestEffort)), "{short}");
    assert!(short.message.contains("at most 10 s"), "{short}");
    server.sql("SET GLOBAL rpl_semi_sync_master_timeout = 86400000");
    let alone = finding(&server).await;
    assert_eq!(alone.severity, Severity::Problem, "{alone}");
    server.sql("SET GLOBAL rpl_semi_sync_master_wait_no_slave = OFF");
    let waits = finding(&server).await;
    assert_ne!(waits.severity, Severity::Ok, "{waits}");
}

/// A primary whose last replica has gone, because it was promoted, say, answers whoever asks, and no commit returns.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn a_server_whose_commits_do_not_return_is_left() {
    Failover::start("").is_left(false).await;
}

/// It still answers whoever only asks, with the same store.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn a_server_whose_commits_do_not_return_is_left_where_others_read() {
    Failover::start("").is_left(true).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn with_rows_of_shedlock_a_server_whose_commits_do_not_return_is_left() {
    Failover::start("mode=shedlock").is_left(false).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn with_locked_rows_a_server_whose_commits_do_not_return_is_left() {
    Failover::start("mode=row").is_left(false).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn with_advisory_locks_a_server_whose_commits_do_not_return_is_left() {
    Failover::start("mode=advisory").is_left(false).await;
}

/// A lock that the first server has is not given with tokens of the second one, which has the same rows, as a replica would. Its first
/// commits do not return, and change nothing.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn tokens_come_from_the_server_that_has_the_session() {
    for mode in ["mode=advisory", "mode=row"] {
        let servers = Failover::start(mode);
        servers.old.sql("SET GLOBAL rpl_semi_sync_master_wait_point = 'AFTER_SYNC'");
        for name in ["a", "b"] {
            let guard = client(&servers.old.url(mode), TTL).await.mutex(name).lock().await.unwrap();
            guard.finish().await.unwrap();
        }
        let known = "SELECT CONCAT_WS(', ', QUOTE(place), QUOTE(name), last_token) FROM cotter_session";
        for row in servers.old.sql(known).lines() {
            servers.new.sql(&format!("INSERT INTO cotter_session (place, name, last_token) VALUES ({row})"));
        }
        servers.is_left(false).await;
    }
}

/// A server whose commits will not return, and the one behind it in the URL.
struct Failover {
    old: Mariadb,
    new: Mariadb,
    options: &'static str,
}

impl Failover {
    fn start(options: &'static str) -> Self {
        let (old, new) = (Mariadb::builder().with("log-bin", "binlog").start(), Mariadb::start());
        [&old, &new].iter().for_each(|server| server.migrate_all());
        Self { old, new, options }
    }

    /// By a client that was there before, with a name that is known there, and by a new one.
    async fn is_left(&self, others_read: bool) {
        let Self { old, new, options } = self;
        let hosts = format!("127.0.0.1:{},127.0.0.1:{}", old.port(), new.port());
        let url = format!("mysql://app:secret@{hosts}/cotter?timeout=500ms&connect_timeout=1s&{options}");
        let stores = ["a", "b"].map(|name| (Store::from_url(&url).unwrap(), name));
        let before = of(&stores[0].0).await;
        before.mutex("a").lock().await.unwrap().finish().await.unwrap();
        old.sql(
            "SET GLOBAL rpl_semi_sync_master_timeout = 86400000, GLOBAL rpl_semi_sync_master_enabled = ON",
        );
        let others = client(&new.url(options), TTL).await;
        for (store, name) in stores {
            let client = if name == "a" { before.clone() } else { of(&store).await };
            let reading = if others_read { Some(tokio::spawn(read(of(&store).await))) } else { None };
            let _guard = locked_there(&client, &others, name).await;
            reading.iter().for_each(JoinHandle::abort);
        }
    }
}

/// The commit of another process keeps the row locked: whoever comes after it is refused by an answer.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn a_server_is_left_where_the_commit_of_another_process_does_not_return() {
    let Failover { old, new, .. } = Failover::start("");
    client(&old.url(""), TTL).await.mutex("a").lock().await.unwrap().finish().await.unwrap();
    old.sql(
        "SET GLOBAL rpl_semi_sync_master_wait_point = AFTER_SYNC, GLOBAL rpl_semi_sync_master_timeout = 86400000, \
         GLOBAL rpl_semi_sync_master_enabled = ON",
    );
    let first = client(&old.url("timeout=60s"), TTL).await;
    let hangs = tokio::spawn(async move { first.mutex("a").lock().await });
    let waits =
        "SELECT COUNT(*) FROM information_schema.processlist WHERE state LIKE 'Waiting for semi-sync ACK%'";
    eventually("its commit waits", || old.sql(waits) == "1").await;
    let hosts = format!("127.0.0.1:{},127.0.0.1:{}", old.port(), new.port());
    let second = client(&format!("mysql://app:secret@{hosts}/cotter?connect_timeout=1s"), TTL).await;
    let others = client(&new.url(""), TTL).await;
    let _guard = locked_there(&second, &others, "a").await;
    hangs.abort();
}

async fn of(store: &Store) -> Client {
    let client = Client::builder().lease(Lease::renewed(TTL)).local_turns(false);
    client.connect_to(store.clone()).await.unwrap()
}

/// Asks for the time all the time.
async fn read(client: Client) {
    loop {
        let _ = client.time().await;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
