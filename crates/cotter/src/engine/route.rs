//! Choice of the connection for a request: a single round trip is sent from the caller's own task if its runtime has a
//! connection, otherwise over the engine's.

use crate::backend::{Backend, Connect, Host};
use crate::engine::core::{Core, closed};
use crate::engine::runtimes::Entry;
use crate::engine::timing::LAST_LOOK;
use crate::{Error, ErrorKind, Moment, Result};
use std::fmt;
use std::future::Future;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use tokio::runtime::{Handle, Id};
use tokio::task::JoinHandle;

/// One connection per calling runtime, for stores whose driver lives in a runtime.
pub(crate) struct Connections {
    store: Arc<dyn Connect>,
    host: Host,
    by_runtime: Arc<Runtimes>,
}

/// The runtimes that have made calls and have not ended since.
pub(super) type Runtimes = RwLock<Vec<Arc<Entry>>>;

/// The maximum number of runtimes without a connection that are remembered.
const STRANGERS: usize = 32;

/// The place where a request of the calling task is sent.
pub(crate) enum Here {
    /// Sent from this task, over this connection.
    Inline(Arc<dyn Backend>),
    /// Sent from the engine: the current runtime has no connection, or there is no runtime.
    Engine,
}

/// The connection that carried a request, once known: anything that the request left behind is undone there.
pub(crate) type Carrier = Arc<OnceLock<Arc<dyn Backend>>>;

impl Connections {
    pub(crate) fn new(store: Arc<dyn Connect>, host: Host) -> Self {
        Self { store, host, by_runtime: Arc::default() }
    }

    /// Returns the connection of this runtime. Never waits: while it is being made, requests go over the engine's.
    fn of(&self, runtime: &Handle) -> Option<Arc<dyn Backend>> {
        let entry = self.entry(runtime.id());
        let backend = entry.backend();
        if backend.is_none() && entry.wants_one(self.host.clock().now()) {
            Entry::connect(&entry, &self.by_runtime, runtime, &self.store, &self.host);
        }
        backend
    }

    fn entry(&self, runtime: Id) -> Arc<Entry> {
        let known = |entries: &[Arc<Entry>]| entries.iter().find(|e| e.is_of(runtime)).cloned();
        let read = self.by_runtime.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = known(&read) {
            return entry;
        }
        drop(read);
        let mut entries = self.by_runtime.write().unwrap_or_else(PoisonError::into_inner);
        known(&entries).unwrap_or_else(|| {
            // The end of runtimes without a connection goes unnoticed, so the oldest of them make room.
            let without = entries.iter().filter(|e| !e.is_tied()).count();
            if without >= STRANGERS {
                let oldest = entries.iter().position(|e| !e.is_tied());
                oldest.map(|at| entries.remove(at));
            }
            let entry = Arc::new(Entry::new(runtime));
            entries.push(entry.clone());
            entry
        })
    }

    pub(crate) fn drain(&self) -> Vec<Arc<dyn Backend>> {
        let mut entries = self.by_runtime.write().unwrap_or_else(PoisonError::into_inner);
        entries.drain(..).filter_map(|e| e.backend()).collect()
    }
}

impl Core {
    /// Returns the route for requests of the calling task.
    pub(crate) fn here(&self) -> Here {
        let capabilities = &self.backend.info().capabilities;
        if capabilities.immediate {
            return Here::Inline(self.backend.clone());
        }
        let Ok(runtime) = Handle::try_current() else { return Here::Engine };
        if runtime.id() == self.engine.runtime() {
            return Here::Inline(self.backend.clone());
        }
        if !capabilities.per_runtime {
            return Here::Engine;
        }
        self.connections.of(&runtime).map_or(Here::Engine, Here::Inline)
    }

    /// Runs work that asks the store where the engine's connection is driven.
    pub(crate) async fn on_engine<T, F>(&self, work: F) -> Result<T>
    where
        F: Future<Output = Result<T>> + Send + 'static,
        T: Send + 'static,
    {
        let home = Handle::try_current().is_ok_and(|h| h.id() == self.engine.runtime());
        let done = match self.is_immediate() || home {
            true => work.await,
            false => self.engine.spawn(work).await.unwrap_or_else(|e| Err(crashed(&e))),
        };
        done.map_err(|e| self.at_the_server(e))
    }

    /// Runs a wait on the engine. Unlike other work, it ends when its caller is dropped, when the client is closed, and soon after
    /// `end`, even if the store does not answer.
    pub(crate) async fn wait_on_engine<T, F>(&self, waiting: F, end: Option<Moment>) -> Result<T>
    where
        F: Future<Output = Result<T>> + Send + 'static,
        T: Send + 'static,
    {
        let done = async {
            if self.is_immediate() {
                return waiting.await;
            }
            let mut running = EndedWithUs(self.engine.spawn(waiting));
            (&mut running.0).await.unwrap_or_else(|e| Err(crashed(&e)))
        };
        let over = async {
            match end {
                Some(end) => self.clock().sleep_until(end + LAST_LOOK).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.closing() => Err(closed()),
            done = done => done.map_err(|e| self.at_the_server(e)),
            () = over => Err(self.silence()),
        }
    }
}

/// A task of the engine that nobody else waits for.
struct EndedWithUs<T>(JoinHandle<T>);

impl<T> Drop for EndedWithUs<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The error for an engine task that ended abnormally.
pub(crate) fn crashed(e: &tokio::task::JoinError) -> Error {
    Error::new(ErrorKind::Unavailable, format!("a task of the engine ended early: {e}"))
        .with_outcome_unknown()
}

impl fmt::Debug for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connections").field("store", &self.store).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stores::memory;
    use tokio::runtime::Builder;

    #[test]
    fn runtimes_that_call_once_do_not_pile_up() {
        let host = Host::without_engine(Arc::new(crate::ManualClock::new()));
        let connections = Connections::new(Arc::new(memory::Store::new()), host);
        for _ in 0..500 {
            let runtime = Builder::new_current_thread().build().unwrap();
            let entry = connections.entry(runtime.handle().id());
            assert!(Arc::ptr_eq(&entry, &connections.entry(runtime.handle().id())));
        }
        assert_eq!(connections.by_runtime.read().unwrap().len(), STRANGERS);
    }
}
