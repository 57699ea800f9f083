//! A store that delays, loses, refuses and comes late, around any other.
//!
//! | file | concept |
//! |---|---|
//! | `faults` | what goes wrong, by seed or by order, and how often it did; the same on a connection |
//! | `backend`, `acceptor` | the contract, and a member whose notes are swapped, with faults |

mod acceptor;
mod backend;
mod faults;

#[cfg(feature = "in-memory")]
pub(crate) use faults::Passage;
pub use faults::{Call, Counts, Faults, Plan};

use async_trait::async_trait;
use backend::FaultyBackend;
use cotter::Result;
use cotter::backend::{Backend, Connect, Host};
use std::sync::Arc;

/// Connects to another store and puts [`Faults`] in between. It never claims to answer at once.
#[derive(Debug, Clone)]
pub struct Faulty {
    inner: Arc<dyn Connect>,
    faults: Faults,
}

impl Faulty {
    /// Faults in front of this store.
    pub fn new(inner: impl Connect, faults: &Faults) -> Self {
        Self { inner: Arc::new(inner), faults: faults.clone() }
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Connect for Faulty {
    async fn connect(&self, host: &Host) -> Result<Arc<dyn Backend>> {
        let inner = self.inner.connect(host).await?;
        Ok(Arc::new(FaultyBackend::new(inner, self.faults.clone(), host.clock().clone())))
    }

    fn schema(&self) -> Option<String> {
        self.inner.schema()
    }

    fn drop_statements(&self) -> Option<String> {
        self.inner.drop_statements()
    }

    async fn migrate(&self) -> Result<()> {
        self.inner.migrate().await
    }
}
