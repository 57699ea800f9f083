//! The type that every operation of the public API returns.

use crate::engine::{Engine, block_on, may_block};
use crate::{Error, ErrorKind, Result};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// An operation: await it, spawn it, or [`wait`](Self::wait) for it on a thread.
///
/// It is owned, so it can be stored or spawned, and lazy: nothing happens before it is polled. A dropped acquisition is
/// undone in the background; a dropped release is carried out, polled or not.
///
/// ```
/// # use cotter::Client;
/// # fn main() -> cotter::Result<()> {
/// // On a thread without a runtime:
/// let client = Client::connect("memory:").wait()?;
/// let locking = client.mutex("orders").lock(); // nothing has happened yet
///
/// // In a runtime, also as a task of its own:
/// let runtime = tokio::runtime::Runtime::new().unwrap();
/// let guard = runtime.block_on(async { tokio::spawn(locking).await.unwrap() })?;
/// guard.finish().wait()?;
/// # Ok(()) }
/// ```
#[must_use = "an operation does nothing until it is awaited or waited for"]
pub struct Op<T> {
    future: Pin<Box<dyn Future<Output = Result<T>> + Send>>,
    engine: Option<Arc<Engine>>,
}

impl<T> Op<T> {
    pub(crate) fn new(
        engine: &Arc<Engine>,
        future: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Self {
        Self { future: Box::pin(future), engine: Some(engine.clone()) }
    }

    /// For operations that may have to start the engine themselves.
    pub(crate) fn detached(future: impl Future<Output = Result<T>> + Send + 'static) -> Self {
        Self { future: Box::pin(future), engine: None }
    }

    /// Blocks this thread until the operation is done. For threads without a runtime, including those of
    /// `spawn_blocking` and `block_in_place`.
    ///
    /// # Errors
    /// Those of the operation; [`ErrorKind::Misuse`] in an async task, where blocking would stop its executor (as far as
    /// that can be detected: tokio tasks, except those in `unconstrained`).
    pub fn wait(self) -> Result<T> {
        let engine = match &self.engine {
            Some(engine) => engine.clone(),
            None => Engine::process()?,
        };
        wait_for(&engine, self)
    }
}

/// Blocks this thread until the work of an engine is done.
pub(crate) fn wait_for<T>(engine: &Engine, work: impl Future<Output = Result<T>>) -> Result<T> {
    if !may_block() {
        let why =
            "waiting would block the executor of this async task; await the operation, or use spawn_blocking";
        return Err(Error::new(ErrorKind::Misuse, why));
    }
    let _entered = engine.enter();
    block_on(work)
}

impl<T> Future for Op<T> {
    type Output = Result<T>;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.future.as_mut().poll(cx)
    }
}

impl<T> fmt::Debug for Op<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Op").finish_non_exhaustive()
    }
}
