//! `SET NX PX` and compare-and-delete, without cotter.

use super::measure::rate;
use cotter_console::{Exit, Failure};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;

pub(super) use crate::bare_redis::connect;
pub(super) use ::redis::aio::MultiplexedConnection as Connection;

const DELETE: &str =
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

/// Pairs of lock and release per second of a number of tasks, each with its own key.
pub(super) async fn pairs(
    connection: &Connection,
    name: &str,
    tasks: u32,
    time: Duration,
    on: &Handle,
) -> Result<f64, Failure> {
    let broken = |e: ::redis::RedisError| Failure::new(Exit::Unreachable, format!("the store failed: {e}"));
    let script = Arc::new(::redis::Script::new(DELETE));
    let pair = |n: u32| {
        let (connection, script, key) = (connection.clone(), script.clone(), format!("{name}:raw:{n}"));
        move || {
            let (mut connection, script, key) = (connection.clone(), script.clone(), key.clone());
            async move {
                let mut set = ::redis::cmd("SET");
                set.arg(&key).arg("bench").arg("NX").arg("PX").arg(30_000);
                let () = set.query_async(&mut connection).await.map_err(broken)?;
                script.key(&key).arg("bench").invoke_async::<()>(&mut connection).await.map_err(broken)
            }
        }
    };
    rate((0..tasks).map(pair), time, on).await
}
