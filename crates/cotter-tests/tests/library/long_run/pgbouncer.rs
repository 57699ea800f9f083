//! PgBouncer in transaction mode before a PostgreSQL server of small limits: whatever a wait left in the pooler's sessions would add
//! up until the whole server refuses work.

use cotter::{Client, Lease};
use cotter_testkit::servers::{Pooler, Postgres};
use cotter_testkit::sized;
use cotter_testkit::timing::{eventually, happens};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const TTL: Duration = Duration::from_secs(30);
/// Longer than the first question of a waiter, which used to leave something.
const WAIT: Duration = Duration::from_millis(150);
/// As many wait at a time.
const CROWD: usize = 8;

async fn connect(pooler: &Pooler) -> cotter::Result<Client> {
    Client::builder().lease(Lease::renewed(TTL)).connect(pooler.url("")).await
}

/// Waits in vain, as one line of a crontab does.
async fn wait(pooler: &Pooler) -> cotter::Result<()> {
    let client = connect(pooler).await?;
    let waited = client.mutex("job").try_lock_for(WAIT).await?;
    assert!(waited.is_none(), "violation[overlap]: it is held");
    client.close(TTL).await
}

/// With these limits, 624 waits were the end.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres and pgbouncer"]
async fn thousands_of_waits_leave_nothing() {
    let server =
        Postgres::builder().with("max_locks_per_transaction", "10").with("max_connections", "20").start();
    server.migrate("");
    let pooler = Arc::new(Pooler::start(&server));
    let held = connect(&pooler).await.unwrap().mutex("job").lock().await.unwrap();
    let many = sized(1_000, 5_000);
    let (begun, mut waiters) = (Arc::new(AtomicUsize::new(0)), Vec::new());
    for _ in 0..CROWD {
        let (pooler, begun) = (pooler.clone(), begun.clone());
        waiters.push(tokio::spawn(async move {
            while begun.fetch_add(1, Ordering::Relaxed) < many {
                // On a busy machine, two sessions do not answer all of them in this time.
                let answered = async {
                    while let Err(error) = wait(&pooler).await {
                        assert!(error.is_retryable(), "{error}");
                    }
                };
                happens("a wait is answered", answered).await;
            }
        }));
    }
    for waiter in waiters {
        waiter.await.unwrap();
    }
    assert!(held.is_valid(), "violation[needless-loss]: it was renewed through the pooler");
    let locks = server.sql("select count(*) from pg_locks where locktype = 'advisory'");
    assert_eq!(locks, "0", "violation[left-behind]: advisory locks");
    let waiting = "select count(*) from cotter_claim where state = 'w'";
    eventually("nobody is in the queue", || server.sql(waiting) == "0").await;
    assert!(server.sessions() <= 2, "violation[left-behind]: the pooler has two sessions");
    held.finish().await.unwrap();
    connect(&pooler).await.unwrap().mutex("job").lock().await.unwrap().finish().await.unwrap();
}
