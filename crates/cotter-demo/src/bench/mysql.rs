//! The statements of an uncontended lock on MySQL or MariaDB: the row is taken by one of them, and freed by another. On as many
//! connections as the store has.

use super::measure::rate;
use super::raw::HOLDER;
use crate::server_url::ServerUrl;
use crate::store::Store;
use cotter_console::{Exit, Failure};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Opts, OptsBuilder};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::Mutex;

/// The default of the store's option `connections`.
const CONNECTIONS: usize = 4;
const CLOCK: &str = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))";

/// Connections to the database of a store, each with one statement at a time.
#[derive(Debug)]
pub(super) struct Statements {
    connections: Vec<Arc<Mutex<Conn>>>,
    table: String,
}

impl Statements {
    /// `None` if the store is none of these, or needs more than an address and a password.
    pub(super) async fn of(store: &dyn Store) -> Result<Option<Self>, Failure> {
        let Some((address, table)) = address(store.secret_url()) else { return Ok(None) };
        let Ok(opts) = Opts::from_url(&address) else { return Ok(None) };
        let mut opts = OptsBuilder::from_opts(opts).prefer_socket(false).tcp_nodelay(true);
        if let Some(password) = store.password()? {
            opts = opts.pass(Some(password));
        }
        let mut connections = Vec::new();
        for _ in 0..CONNECTIONS {
            connections.push(Arc::new(Mutex::new(Conn::new(opts.clone()).await.map_err(broken)?)));
        }
        Ok(Some(Self { connections, table }))
    }

    /// Pairs per second of a number of tasks, each with a row of its own.
    pub(super) async fn pairs(
        &self,
        name: &str,
        tasks: u32,
        time: Duration,
        on: &Handle,
    ) -> Result<f64, Failure> {
        let Self { connections, table } = self;
        let insert = format!("INSERT IGNORE INTO {table} (name, last_token, state) VALUES (?, 0, '')");
        for n in 0..tasks {
            let row = (format!("{name}:raw:{n}"),);
            connections[0].lock().await.exec_drop(&insert, row).await.map_err(broken)?;
        }
        let take: Arc<str> = format!(
            "UPDATE {table} SET last_token = GREATEST(last_token + 1, {CLOCK}), state = ? WHERE name = ? AND state = ''"
        )
        .into();
        let free: Arc<str> = format!("UPDATE {table} SET state = '' WHERE name = ? AND state = ?").into();
        let pair = |n: u32| {
            let connection = connections[n as usize % CONNECTIONS].clone();
            let (take, free, name) = (take.clone(), free.clone(), format!("{name}:raw:{n}"));
            move || {
                let (connection, take, free, name) =
                    (connection.clone(), take.clone(), free.clone(), name.clone());
                async move {
                    let taken = connection.lock().await.exec_drop(&*take, (&HOLDER[..], &name)).await;
                    taken.map_err(broken)?;
                    connection.lock().await.exec_drop(&*free, (&name, &HOLDER[..])).await.map_err(broken)
                }
            }
        };
        rate((0..tasks).map(pair), time, on).await
    }
}

/// The URL for the driver, without the options that only cotter knows, and the table of the locks. A comparison with TLS or over a
/// socket would be one of something else.
fn address(url: &str) -> Option<(String, String)> {
    let url = ServerUrl::of(url);
    if url.scheme != "mysql" || url.socket().is_some() || !url.is_plaintext() {
        return None;
    }
    let mut prefix = "cotter";
    for (key, value) in url.options() {
        match key {
            "prefix" => prefix = value,
            // The comparison has the default.
            "connections" => return None,
            _ => {}
        }
    }
    Some((format!("mysql:{}", url.rest), format!("`{prefix}_locks`")))
}

fn broken(error: mysql_async::Error) -> Failure {
    Failure::new(Exit::Unreachable, format!("the store failed: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_driver_gets_the_address_only() {
        let found = |url| address(url).map(|(url, table)| format!("{url} {table}"));
        let plain = "mysql://app:secret@localhost/jobs";
        assert_eq!(found(plain).unwrap(), format!("{plain} `cotter_locks`"));
        let url = "mariadb://app:secret@localhost/jobs?prefix=a&timeout=1s";
        assert_eq!(found(url).unwrap(), format!("{plain} `a_locks`"));
        let url = "mysql+pymysql://app:secret@localhost/jobs?ssl-mode=DISABLED&charset=utf8mb4";
        assert_eq!(found(url).unwrap(), format!("{plain} `cotter_locks`"));
        for other in [
            "postgres://app@localhost/jobs",
            "mysql://localhost/jobs?socket=/s",
            "mysql://localhost/jobs?unix_socket=/s",
            "mysql://db-1/jobs",
            "mysql://localhost/jobs?sslmode=verify-full",
            "mysql://localhost/jobs?connections=1",
            "memory:",
        ] {
            assert_eq!(found(other), None, "{other}");
        }
    }
}
