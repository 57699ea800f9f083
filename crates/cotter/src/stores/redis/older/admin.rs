//! Listing and evicting locks with the older protocols. The value of a key says little about its holder.

use super::backend::{Older, Steps};
use crate::backend::{Admin, Cursor, EvictOrder, Eviction, Filter, Finding, Page, Record};
use crate::stores::redis::{SCHEME, doctor};
use crate::{Error, ErrorKind, Name, Result};
use async_trait::async_trait;

#[async_trait]
impl<P: Steps> Admin for Older<P> {
    async fn list(&self, filter: &Filter, _: Option<&Cursor>) -> Result<Page> {
        let Some(name) = &filter.exact else { return Err(cannot_list(P::MODE)) };
        let mut record = Record::free(name.clone());
        record.holders.extend(self.steps.inspect(name).await?);
        let wanted = filter.free_too || !record.holders.is_empty();
        Ok(Page::new(wanted.then_some(record).into_iter().collect(), None))
    }

    async fn evict(&self, name: &Name, order: EvictOrder) -> Result<Eviction> {
        if order.token.is_some() {
            let why = format!("the server keeps no tokens in mode={}; evict without a token", P::MODE);
            return Err(Error::new(ErrorKind::Unsupported, why).with_backend(SCHEME));
        }
        self.steps.evict(name, order.now).await
    }

    async fn diagnose(&self) -> Result<Vec<Finding>> {
        doctor::diagnose(self.steps.link(), &self.steps.shared().options).await
    }
}

fn cannot_list(mode: &str) -> Error {
    let why = format!(
        "listing all locks is more than mode={mode} can do, because any key of the server may be a lock; show one by its \
         name"
    );
    Error::new(ErrorKind::Unsupported, why).with_backend(SCHEME)
}
