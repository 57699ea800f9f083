//! Clients that connect when they are first asked for.

use crate::backend::Connect;
use crate::{Builder, Client, Op};
use std::fmt;
use std::sync::Arc;
use tokio::sync::OnceCell;

/// A client that connects when it is first asked for, from [`Builder::connect_lazy`] or [`Builder::connect_lazy_to`]. Cheap to
/// clone; all clones share one client.
///
/// A service that keeps one of these starts while its store is away, and answers those of its requests that need no lock.
///
/// ```
/// # fn main() -> cotter::Result<()> {
/// let locks = cotter::Client::builder().connect_lazy("memory:")?;
/// // In a handler: fails only while the store is away.
/// let guard = locks.get().wait()?.mutex("order:7").lock().wait()?;
/// # guard.finish().wait() }
/// ```
#[derive(Clone)]
pub struct LazyClient(Arc<Inner>);

struct Inner {
    builder: Builder,
    store: Arc<dyn Connect>,
    client: OnceCell<Client>,
}

impl LazyClient {
    pub(crate) fn new(builder: Builder, store: Arc<dyn Connect>) -> Self {
        Self(Arc::new(Inner { builder, store, client: OnceCell::new() }))
    }

    /// Returns the client, and connects first unless that was done. Calls at the same time share one attempt if it succeeds; after
    /// a failure, the next call tries again. [`Builder::retry_connect`] applies to each call.
    ///
    /// Cancel safety: a dropped call leaves nothing behind.
    ///
    /// # Errors
    /// As [`Builder::connect`].
    pub fn get(&self) -> Op<Client> {
        let inner = self.0.clone();
        Op::detached(async move {
            let connect = || inner.builder.clone().connect_to(inner.store.clone());
            inner.client.get_or_try_init(connect).await.cloned()
        })
    }
}

impl fmt::Debug for LazyClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LazyClient")
            .field("is_connected", &self.0.client.initialized())
            .finish_non_exhaustive()
    }
}
