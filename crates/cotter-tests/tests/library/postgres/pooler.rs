//! Behind PgBouncer in transaction mode, which gives each statement to any of its sessions.

use super::setup::client;
use cotter::{Client, ErrorKind, Lease, Severity};
use cotter_testkit::servers::{Begins, Pooler, Postgres};
use cotter_testkit::timing::{Stopwatch, happens};
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

/// The sessions are the pooler's, and go on when the client has gone: each lock and each channel would add up.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres and pgbouncer"]
async fn a_wait_leaves_nothing_in_the_sessions_of_a_pooler() {
    leave_nothing(0, 5).await;
}

/// They take the sessions that the pooler would have given to the one who looks for it.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres and pgbouncer"]
async fn a_wait_leaves_nothing_in_the_sessions_of_a_busy_pooler() {
    leave_nothing(3, 15).await;
}

/// Waits in vain.
async fn wait(pooler: &Pooler) -> cotter::Result<()> {
    let waiter = Client::builder().lease(Lease::renewed(TTL)).connect(pooler.url("")).await?;
    let waited = waiter.mutex("pooled").try_lock_for(Duration::from_millis(300)).await?;
    assert!(waited.is_none(), "violation[overlap]: it is held");
    waiter.close(TTL).await
}

async fn leave_nothing(busy: usize, waits: usize) {
    let server = Postgres::builder().with("log_statement", "all").with("log_min_messages", "log").start();
    server.migrate_all();
    let pooler = Pooler::start(&server);
    let mut others = tokio::task::JoinSet::new();
    for other in 0..busy {
        let client = client(&pooler.url(""), TTL).await;
        others.spawn(async move {
            loop {
                client.mutex(format!("of {other}")).lock().await.unwrap().finish().await.unwrap();
            }
        });
    }
    let holder = client(&server.url(""), TTL).await;
    let held = holder.mutex("pooled").lock().await.unwrap();
    for _ in 0..waits {
        // Two sessions do not answer all of them in time.
        let waited = async {
            while let Err(error) = wait(&pooler).await {
                assert!(error.is_retryable(), "{error}");
            }
        };
        happens("a wait is answered", waited).await;
    }
    others.shutdown().await;
    let locks = "select count(*) from pg_locks where locktype = 'advisory'";
    assert_eq!(server.sql(locks), "0", "violation[left-behind]: advisory locks");
    let log = server.log();
    assert!(log.contains("pg_backend_pid"), "statements are in the log: {log}");
    assert!(!log.contains("listen \""), "violation[left-behind]: channels");
    held.finish().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres and pgbouncer"]
async fn doctor_notices_a_pooler() {
    let server = Postgres::migrated();
    let pooler = Pooler::start(&server);
    for (url, expected) in [(server.url(""), Severity::Ok), (pooler.url(""), Severity::Warning)] {
        let findings = client(&url, TTL).await.admin().diagnose().await.unwrap();
        let found = findings.iter().find(|f| f.subject == "notifications").expect("it is looked at");
        assert_eq!(found.severity, expected, "{found}");
    }
}

/// What is answered has to be committed, or whoever has a lock loses it with the pooler. `mode=lease` calls functions, which such
/// poolers leave alone.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn who_leaves_transactions_open_is_refused() {
    let server = Postgres::migrated();
    let pooler = Begins::before(&server);
    for mode in ["mode=shedlock", "mode=row", "mode=advisory"] {
        let opened = Client::connect(pooler.url(mode)).await;
        let held = match opened {
            Ok(client) => client.mutex(format!("left open in {mode}")).try_lock().await.map(|_| ()),
            Err(e) => Err(e),
        };
        let refused = held.expect_err(mode);
        assert_eq!(refused.kind(), ErrorKind::Config, "{mode}: {refused}");
        assert!(refused.to_string().contains("transactions of its own"), "{mode}: {refused}");
    }
    let guard = client(&pooler.url(""), TTL).await.mutex("left open").lock().await.unwrap();
    assert_eq!(
        server.sql("select count(*) from cotter_lock where name = 'left open' and claim is not null"),
        "1"
    );
    guard.finish().await.unwrap();
}
