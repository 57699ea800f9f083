//! Deadlocks and serialization failures: the server has undone a statement, and says that it may be tried again.

use super::setup::{client, eventually, server};
use cotter::{Client, Error, ErrorKind, Lease};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::Postgres;
use std::time::Duration;
use tokio_postgres::NoTls;

const TTL: Duration = Duration::from_secs(30);
const CODES: [&str; 2] = ["40001", "40P01"];

/// Every write to a table fails with this code.
fn fail(server: &Postgres, table: &str, code: &str) {
    server.sql(&format!(
        "create or replace function hiccup() returns trigger language plpgsql as $$ \
         begin raise exception 'could not serialize' using errcode = '{code}'; end $$; \
         create trigger hiccup before insert or update or delete on {table} for each row execute function hiccup()"
    ));
}

fn mend(server: &Postgres, table: &str) {
    server.sql(&format!("drop trigger hiccup on {table}"));
}

fn is_worth_another_try(what: &str, error: &Error) {
    let kind = (error.kind(), error.is_retryable(), error.outcome_unknown());
    assert_eq!(kind, (ErrorKind::Unavailable, true, false), "{what}: {error}");
}

/// The error says that nothing has happened and that another try may succeed, and nothing is left of the first one.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn an_acquisition_that_was_undone_is_worth_another_try() {
    let server = server();
    server.migrate("mode=shedlock");
    server.sql("grant select, insert, update on shedlock to app");
    for (mode, table) in [
        ("lease", "cotter_lock"),
        ("row", "cotter_session"),
        ("advisory", "cotter_session"),
        ("shedlock", "shedlock"),
    ] {
        let url = server.url(&format!("mode={mode}"));
        let (one, other) = (client(&url, TTL).await, client(&url, TTL).await);
        for code in CODES {
            let what = format!("{mode}, {code}");
            fail(&server, table, code);
            is_worth_another_try(&what, &one.mutex("undone").try_lock().await.unwrap_err());
            // Whoever waits tries again.
            let waiting = tokio::spawn(one.mutex("repeated").lock());
            tokio::time::sleep(Duration::from_millis(300)).await;
            mend(&server, table);
            let next = other.mutex("undone").try_lock().await.unwrap();
            demand(next.is_some(), Kind::LeftBehind, format!("{what}: nobody holds it"));
            next.unwrap().finish().await.unwrap();
            waiting.await.unwrap().unwrap().finish().await.unwrap();
        }
    }
}

/// A release, and a renewal, are repeated until they are carried out.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn releases_and_renewals_that_were_undone_are_repeated() {
    const SHORT: Duration = Duration::from_millis(1500);
    let server = server();
    server.migrate("mode=shedlock");
    server.sql("grant select, insert, update on shedlock to app");
    for (mode, table) in [("lease", "cotter_lock"), ("shedlock", "shedlock")] {
        let url = server.url(&format!("mode={mode}"));
        let lease = Lease::renewed(SHORT);
        let one = Client::builder().lease(lease).connect(&url).await.unwrap();
        let other = client(&url, TTL).await;
        for code in CODES {
            let guard = one.mutex("repeated").lock().await.unwrap();
            // The first renewals fall into this time.
            tokio::time::sleep(SHORT / 4).await;
            fail(&server, table, code);
            tokio::time::sleep(SHORT / 3).await;
            mend(&server, table);
            tokio::time::sleep(SHORT).await;
            demand(guard.is_valid(), Kind::NeedlessLoss, format!("{mode}, {code}: it was not renewed again"));
            fail(&server, table, code);
            let releasing = tokio::spawn(guard.finish());
            tokio::time::sleep(Duration::from_millis(300)).await;
            mend(&server, table);
            releasing.await.unwrap().unwrap();
            let next = other.mutex("repeated").try_lock().await.unwrap();
            demand(next.is_some(), Kind::LeftBehind, format!("{mode}, {code}: it was given back"));
            next.unwrap().finish().await.unwrap();
        }
    }
}

/// A step and a transaction of somebody else that wait for each other's rows: the server undoes the step.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn a_deadlock_with_somebody_else_is_worth_another_try() {
    let server = server();
    // Whose time is over first looks for a deadlock, and is undone.
    server
        .sql("alter role app set deadlock_timeout = '500ms'; alter role owner set deadlock_timeout = '20s'");
    let ours = client(&server.url(""), TTL).await;
    ours.mutex("dead").lock().await.unwrap().finish().await.unwrap();
    server.sql(
        "insert into cotter_claim (id, name, state, mode, take, ticket, ends, number, since, label, channel) \
         values (gen_random_uuid(), 'dead', 'w', 'x', 0, 1, clock_timestamp() - interval '1 s', 0, now(), 'dead', 'dead'); \
         update cotter_lock set crowd = true where name = 'dead'",
    );
    let mut settings = super::setup::settings(&server);
    settings.user("owner");
    let (mut theirs, driver) = settings.connect(NoTls).await.unwrap();
    tokio::spawn(driver);
    let transaction = theirs.transaction().await.unwrap();
    transaction.execute("select from cotter_claim where name = 'dead' for update", &[]).await.unwrap();
    let mutex = ours.mutex("dead");
    let asking = tokio::spawn(async move { mutex.try_lock().await });
    eventually("it has the row of the name and waits for that of the waiter", || {
        server.sql("select count(*) from pg_locks where not granted") == "1"
    })
    .await;
    transaction.execute("select from cotter_lock where name = 'dead' for update", &[]).await.unwrap();
    let error = asking.await.unwrap().unwrap_err();
    is_worth_another_try("a deadlock", &error);
    assert!(error.to_string().contains("40P01"), "{error}");
    transaction.rollback().await.unwrap();
    ours.mutex("dead").lock().await.unwrap().finish().await.unwrap();
}
