//! The requests of a lock without the lock, for benchmarks to compare with.

use super::Store;
use super::connection::Link;
use super::messages::{LeaseGrantRequest, LeaseGrantResponse, TxnRequest, TxnResponse};
use super::requests::{TXN, delete, put};
use crate::backend::Host;
use crate::{Error, Result};

/// A connection that only puts keys and deletes them.
pub struct Bare {
    link: Link,
    lease: i64,
}

impl Store {
    /// Opens a connection for bare requests. Their lease lasts for this many seconds.
    ///
    /// # Errors
    /// No member of the cluster answers.
    pub async fn bare(&self, host: &Host, seconds: u32) -> Result<Bare> {
        let link = Link::new(self.cluster.clone(), &self.options, host);
        let question = LeaseGrantRequest { ttl: seconds.into() };
        let granted: LeaseGrantResponse = link.ask("/etcdserverpb.Lease/LeaseGrant", question).await?;
        Ok(Bare { link, lease: granted.id })
    }
}

impl Bare {
    /// Puts a key with the lease, and deletes it: two requests, one after the other.
    ///
    /// # Errors
    /// The server does not answer, or refuses.
    pub async fn pair(&self, key: &str) -> Result<()> {
        for operation in [put(key.into(), b"host/1", self.lease), delete(key.into())] {
            let _: TxnResponse =
                self.link.ask(TXN, TxnRequest::of(vec![operation])).await.map_err(Error::from)?;
        }
        Ok(())
    }
}
