//! What is known of a cluster at one time. It is replaced like a connection: by one attempt, for all who wait for it.

use super::super::{SCHEME, Shared};
use super::nodes::{Node, Nodes};
use super::slots::SlotMap;
use crate::stores::shared::net::{self, HostPort, Open};
use crate::sync::lock;
use crate::{Clock, Moment, Result};
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;

/// Which master has which slots, and how to reach it.
pub(super) struct View {
    pub(super) map: SlotMap,
    pub(super) nodes: HashMap<HostPort, Arc<Node>>,
    made: Moment,
    is_stale: AtomicBool,
}

/// A failed connection says nothing about a view that is younger.
const YOUNG: Duration = Duration::from_millis(200);

impl View {
    pub(super) fn node(&self, slot: u16) -> Option<&Arc<Node>> {
        self.nodes.get(self.map.master(slot)?)
    }

    /// A node has said that this is not so any more.
    pub(super) fn is_wrong(&self) {
        self.is_stale.store(true, Ordering::Release);
    }

    /// A node does not answer: another one may be the master.
    pub(super) fn doubt(&self, now: Moment) {
        if now.since(self.made) > YOUNG {
            self.is_wrong();
        }
    }
}

impl net::Live for View {
    fn is_usable(&self) -> bool {
        !self.is_stale.load(Ordering::Acquire)
    }

    fn may_be_stale(&self, _: impl FnOnce() -> Moment) -> bool {
        false
    }
}

/// Looks at the cluster, again and again.
#[derive(Clone)]
pub(super) struct Viewer {
    pub(super) cluster: Arc<Shared>,
    pub(super) nodes: Arc<Nodes>,
    clock: Arc<dyn Clock>,
    /// Who is said to have a slot, by a node that had it: it knows of that first.
    told: Arc<Mutex<Option<HostPort>>>,
    /// Counts the views.
    count: Arc<watch::Sender<u64>>,
}

impl Viewer {
    pub(super) fn new(cluster: Arc<Shared>, nodes: Arc<Nodes>, clock: Arc<dyn Clock>) -> Self {
        Self { cluster, nodes, clock, told: Arc::default(), count: Arc::default() }
    }

    /// A node has named another one.
    pub(super) fn tell(&self, of: &HostPort) {
        *lock(&self.told) = Some(of.clone());
    }

    /// Changes with each view.
    pub(super) fn views(&self) -> watch::Receiver<u64> {
        self.count.subscribe()
    }
}

impl Open for Viewer {
    type Live = View;

    const SCHEME: &'static str = SCHEME;

    async fn open(&self) -> Result<View> {
        let told = lock(&self.told).take();
        let (made, map) = (self.clock.now(), self.ask(told).await?);
        let masters = map.ranges().iter().map(|range| &range.master);
        let nodes = masters.map(|at| (at.clone(), self.nodes.at(at))).collect();
        self.nodes.keep(&nodes);
        // Whoever is told finds it: the link has it when this attempt ends, which is before anybody else runs in this task.
        self.count.send_modify(|count| *count += 1);
        Ok(View { map, nodes, made, is_stale: AtomicBool::new(false) })
    }

    fn timeout(&self) -> Duration {
        self.cluster.options.connect_timeout + self.cluster.options.timeout
    }
}

impl fmt::Debug for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("View").field("map", &self.map).finish_non_exhaustive()
    }
}
