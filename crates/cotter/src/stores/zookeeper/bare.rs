//! The requests of a lock without the lock, for benchmarks to compare with.

use super::Store;
use super::errors::NODE_EXISTS;
use super::link::Link;
use super::messages::{Acl, Kind, Op};
use super::replies::Created;
use crate::backend::Host;
use crate::{Error, Result};

/// A session that only creates nodes and deletes them.
pub struct Bare {
    link: Link,
}

impl Store {
    /// Begins a session for bare requests.
    ///
    /// # Errors
    /// No member of the ensemble answers.
    pub async fn bare(&self, host: &Host) -> Result<Bare> {
        let link = Link::new(self.ensemble.clone(), &self.options, host);
        link.session().await?;
        Ok(Bare { link })
    }
}

impl Bare {
    /// Creates a folder below the root.
    ///
    /// # Errors
    /// The server does not answer, or refuses.
    pub async fn folder(&self, path: &str) -> Result<()> {
        let answer = self.link.ask::<Created>(&create(path, Kind::Container)).await;
        match answer {
            Err(failure) if !failure.is(NODE_EXISTS) => Err(failure.into()),
            _ => Ok(()),
        }
    }

    /// Creates an ephemeral sequential node in a folder, and deletes it: two requests, one after the other.
    ///
    /// # Errors
    /// The server does not answer, or refuses.
    pub async fn pair(&self, folder: &str) -> Result<()> {
        let create = create(&format!("{folder}/_c_0123456789abcdef-"), Kind::Sequential);
        let created: Created = self.link.ask(&create).await.map_err(Error::from)?;
        self.link.ask::<()>(&Op::delete(&created.path)).await.map_err(Error::from)
    }
}

fn create(path: &str, kind: Kind) -> Op {
    Op::Create { path: path.to_owned(), data: b"host/1".to_vec(), kind, acl: Acl::Open }
}
