//! What these tests share.

use cotter::clock::Clock;
pub(crate) use cotter_testkit::bare::{claim, client, clock, take};
use cotter_testkit::servers::Mariadb;
pub(crate) use cotter_testkit::timing::eventually;
use std::sync::Arc;

/// A connection without an engine, like a process of its own.
pub(crate) async fn backend(url: &str) -> Arc<dyn cotter::backend::Backend> {
    backend_on(url, clock()).await
}

/// The same, with a clock of its own.
pub(crate) async fn backend_on(url: &str, clock: Arc<dyn Clock>) -> Arc<dyn cotter::backend::Backend> {
    use cotter::backend::{Connect, Host};
    let store = cotter::mysql::Store::from_url(url).unwrap();
    store.connect(&Host::without_engine(clock)).await.unwrap()
}

/// How many wait for a name, as its row says.
pub(crate) fn queued(server: &Mariadb, name: &str) -> usize {
    let count = format!(
        "SELECT COALESCE(SUM(JSON_LENGTH(CONVERT(state USING utf8mb4), '$.queue')), 0) \
         FROM cotter_locks WHERE name = '{name}' AND state <> ''"
    );
    server.sql(&count).parse().unwrap()
}

/// How many hold a name, as its row says.
pub(crate) fn holders(server: &Mariadb, name: &str) -> usize {
    let count = format!(
        "SELECT COALESCE(SUM(JSON_LENGTH(CONVERT(state USING utf8mb4), '$.holders')), 0) \
         FROM cotter_locks WHERE name = '{name}' AND state <> ''"
    );
    server.sql(&count).parse().unwrap()
}

/// A server of its own, with cotter's tables.
pub(crate) fn server() -> Mariadb {
    let server = Mariadb::start();
    server.migrate("");
    server
}

/// How many wait in the server for a lock that lives with a session. What reads no table, such as a look at another session, does not.
pub(crate) fn waiters(server: &Mariadb) -> String {
    server.sql(
        "SELECT COUNT(*) FROM information_schema.processlist \
         WHERE user = 'app' AND (state = 'User lock' OR info LIKE '%FOR UPDATE' AND info NOT LIKE '%FROM DUAL%')",
    )
}

/// Waits until so many wait there.
pub(crate) async fn waiting(server: &Mariadb, many: usize) {
    eventually("they wait", || waiters(server) == many.to_string()).await;
}
