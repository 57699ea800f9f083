//! A store that keeps no name for those who have released it: their process has to do that.

use crate::altered::{Alteration, Altered};
use async_trait::async_trait;
use cotter::Result;
use cotter::backend::{Backend, Connect, Host, Info};
use std::sync::Arc;

/// Connects to another store, and does not have it keep names.
#[derive(Debug, Clone)]
pub struct Unkept(Arc<dyn Connect>);

impl Unkept {
    /// This store without the ability to keep names.
    pub fn new(inner: impl Connect) -> Self {
        Self(Arc::new(inner))
    }
}

#[async_trait]
impl Connect for Unkept {
    async fn connect(&self, host: &Host) -> Result<Arc<dyn Backend>> {
        Ok(Arc::new(Altered::new(self.0.connect(host).await?, Free)))
    }
}

#[derive(Debug)]
struct Free;

impl Alteration for Free {
    fn info(&self, info: &mut Info) {
        info.capabilities.keep_for = false;
    }
}
