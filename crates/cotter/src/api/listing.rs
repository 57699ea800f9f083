//! A listing of the locks in a store.

use crate::api::op::wait_for;
use crate::api::pages::Pages;
use crate::backend::{Filter, Record};
use crate::engine::Core;
use crate::{Op, Result};
use std::sync::{Arc, OnceLock};

/// A listing of locks, read page by page, in no particular order. Names that appear or disappear during the listing may
/// be missed or listed twice.
///
/// ```
/// # use cotter::{Client, Filter};
/// # fn main() -> cotter::Result<()> {
/// # let client = Client::connect("memory:").wait()?;
/// # let _guard = client.mutex("jobs:nightly").lock().wait()?;
/// let mut records = client.admin().list(Filter::prefix("jobs:"));
/// while let Some(record) = records.blocking_next()? {
///     for holder in record.holders {
///         println!("{} is held by {} with token {}", record.name, holder.label, holder.token);
///     }
/// }
/// # Ok(()) }
/// ```
#[must_use = "a listing reads nothing until its records are asked for"]
#[derive(Debug)]
pub struct Records {
    pages: Pages<Record>,
    filter: Filter,
    /// From the first page that had one.
    caution: Arc<OnceLock<String>>,
}

impl Records {
    pub(crate) fn new(core: Arc<Core>, filter: Filter) -> Self {
        Self { pages: Pages::new(core), filter, caution: Arc::default() }
    }

    /// Returns all remaining records. They are kept in memory; for a store with very many names, prefer
    /// [`next`](Self::next).
    ///
    /// Cancel safety: a dropped call reads nothing more.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub fn collect(mut self) -> Op<Vec<Record>> {
        let engine = self.pages.core.engine.clone();
        Op::new(&engine, async move {
            let mut all = Vec::new();
            while let Some(record) = self.next().await? {
                all.push(record);
            }
            Ok(all)
        })
    }

    /// Returns the next record, for threads without a runtime; see [`Op::wait`].
    ///
    /// # Errors
    /// As [`next`](Self::next); [`ErrorKind::Misuse`](crate::ErrorKind::Misuse) in an async task.
    pub fn blocking_next(&mut self) -> Result<Option<Record>> {
        let engine = self.pages.core.engine.clone();
        wait_for(&engine, self.next())
    }

    /// Returns the next record; `None` at the end.
    ///
    /// Cancel safe: a dropped call loses no record.
    ///
    /// # Errors
    /// [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable) if the store did not answer: the next call tries again.
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) where the store cannot list.
    pub async fn next(&mut self) -> Result<Option<Record>> {
        let filter = &self.filter;
        self.pages
            .next(|core, from| {
                let (filter, caution) = (filter.clone(), self.caution.clone());
                async move {
                    let page = core.admin()?.list(&filter, from.as_ref()).await?;
                    if let Some(why) = page.caution {
                        caution.get_or_init(|| why);
                    }
                    Ok((page.records, page.next))
                }
            })
            .await
    }

    /// Returns why what was read so far may be out of date, if it may: a replica of a server was asked.
    pub fn caution(&self) -> Option<&str> {
        self.caution.get().map(String::as_str)
    }
}
