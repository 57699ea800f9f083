//! What these tests share.

use cotter::backend::{Backend, Claim, Leave, Release};
use cotter::clock::Clock;
pub(crate) use cotter_testkit::bare::{claim, client, clock, take};
use cotter_testkit::servers::Postgres;
pub(crate) use cotter_testkit::timing::eventually;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_postgres::NoTls;

/// A connection without an engine, like a process of its own.
pub(crate) async fn backend(url: &str) -> Arc<dyn Backend> {
    backend_on(url, clock()).await
}

/// The same, with a clock of its own.
pub(crate) async fn backend_on(url: &str, clock: Arc<dyn Clock>) -> Arc<dyn Backend> {
    use cotter::backend::{Connect, Host};
    let store = cotter::postgres::Store::from_url(url).unwrap();
    store.connect(&Host::without_engine(clock)).await.unwrap()
}

/// Releases a claim on a backend with a time limit so short that a new connection may take longer.
pub(crate) async fn released(backend: &Arc<dyn Backend>, claim: &Claim) -> Release {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        match backend.release(claim, Leave::default()).await {
            Err(e) if e.is_retryable() && Instant::now() < end => {}
            answer => return answer.unwrap(),
        }
    }
}

/// How many wait for a name in the server.
pub(crate) fn queued(server: &Postgres, name: &str) -> usize {
    let count = format!("select count(*) from cotter_claim where name = '{name}' and state = 'w'");
    server.sql(&count).parse().unwrap()
}

/// A server of its own, with cotter's tables.
pub(crate) fn server() -> Postgres {
    let server = Postgres::start();
    server.migrate("");
    server
}

/// A connection of the driver's own.
pub(crate) async fn driver(server: &Postgres) -> tokio_postgres::Client {
    let (client, connection) = settings(server).connect(NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// The settings of an application on this server.
pub(crate) fn settings(server: &Postgres) -> tokio_postgres::Config {
    let settings = format!("host=127.0.0.1 port={} user=app password=secret dbname=cotter", server.port());
    settings.parse().unwrap()
}
