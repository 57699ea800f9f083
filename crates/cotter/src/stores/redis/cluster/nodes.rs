//! The masters of a cluster, each with the backend that a single server has.

use super::super::connection::{Link, link_later};
use super::super::{Shared, backend_on};
use crate::backend::{Backend, Host};
use crate::stores::shared::net::{HostPort, Live};
use crate::sync::lock;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use tokio::runtime::Handle;

/// What all connections to a master share, for each master. A claim may ask on one connection, and be woken on another.
#[derive(Debug, Default)]
pub(in crate::stores::redis) struct Masters(Mutex<HashMap<HostPort, Arc<Shared>>>);

impl Masters {
    fn of(&self, cluster: &Shared, at: &HostPort) -> Arc<Shared> {
        lock(&self.0).entry(at.clone()).or_insert_with(|| Arc::new(cluster.at(at))).clone()
    }
}

/// A master, as one runtime reaches it.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) at: HostPort,
    pub(super) way: Way,
    /// The same for keys of a slot that it does not have yet.
    pub(super) asking: Way,
}

/// A connection to a node.
#[derive(Debug)]
pub(super) struct Way {
    pub(super) backend: Arc<dyn Backend>,
    pub(super) link: Arc<Link>,
}

/// The nodes of one runtime. Connections of nodes that are masters no more end when their last requests do.
#[derive(Debug)]
pub(super) struct Nodes {
    cluster: Arc<Shared>,
    host: Host,
    /// The runtime that drives the connections.
    home: Handle,
    each: Mutex<HashMap<HostPort, Arc<Node>>>,
}

impl Nodes {
    /// The caller's runtime drives the connections from now on.
    pub(super) fn new(cluster: Arc<Shared>, host: Host) -> Self {
        Self { cluster, host, home: Handle::current(), each: Mutex::default() }
    }

    /// The node at an address. Its connections are opened when they are needed.
    pub(super) fn at(&self, at: &HostPort) -> Arc<Node> {
        let node = || {
            let _home = self.home.enter();
            let shared = self.cluster.masters.of(&self.cluster, at);
            let way = |asking| {
                let link = link_later(&shared.server, &shared.options, &self.host, asking);
                Way { backend: backend_on(link.clone(), shared.clone()), link }
            };
            Arc::new(Node { at: at.clone(), way: way(false), asking: way(true) })
        };
        lock(&self.each).entry(at.clone()).or_insert_with(node).clone()
    }

    /// Those that are known.
    pub(super) fn known(&self) -> Vec<Arc<Node>> {
        lock(&self.each).values().cloned().collect()
    }

    /// Forgets all others.
    pub(super) fn keep(&self, masters: &HashMap<HostPort, Arc<Node>>) {
        lock(&self.each).retain(|at, _| masters.contains_key(at));
    }

    pub(super) async fn close(&self) {
        for node in self.known() {
            node.way.backend.close().await;
            node.asking.backend.close().await;
        }
    }
}

impl Node {
    /// Whether it was ever connected to.
    pub(super) fn was_reached(&self) -> bool {
        [&self.way, &self.asking].iter().any(|way| way.link.current().is_some())
    }

    /// Whether it was connected to, and the connection has broken since.
    pub(super) fn is_lost(&self) -> bool {
        self.way.link.current().is_some_and(|live| !live.is_usable())
    }
}
