//! Where a connection lives.

use crate::Clock;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use tokio::runtime::Handle;

/// Where a connection lives: its time, and a place for tasks that have to outlive the caller's runtime.
///
/// A client connects once for its engine, and where [`per_runtime`](super::Capabilities::per_runtime) is set once more for
/// each runtime that calls. What a whole client depends on (a session's keeper, a wake-up channel, a watch on its own
/// entries) belongs to the engine: put it there with [`spawn`](Self::spawn), whichever connection needs it first.
#[derive(Clone)]
pub struct Host {
    clock: Arc<dyn Clock>,
    is_engine: bool,
    tasks: Arc<dyn Spawn>,
}

/// Runs the tasks of one client on its engine.
pub(crate) trait Spawn: Send + Sync {
    fn spawn(&self, task: Pin<Box<dyn Future<Output = ()> + Send>>);
}

impl Host {
    pub(crate) fn engine(clock: Arc<dyn Clock>, tasks: Arc<dyn Spawn>) -> Self {
        Self { clock, is_engine: true, tasks }
    }

    /// The same client, seen from another runtime.
    pub(crate) fn elsewhere(&self) -> Self {
        Self { is_engine: false, ..self.clone() }
    }

    /// A host without an engine, for tests of a backend: tasks run in the runtime that calls, for as long as it lives.
    ///
    /// # Panics
    /// [`spawn`](Self::spawn) panics outside a tokio runtime.
    pub fn without_engine(clock: Arc<dyn Clock>) -> Self {
        Self { clock, is_engine: true, tasks: Arc::new(Current) }
    }

    /// The clock that deadlines are kept on.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Whether this is the client's own connection. False: it belongs to one of the user's runtimes and ends with it, while
    /// the client goes on.
    pub fn is_engine(&self) -> bool {
        self.is_engine
    }

    /// Runs a task on the engine until it completes or the client ends. [`Client::close`](crate::Client::close) waits for
    /// it after [`Backend::close`](super::Backend::close) has returned, for what is left of the grace, and then aborts it;
    /// a client that is dropped aborts it at once. A test clock waits for it to be idle.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(Box::pin(task));
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").field("is_engine", &self.is_engine).finish_non_exhaustive()
    }
}

struct Current;

impl Spawn for Current {
    fn spawn(&self, task: Pin<Box<dyn Future<Output = ()> + Send>>) {
        drop(Handle::current().spawn(task));
    }
}
