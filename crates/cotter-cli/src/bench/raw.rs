//! The same without cotter: what the store can do at best, and what people would use instead.

use super::measure::rate;
use super::scratch::Scratch;
use crate::bare_redis;
use crate::exit::Exit;
use crate::output::Failure;
use crate::store::Chosen;
use redis::aio::MultiplexedConnection;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;

/// As much as is written about a holder.
const HOLDER: usize = 200;

const DELETE: &str =
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

pub(super) enum Raw {
    /// A mutex of this process.
    Memory,
    /// `flock` on this file, and a line about the holder.
    File(PathBuf),
    /// `SET NX PX` and compare-and-delete.
    Redis { connection: MultiplexedConnection, name: String },
    /// Nothing that would be a fair comparison.
    None,
}

/// What is beside a figure.
#[derive(Debug, Clone, Copy)]
pub(super) struct Beside {
    pub(super) what: &'static str,
    pub(super) per_second: f64,
}

impl Raw {
    pub(super) async fn of(store: &Chosen, scratch: &Scratch) -> Result<Self, Failure> {
        if let Some(path) = scratch.file() {
            return Ok(Self::File(path));
        }
        if !scratch.is_shared() {
            return Ok(Self::Memory);
        }
        let connection = bare_redis::connect(store).await?;
        Ok(connection.map_or(Self::None, |connection| Self::Redis { connection, name: scratch.name(0) }))
    }

    /// Pairs a second of so many tasks, each with a name of its own.
    pub(super) async fn pairs(&self, tasks: u32, time: Duration) -> Result<Option<Beside>, Failure> {
        let (what, per_second) = match self {
            Self::Memory => ("a mutex of the program", by_mutex(tasks, false, time).await?),
            Self::File(path) => ("open, flock, write and close", by_flock(path, time).await?),
            Self::Redis { connection, name } => {
                ("SET NX PX and compare-and-delete", by_redis(connection, name, tasks, time).await?)
            }
            Self::None => return Ok(None),
        };
        Ok(Some(Beside { what, per_second }))
    }

    /// The same with one name for all: only where there is a queue to compare with.
    pub(super) async fn one_name(&self, tasks: u32, time: Duration) -> Option<Beside> {
        let per_second = match self {
            Self::Memory => by_mutex(tasks, true, time).await.ok()?,
            _ => return None,
        };
        Some(Beside { what: "a mutex of the program", per_second })
    }
}

async fn by_mutex(tasks: u32, one: bool, time: Duration) -> Result<f64, Failure> {
    let shared = Arc::new(Mutex::new(()));
    let mutexes = (0..tasks).map(|_| if one { shared.clone() } else { Arc::default() });
    let pair = |mutex: Arc<Mutex<()>>| {
        move || {
            let mutex = mutex.clone();
            async move {
                drop(mutex.lock_owned().await);
                Ok(())
            }
        }
    };
    rate(mutexes.map(pair), time).await
}

async fn by_flock(path: &Path, time: Duration) -> Result<f64, Failure> {
    let path = path.to_owned();
    let pair = move || {
        let done = once(&path).map_err(|e| Failure::new(Exit::Unreachable, format!("flock failed: {e}")));
        async move { done }
    };
    rate(std::iter::once(pair), time).await
}

fn once(path: &Path) -> rustix::io::Result<()> {
    let file = open(path, OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR)?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    write(&file, &[b' '; HOLDER])?;
    flock(&file, FlockOperation::Unlock)
}

async fn by_redis(
    connection: &MultiplexedConnection,
    name: &str,
    tasks: u32,
    time: Duration,
) -> Result<f64, Failure> {
    let broken =
        |e: redis::RedisError| Failure::new(Exit::Unreachable, format!("the store did not do it: {e}"));
    let script = Arc::new(redis::Script::new(DELETE));
    let pair = |n: u32| {
        let (connection, script, key) = (connection.clone(), script.clone(), format!("{name}:raw:{n}"));
        move || {
            let (mut connection, script, key) = (connection.clone(), script.clone(), key.clone());
            async move {
                let mut set = redis::cmd("SET");
                set.arg(&key).arg("bench").arg("NX").arg("PX").arg(30_000);
                let () = set.query_async(&mut connection).await.map_err(broken)?;
                script.key(&key).arg("bench").invoke_async::<()>(&mut connection).await.map_err(broken)
            }
        }
    };
    rate((0..tasks).map(pair), time).await
}
