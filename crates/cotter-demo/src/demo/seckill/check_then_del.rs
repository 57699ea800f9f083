//! A lock with the classic mistake in its release: GET to check that it is still ours, then DEL. The lease may end between
//! the two, and then DEL releases the lock of the next holder. Never use this except to demonstrate the mistake.

use crate::bare_redis;
use crate::store::Store;
use cotter::Name;
use cotter_console::{Exit, Failure};
use redis::aio::MultiplexedConnection;
use std::time::{Duration, Instant};
use tokio::time::sleep;

#[derive(Clone)]
pub(super) struct CheckThenDel {
    connection: MultiplexedConnection,
    name: String,
    lease: Duration,
}

/// A lock that is or was held.
pub(super) struct ShortLock {
    lock: CheckThenDel,
    value: String,
    end: Instant,
}

impl CheckThenDel {
    pub(super) async fn open(name: &Name, lease: Duration, store: &dyn Store) -> Result<Self, Failure> {
        let connection = bare_redis::connect(store).await?.ok_or_else(|| {
            Failure::usage(
                "--lock check-then-del demonstrates a mistake on Redis: use a redis:// or unix: store",
            )
        })?;
        Ok(Self { connection, name: name.to_string(), lease })
    }

    pub(super) async fn acquire(&self, buyer: u32) -> Result<ShortLock, Failure> {
        let value = format!("{}-{buyer}", std::process::id());
        let mut set = redis::cmd("SET");
        let millis = u64::try_from(self.lease.as_millis()).unwrap_or(u64::MAX).max(1);
        set.arg(&self.name).arg(&value).arg("NX").arg("PX").arg(millis);
        loop {
            let end = Instant::now() + self.lease;
            let got: Option<String> = set.query_async(&mut self.connection.clone()).await.map_err(broken)?;
            if got.is_some() {
                return Ok(ShortLock { lock: self.clone(), value, end });
            }
            sleep(self.lease / 20).await;
        }
    }
}

impl ShortLock {
    pub(super) fn is_late(&self) -> bool {
        Instant::now() >= self.end
    }

    /// Releases with a pause between the two commands, as on a busy host or a slow network, but long enough to be seen.
    pub(super) async fn release(mut self) -> Result<Option<u32>, Failure> {
        let lock = &mut self.lock;
        let found: Option<String> =
            redis::cmd("GET").arg(&lock.name).query_async(&mut lock.connection).await.map_err(broken)?;
        if found.as_ref() != Some(&self.value) {
            return Ok(None);
        }
        sleep(lock.lease.mul_f64(0.9)).await;
        // The GET here is no part of the mistake: in one step with DEL it tells what was deleted.
        let mut delete = redis::pipe();
        delete.atomic().cmd("GET").arg(&lock.name).cmd("DEL").arg(&lock.name).ignore();
        let (deleted,): (Option<String>,) = delete.query_async(&mut lock.connection).await.map_err(broken)?;
        Ok(deleted.filter(|value| *value != self.value).and_then(|value| buyer(&value)))
    }
}

fn buyer(value: &str) -> Option<u32> {
    value.rsplit_once('-')?.1.parse().ok()
}

fn broken(error: redis::RedisError) -> Failure {
    Failure::new(Exit::Unreachable, format!("the store failed: {error}"))
}
