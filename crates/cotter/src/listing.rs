//! A listing of the locks in a store.

use crate::backend::{Filter, Record};
use crate::engine::Core;
use crate::{Name, Result};
use std::collections::VecDeque;
use std::sync::Arc;

/// A listing, read page by page. Names that come or go meanwhile may be missed.
#[derive(Debug)]
pub struct Records {
    core: Arc<Core>,
    filter: Filter,
    page: VecDeque<Record>,
    after: Option<Name>,
    done: bool,
}

impl Records {
    pub(crate) fn new(core: Arc<Core>, filter: Filter) -> Self {
        Self { core, filter, page: VecDeque::new(), after: None, done: false }
    }

    /// The next record; `None` at the end. Cancel safe: a dropped call loses no record.
    ///
    /// # Errors
    /// The store did not answer, or cannot list.
    pub async fn next(&mut self) -> Result<Option<Record>> {
        loop {
            if let Some(record) = self.page.pop_front() {
                return Ok(Some(record));
            }
            if self.done {
                return Ok(None);
            }
            self.core.usable()?;
            let (asked, filter, after) = (self.core.clone(), self.filter.clone(), self.after.clone());
            let list = async move { asked.admin()?.list(&filter, after.as_ref()).await };
            let page = self.core.on_engine(list).await?;
            self.done = !page.more || page.records.is_empty();
            self.after = page.records.last().map(|r| r.name.clone());
            self.page = page.records.into();
        }
    }
}
