//! Which connection carries a request: what ends in one round trip goes out from the caller's own task.

use super::core::Core;
use crate::backend::{Backend, Connect};
use crate::{Error, ErrorKind, Result};
use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tokio::runtime::{Handle, Id};
use tokio::sync::OnceCell;

/// One connection per runtime that calls, for stores whose driver lives in a runtime.
pub(crate) struct Connections {
    store: Arc<dyn Connect>,
    by_runtime: Mutex<Vec<Entry>>,
}

struct Entry {
    runtime: Id,
    backend: Arc<OnceCell<Arc<dyn Backend>>>,
}

/// Connections that are kept; a runtime that has ended cannot be told from an idle one.
const MOST: usize = 16;

/// Where a request of the calling task goes out.
pub(crate) enum Here {
    /// From this task, over this connection.
    Inline(Arc<dyn Backend>),
    /// From the engine: no runtime that could drive it is around.
    Engine,
}

/// The connection that carried a request, once that is known: what it left behind is undone there.
pub(crate) type Carrier = Arc<OnceLock<Arc<dyn Backend>>>;

impl Connections {
    pub(crate) fn new(store: Arc<dyn Connect>) -> Self {
        Self { store, by_runtime: Mutex::default() }
    }

    /// The place of this runtime's connection; the ones longest unused make room.
    fn entry(&self, runtime: Id) -> (Arc<OnceCell<Arc<dyn Backend>>>, Option<Entry>) {
        let mut entries = self.by_runtime.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = entries.last().filter(|e| e.runtime == runtime) {
            return (last.backend.clone(), None);
        }
        let at = entries.iter().position(|e| e.runtime == runtime);
        let entry = match at {
            Some(at) => entries.remove(at),
            None => Entry { runtime, backend: Arc::default() },
        };
        let backend = entry.backend.clone();
        entries.push(entry);
        let surplus = (entries.len() > MOST).then(|| entries.remove(0));
        (backend, surplus)
    }

    pub(crate) fn drain(&self) -> Vec<Arc<dyn Backend>> {
        let mut entries = self.by_runtime.lock().unwrap_or_else(PoisonError::into_inner);
        entries.drain(..).filter_map(|e| e.backend.get().cloned()).collect()
    }
}

impl Core {
    /// The connection for requests of the calling task; it is made at the first call from a runtime.
    pub(crate) async fn here(&self) -> Result<Here> {
        let capabilities = &self.backend.info().capabilities;
        if capabilities.immediate {
            return Ok(Here::Inline(self.backend.clone()));
        }
        let Ok(runtime) = Handle::try_current() else { return Ok(Here::Engine) };
        if runtime.id() == self.engine.runtime() {
            return Ok(Here::Inline(self.backend.clone()));
        }
        if !capabilities.per_runtime {
            return Ok(Here::Engine);
        }
        let (cell, surplus) = self.connections.entry(runtime.id());
        if let Some(old) = surplus.and_then(|e| e.backend.get().cloned()) {
            self.engine.spawn(async move { old.close().await });
        }
        let backend = cell.get_or_try_init(|| self.connections.store.connect(self.clock())).await?;
        Ok(Here::Inline(backend.clone()))
    }

    /// Does something that asks the store where the engine's connection is driven.
    pub(crate) async fn on_engine<T, F>(&self, work: F) -> Result<T>
    where
        F: Future<Output = Result<T>> + Send + 'static,
        T: Send + 'static,
    {
        let home = Handle::try_current().is_ok_and(|h| h.id() == self.engine.runtime());
        if self.is_immediate() || home {
            return work.await;
        }
        self.engine.spawn(work).await.unwrap_or_else(|e| Err(crashed(&e)))
    }
}

/// A task of the engine that did not end well.
pub(crate) fn crashed(e: &tokio::task::JoinError) -> Error {
    Error::new(ErrorKind::Unavailable, format!("a task of the engine ended early: {e}"))
        .with_outcome_unknown()
}

impl fmt::Debug for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connections").field("store", &self.store).finish_non_exhaustive()
    }
}
