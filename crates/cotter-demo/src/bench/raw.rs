//! The same work without cotter: the upper limit of the store, and what people would use instead.

use super::measure::rate;
#[cfg(feature = "mysql")]
use super::mysql;
#[cfg(feature = "redis")]
use super::redis;
use super::scratch::Scratch;
use super::sqlite;
use crate::store::Store;
use cotter_console::{Exit, Failure};
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::Mutex;

/// The size of what cotter writes about a holder into a file.
const HOLDER_BYTES: usize = 200;
/// As much as cotter writes about a holder into a row.
pub(super) const HOLDER: [u8; 180] = [b' '; 180];

pub(super) enum Raw {
    /// A mutex of this process.
    Memory,
    /// `flock` on this file, and writing a line about the holder.
    File(PathBuf),
    /// `SET NX PX` and compare-and-delete.
    #[cfg(feature = "redis")]
    Redis { connection: redis::Connection, name: String },
    /// Taking and freeing a row.
    #[cfg(feature = "mysql")]
    Mysql { statements: mysql::Statements, name: String },
    /// Taking and freeing a row of a database at this path, each in a transaction.
    Sqlite(PathBuf),
    /// No fair comparison.
    None,
}

impl Raw {
    /// The comparison for a store, with tasks on a runtime.
    #[cfg_attr(not(any(feature = "mysql", feature = "redis")), allow(unused_variables, clippy::unused_async))]
    pub(super) async fn of(store: &dyn Store, scratch: &Scratch, on: &Handle) -> Result<Self, Failure> {
        if let Some(path) = scratch.file() {
            return Ok(if scratch.is_database() { Self::Sqlite(path) } else { Self::File(path) });
        }
        if !scratch.is_shared() {
            return Ok(Self::Memory);
        }
        // The connection's driver runs in the current runtime.
        let _there = on.enter();
        #[cfg(feature = "mysql")]
        if let Some(statements) = mysql::Statements::of(store).await? {
            return Ok(Self::Mysql { statements, name: scratch.name(0) });
        }
        #[cfg(feature = "redis")]
        if let Some(connection) = redis::connect(store).await? {
            return Ok(Self::Redis { connection, name: scratch.name(0) });
        }
        Ok(Self::None)
    }

    /// The name of the comparison; `None` if there is none.
    pub(super) fn what(&self) -> Option<&'static str> {
        match self {
            Self::Memory => Some("an in-process mutex"),
            Self::File(_) => Some("open, flock, write and close"),
            #[cfg(feature = "redis")]
            Self::Redis { .. } => Some("SET NX PX and compare-and-delete"),
            #[cfg(feature = "mysql")]
            Self::Mysql { .. } => Some("two statements on a row"),
            Self::Sqlite(_) => Some("two transactions on a row"),
            Self::None => None,
        }
    }

    /// Pairs of lock and release per second of a number of tasks, each with its own name.
    pub(super) async fn pairs(&self, tasks: u32, time: Duration, on: &Handle) -> Result<f64, Failure> {
        match self {
            Self::Memory => by_mutex(tasks, false, time, on).await,
            Self::File(path) => by_flock(path, time, on).await,
            #[cfg(feature = "redis")]
            Self::Redis { connection, name } => redis::pairs(connection, name, tasks, time, on).await,
            #[cfg(feature = "mysql")]
            Self::Mysql { statements, name } => statements.pairs(name, tasks, time, on).await,
            Self::Sqlite(path) => sqlite::pairs(path, tasks, time, on).await,
            Self::None => Ok(0.0),
        }
    }

    /// The same with one name for all; only if there is a queue to compare with.
    pub(super) async fn one_name(
        &self,
        tasks: u32,
        time: Duration,
        on: &Handle,
    ) -> Result<Option<f64>, Failure> {
        match self {
            Self::Memory => by_mutex(tasks, true, time, on).await.map(Some),
            _ => Ok(None),
        }
    }
}

async fn by_mutex(tasks: u32, one: bool, time: Duration, on: &Handle) -> Result<f64, Failure> {
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
    rate(mutexes.map(pair), time, on).await
}

async fn by_flock(path: &Path, time: Duration, on: &Handle) -> Result<f64, Failure> {
    let path = path.to_owned();
    let pair = move || {
        let done = once(&path).map_err(|e| Failure::new(Exit::Unreachable, format!("flock failed: {e}")));
        async move { done }
    };
    rate(std::iter::once(pair), time, on).await
}

fn once(path: &Path) -> rustix::io::Result<()> {
    let file = open(path, OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR)?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    write(&file, &[b' '; HOLDER_BYTES])?;
    flock(&file, FlockOperation::Unlock)
}
