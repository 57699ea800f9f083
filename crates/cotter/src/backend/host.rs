//! The environment of a connection.

use crate::Clock;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use tokio::runtime::Handle;

/// The environment of a connection: its clock, and a place for tasks that must outlive the caller's runtime.
///
/// A client connects once for its engine and, if [`per_runtime`](super::Capabilities::per_runtime) is set, once more
/// for each runtime that makes calls. Tasks that a whole client depends on (keeping a session alive, reading a wake-up
/// channel, watching its own entries) belong to the engine: run them with [`spawn`](Self::spawn), whichever connection
/// needs them first.
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

    /// Returns a host for the same client in another runtime.
    pub(crate) fn elsewhere(&self) -> Self {
        Self { is_engine: false, ..self.clone() }
    }

    /// Creates a host without an engine, for tests of a backend: tasks run in the calling runtime, for as long as it
    /// lives.
    ///
    /// # Panics
    /// [`spawn`](Self::spawn) panics outside a tokio runtime.
    pub fn without_engine(clock: Arc<dyn Clock>) -> Self {
        Self { clock, is_engine: true, tasks: Arc::new(Current) }
    }

    /// Returns the clock that deadlines are measured on.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Returns true if this is the client's own connection. False: the connection belongs to one of the user's runtimes
    /// and ends with it, while the client continues.
    pub fn is_engine(&self) -> bool {
        self.is_engine
    }

    /// Runs a task on the engine until it completes or the client ends. After
    /// [`Backend::close`](super::Backend::close) has returned, [`Client::close`](crate::Client::close) waits for the
    /// task for the rest of the grace period and then aborts it; dropping the client aborts it at once. A test clock
    /// waits for the task to be idle.
    ///
    /// A task that sleeps until its next sign of life delays `close` by as much: let it also wait for something that
    /// [`Backend::close`](super::Backend::close) ends, such as the sender of a channel. Hold the backend by a
    /// [`Weak`](std::sync::Weak), or it lives as long as the task.
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
