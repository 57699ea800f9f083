//! What doctor says about a failover.

use super::setup::{client, server};
use cotter::{Finding, Level, Severity};
use cotter_testkit::servers::Mariadb;
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
