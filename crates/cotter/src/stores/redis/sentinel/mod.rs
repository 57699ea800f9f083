//! The master of a service, as its sentinels know it: `redis+sentinel://`.
//!
//! What sentinels say is where to look, and no more than that: a server counts as the master once it says so itself.
//!
//! | file | concept |
//! |---|---|
//! | `master` | who the master is, as far as is known; for how long a connection leads to it |
//! | `answer` | what a sentinel says; which of several answers counts |
//! | `ask` | asking the sentinels |
//! | `find` | connecting to the master |
//! | `listen` | hearing of a new master |
//! | `role` | what a server says that it is |
//! | `doctor` | a diagnosis of the sentinels |

mod answer;
mod ask;
pub(super) mod doctor;
mod find;
mod listen;
mod master;
pub(super) mod role;

pub(super) use master::Term;

use super::announced::Announced;
use super::socket::{Endpoint, Server};
use crate::stores::shared::net::{HostPort, Password};
use master::Master;
use rustls::ClientConfig;
use std::fmt;
use std::sync::Arc;

/// The sentinels of a URL, and the service whose master they know.
pub(super) struct Sentinels {
    /// The address of each as text, and how to reach it.
    each: Vec<(String, Server)>,
    service: String,
    /// For the connections to the master.
    tls: Option<Arc<ClientConfig>>,
    announced: Announced,
    /// Shared by all connections.
    master: Arc<Master>,
}

impl Sentinels {
    pub(super) fn new(
        each: Vec<Server>,
        service: String,
        tls: Option<Arc<ClientConfig>>,
        announced: Announced,
    ) -> Self {
        let named =
            |server: Server| (server.endpoint.host().map(HostPort::to_string).unwrap_or_default(), server);
        let each = each.into_iter().map(named).collect();
        Self { each, service, tls, announced, master: Arc::default() }
    }

    /// The same with other certificates, of the sentinels and of the servers; `None` without TLS.
    pub(super) fn with_tls(&self, tls: &Arc<ClientConfig>) -> Option<Self> {
        self.tls.as_ref()?;
        let each = self.each.iter().map(|(_, sentinel)| sentinel.with_tls(tls).ok());
        let (each, announced) = (each.collect::<Option<_>>()?, self.announced.clone());
        Some(Self::new(each, self.service.clone(), Some(tls.clone()), announced))
    }

    /// The same with another password for the sentinels.
    pub(super) fn with_password(&self, password: &Password) -> Self {
        let each = self.each.iter().map(|(_, sentinel)| sentinel.with_password(password.clone()));
        Self::new(each.collect(), self.service.clone(), self.tls.clone(), self.announced.clone())
    }

    /// The endpoint of a server that they name.
    fn endpoint(&self, host: &str, port: u16) -> Endpoint {
        let host = self.announced.reach(host, port);
        match &self.tls {
            Some(tls) => Endpoint::Tls(host, tls.clone()),
            None => Endpoint::Tcp(host),
        }
    }
}

/// Shows no password.
impl fmt::Debug for Sentinels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let each: Vec<_> = self.each.iter().map(|(address, _)| address).collect();
        f.debug_struct("Sentinels")
            .field("each", &each)
            .field("service", &self.service)
            .finish_non_exhaustive()
    }
}
