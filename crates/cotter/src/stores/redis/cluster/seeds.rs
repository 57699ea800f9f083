//! The nodes of a URL.

use crate::stores::shared::net::HostPort;
use rustls::ClientConfig;
use std::fmt;
use std::sync::Arc;

/// Some nodes of a cluster, any of which knows the others.
pub(crate) struct Seeds {
    each: Vec<HostPort>,
    tls: Option<Arc<ClientConfig>>,
}

impl Seeds {
    pub(crate) fn new(each: Vec<HostPort>, tls: Option<Arc<ClientConfig>>) -> Self {
        Self { each, tls }
    }

    pub(super) fn each(&self) -> &[HostPort] {
        &self.each
    }

    /// For the connections to all nodes.
    pub(super) fn tls(&self) -> Option<&Arc<ClientConfig>> {
        self.tls.as_ref()
    }
}

impl fmt::Debug for Seeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seeds").field("each", &self.each).finish_non_exhaustive()
    }
}
