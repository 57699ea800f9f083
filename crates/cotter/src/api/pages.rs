//! Answers that come page by page.

use crate::Result;
use crate::backend::Cursor;
use crate::engine::Core;
use std::collections::VecDeque;
use std::sync::Arc;

/// The rest of the page that was read last, and the beginning of the next one.
#[derive(Debug)]
pub(crate) struct Pages<T> {
    pub(crate) core: Arc<Core>,
    page: VecDeque<T>,
    next: Option<Cursor>,
    done: bool,
}

impl<T: Send + 'static> Pages<T> {
    pub(crate) fn new(core: Arc<Core>) -> Self {
        Self { core, page: VecDeque::new(), next: None, done: false }
    }

    /// The next item; `None` at the end. A dropped call loses none of those that were read, and after an error the next
    /// call reads the same page.
    pub(crate) async fn next<F>(&mut self, read: impl Fn(Arc<Core>, Option<Cursor>) -> F) -> Result<Option<T>>
    where
        F: Future<Output = Result<(Vec<T>, Option<Cursor>)>> + Send + 'static,
    {
        loop {
            if let Some(item) = self.page.pop_front() {
                return Ok(Some(item));
            }
            if self.done {
                return Ok(None);
            }
            self.core.usable()?;
            let (items, next) = self.core.on_engine(read(self.core.clone(), self.next.clone())).await?;
            self.done = next.is_none();
            self.next = next;
            self.page = items.into();
        }
    }
}
