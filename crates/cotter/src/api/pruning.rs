//! Deleting what is left of names that nobody uses any more.

use crate::api::op::wait_for;
use crate::api::pages::Pages;
use crate::backend::{PruneOrder, Pruned};
use crate::engine::Core;
use crate::{Op, Result};
use std::sync::Arc;

/// The results of [`Admin::prune`](crate::Admin::prune): each name that has been unused for long enough, in no
/// particular order, and its outcome. Names are deleted as the results are requested.
///
/// ```
/// # use cotter::{Client, PruneOrder, PruneOutcome, file};
/// # use std::time::Duration;
/// # fn main() -> cotter::Result<()> {
/// # let private = tempfile::tempdir().unwrap();
/// # let client = Client::builder().connect_to(file::Store::at(private.path().join("locks"))).wait()?;
/// # client.mutex("deploy-1a2b3c").lock().wait()?.finish().wait()?;
/// let order = PruneOrder::unused_for(Duration::from_secs(30 * 24 * 3600)).prefix("deploy-");
/// let mut pruning = client.admin().prune(order);
/// while let Some(pruned) = pruning.blocking_next()? {
///     if pruned.outcome != PruneOutcome::Deleted {
///         println!("{}: {}", pruned.name, pruned.outcome);
///     }
/// }
/// # Ok(()) }
/// ```
#[must_use = "nothing is deleted until the answers are asked for"]
#[derive(Debug)]
pub struct Pruning {
    pages: Pages<Pruned>,
    order: PruneOrder,
}

impl Pruning {
    pub(crate) fn new(core: Arc<Core>, order: PruneOrder) -> Self {
        Self { pages: Pages::new(core), order }
    }

    /// Returns all remaining results. They are kept in memory; for a store with very many names, prefer
    /// [`next`](Self::next).
    ///
    /// Cancel safety: as for [`next`](Self::next).
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub fn collect(mut self) -> Op<Vec<Pruned>> {
        let engine = self.pages.core.engine.clone();
        Op::new(&engine, async move {
            let mut all = Vec::new();
            while let Some(pruned) = self.next().await? {
                all.push(pruned);
            }
            Ok(all)
        })
    }

    /// Returns the next result, for threads without a runtime; see [`Op::wait`].
    ///
    /// # Errors
    /// As [`next`](Self::next); [`ErrorKind::Misuse`](crate::ErrorKind::Misuse) in an async task.
    pub fn blocking_next(&mut self) -> Result<Option<Pruned>> {
        let engine = self.pages.core.engine.clone();
        wait_for(&engine, self.next())
    }

    /// Returns the next result; `None` at the end. Several names are deleted at a time.
    ///
    /// Cancel safety: a dropped call may have deleted names that are then never reported.
    ///
    /// # Errors
    /// [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable) if the store did not answer: some names may have been
    /// deleted, and the next call continues. [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) on every store
    /// but [`file:`](crate::file): the others delete unused names by themselves, or keep nothing of them.
    pub async fn next(&mut self) -> Result<Option<Pruned>> {
        let order = &self.order;
        self.pages
            .next(|core, from| {
                let order = order.clone();
                async move {
                    let page = core.admin()?.prune(&order, from.as_ref()).await?;
                    Ok((page.names, page.next))
                }
            })
            .await
    }
}
