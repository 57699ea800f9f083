//! The nodes of a URL.

use super::super::announced::Announced;
use crate::Error;
use crate::stores::shared::net::HostPort;
use rustls::ClientConfig;
use std::fmt;
use std::sync::Arc;

/// Some nodes of a cluster, any of which knows the others.
pub(crate) struct Seeds {
    each: Vec<HostPort>,
    tls: Option<Arc<ClientConfig>>,
    announced: Announced,
}

impl Seeds {
    pub(crate) fn new(each: Vec<HostPort>, tls: Option<Arc<ClientConfig>>, announced: Announced) -> Self {
        Self { each, tls, announced }
    }

    /// The same with other certificates; `None` without TLS.
    pub(crate) fn with_tls(&self, tls: &Arc<ClientConfig>) -> Option<Self> {
        self.tls.as_ref()?;
        Some(Self::new(self.each.clone(), Some(tls.clone()), self.announced.clone()))
    }

    pub(super) fn each(&self) -> &[HostPort] {
        &self.each
    }

    /// Where to connect to a node that the one at `asked` names. One that does not know its own address leaves the host out.
    pub(super) fn reach(&self, host: &str, port: u16, asked: &HostPort) -> HostPort {
        let host = if matches!(host, "" | "?") { asked.name.as_str() } else { host };
        self.announced.reach(host, port)
    }

    /// Adds to the error of a node that was never connected to what to write if that is why.
    pub(super) fn advise(&self, e: Error, at: &HostPort) -> Error {
        if self.each.contains(at) { e } else { self.announced.advise(e, at) }
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
