//! The same without cotter.

use cotter_testkit::servers::Mariadb;
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Opts, OptsBuilder};
use std::sync::Arc;
use tokio::sync::Mutex;

/// What is done, in statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pair {
    Updates,
    GetLock,
    ForUpdate,
}

/// A connection of the driver's own, which nobody else uses.
pub(super) struct Session {
    conn: Mutex<Conn>,
    pair: Pair,
    key: usize,
}

impl Session {
    pub(super) async fn open(server: &Mariadb, pair: Pair, many: usize) -> Arc<Vec<Self>> {
        let opts = Opts::from_url(server.url("").trim_end_matches('?')).unwrap();
        let opts: Opts = OptsBuilder::from_opts(opts).prefer_socket(false).into();
        let mut sessions = Vec::new();
        for key in 0..many {
            let conn = Mutex::new(Conn::new(opts.clone()).await.unwrap());
            sessions.push(Self { conn, pair, key });
        }
        Arc::new(sessions)
    }

    /// Prepared by the driver, but for those without values.
    pub(super) async fn pair(&self) {
        let (mut conn, key) = (self.conn.lock().await, self.key);
        match self.pair {
            Pair::Updates => {
                let [take, free] = [1, 0].map(|holder| {
                    format!("UPDATE raw_row SET holder = {holder} WHERE id = ? AND holder = {}", 1 - holder)
                });
                conn.exec_drop(take, (key,)).await.unwrap();
                conn.exec_drop(free, (key,)).await.unwrap();
            }
            Pair::GetLock => {
                let name = format!("raw {key}");
                let taken: Option<u8> = conn.exec_first("SELECT GET_LOCK(?, 0)", (&name,)).await.unwrap();
                let freed: Option<u8> = conn.exec_first("SELECT RELEASE_LOCK(?)", (&name,)).await.unwrap();
                assert_eq!((taken, freed), (Some(1), Some(1)));
            }
            Pair::ForUpdate => {
                conn.query_drop("BEGIN").await.unwrap();
                let lock = "SELECT id FROM raw_row WHERE id = ? FOR UPDATE NOWAIT";
                let row: Option<u64> = conn.exec_first(lock, (key,)).await.unwrap();
                assert!(row.is_some(), "it is there");
                conn.query_drop("ROLLBACK").await.unwrap();
            }
        }
    }
}
