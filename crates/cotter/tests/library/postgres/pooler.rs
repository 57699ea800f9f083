//! Behind PgBouncer in transaction mode, which gives each statement to any of its sessions.

use super::setup::client;
use cotter::Severity;
use cotter_testkit::servers::{Pooler, Postgres};
use cotter_testkit::timing::Stopwatch;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const TTL: Duration = Duration::from_secs(30);

/// Locks are exclusive and waiters are served, though no notification passes through.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres and pgbouncer"]
async fn locks_pass_through_a_pooler() {
    let server = Postgres::migrated();
    let pooler = Pooler::start(&server);
    let (held, mut tasks, start) = (Arc::new(AtomicBool::new(false)), Vec::new(), Stopwatch::start());
    for _ in 0..4 {
        let (mutex, held) = (client(&pooler.url(""), TTL).await.mutex("pooled"), held.clone());
        tasks.push(tokio::spawn(async move {
            for _ in 0..8 {
                let guard = mutex.lock().await.unwrap();
                assert!(!held.swap(true, Ordering::SeqCst), "two holders");
                tokio::time::sleep(Duration::from_millis(2)).await;
                held.store(false, Ordering::SeqCst);
                guard.finish().await.unwrap();
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    start.at_most(Duration::from_secs(20), "32 holds without notifications");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres and pgbouncer"]
async fn doctor_notices_a_pooler() {
    let server = Postgres::migrated();
    let pooler = Pooler::start(&server);
    for (url, expected) in [(server.url(""), Severity::Ok), (pooler.url(""), Severity::Warning)] {
        let findings = client(&url, TTL).await.diagnose().await.unwrap();
        let found = findings.iter().find(|f| f.subject == "notifications").expect("it is looked at");
        assert_eq!(found.severity, expected, "{found}");
    }
}
