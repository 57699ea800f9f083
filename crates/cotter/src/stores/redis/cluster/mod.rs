//! A cluster is a set of masters, and each name belongs to one of them: `redis+cluster://`.
//!
//! Each master has a backend of its own, as a single server has. A router in front of them knows which slots a master has, and
//! follows a name when its slot moves or another server becomes the master.
//!
//! | file | concept |
//! |---|---|
//! | `seeds` | the nodes of a URL |
//! | `slots` | the slot of a key; which master has which slots |
//! | `nodes` | the masters, each with its backend |
//! | `view` | what is known of the cluster at one time |
//! | `ask` | asking the nodes for that |
//! | `redirect` | what a node says of a name that it does not have |
//! | `router` | sending a request to where the name is, and following it |
//! | `backend`, `wait`, `renew`, `notes` | the contract: single requests, waiting, renewals, notes |
//! | `admin`, `doctor` | listing over all masters; a diagnosis of the cluster |

mod admin;
mod ask;
mod backend;
mod doctor;
mod nodes;
mod notes;
mod redirect;
mod renew;
mod router;
mod seeds;
mod slots;
mod view;
mod wait;

pub(super) use nodes::Masters;
pub(super) use seeds::Seeds;

use super::Shared;
use super::socket::{Endpoint, Server};
use crate::Result;
use crate::backend::{Backend, Host};
use crate::error::config;
use crate::stores::shared::net::HostPort;
use router::Router;
use std::sync::Arc;

/// Connects to the cluster that the server of a store is.
pub(super) async fn connect(shared: &Arc<Shared>, host: &Host) -> Result<Arc<dyn Backend>> {
    if shared.voting.is_some() {
        return Err(config("a cluster cannot be a member of a quorum: name independent servers"));
    }
    // The protocol may have been set after the URL was read.
    shared.options.check_cluster()?;
    Ok(Arc::new(Router::open(shared, host).await?))
}

impl Shared {
    /// The nodes to begin with.
    fn seeds(&self) -> &Seeds {
        self.server.endpoint.seeds().expect("it is a cluster")
    }

    /// The same for one node: claims and tokens are those of the store, channels are not.
    fn at(&self, node: &HostPort) -> Self {
        let endpoint = match self.seeds().tls() {
            Some(tls) => Endpoint::Tls(node.clone(), tls.clone()),
            None => Endpoint::Tcp(node.clone()),
        };
        let mut options = self.options.clone();
        options.instance = node.to_string();
        Self {
            server: Server { endpoint, ..self.server.clone() },
            options,
            in_flight: self.in_flight.clone(),
            waiters: self.waiters.elsewhere(),
            issued: self.issued.clone(),
            uuid: self.uuid.clone(),
            voting: None,
            masters: Masters::default(),
        }
    }
}
