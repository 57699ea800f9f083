//! What doctor says about a failover.

use super::setup::{client, server};
use cotter::{Finding, Level, Severity};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::Mariadb;
use cotter_testkit::timing::FAR;
use std::time::Duration;

const TTL: Duration = Duration::from_secs(30);

async fn finding(server: &Mariadb) -> Finding {
    let findings = client(&server.url(""), TTL).await.diagnose().await.unwrap();
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
    let (old, new) = (Mariadb::builder().with("log-bin", "binlog").start(), server());
    old.migrate("");
    let hosts = format!("127.0.0.1:{},127.0.0.1:{}", old.port(), new.port());
    let url = format!("mysql://app:secret@{hosts}/cotter?timeout=500ms&connect_timeout=1s");
    let before = client(&url, TTL).await;
    before.mutex("a").lock().await.unwrap().finish().await.unwrap();
    old.sql("SET GLOBAL rpl_semi_sync_master_timeout = 86400000, GLOBAL rpl_semi_sync_master_enabled = ON");
    for (client, name) in [(before, "a"), (client(&url, TTL).await, "b")] {
        let locked = tokio::time::timeout(FAR, client.mutex(name).lock()).await;
        let guard = locked.ok().and_then(Result::ok);
        demand(guard.is_some(), Kind::StuckWaiter, "the next host has it to give");
        let held = format!("SELECT COUNT(*) FROM cotter_locks WHERE name = '{name}' AND state <> ''");
        assert_eq!(new.sql(&held), "1");
    }
}
