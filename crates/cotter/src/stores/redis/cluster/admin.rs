//! Listing over all masters, and evicting.

use super::nodes::Node;
use super::router::{Route, Router, unavailable};
use crate::backend::{Admin, Cursor, EvictOrder, Eviction, Filter, Finding, Page};
use crate::{Error, Name, Result};
use async_trait::async_trait;
use std::sync::Arc;

#[async_trait]
impl Admin for Router {
    /// A page has names of one master: the masters follow each other in the order of their addresses.
    async fn list(&self, filter: &Filter, from: Option<&Cursor>) -> Result<Page> {
        if let Some(name) = &filter.exact {
            return self.send(name, |route| async move { of(&route)?.list(filter, None).await }).await;
        }
        let view = self.link.live().await?;
        let mut nodes: Vec<&Arc<Node>> = view.nodes.values().collect();
        nodes.sort_by_key(|node| node.at.to_string());
        let (at, inner) = from.and_then(|from| from.as_str().split_once(' ')).unwrap_or_default();
        // If that one is no master any more, the next one.
        let place = nodes.iter().position(|node| *node.at.to_string() >= *at);
        let Some(node) = place.map(|place| nodes[place]) else { return Ok(Page::default()) };
        let inner = (!inner.is_empty() && node.at.to_string() == at).then(|| Cursor::new(inner));
        let mut page = of_node(node)?.list(filter, inner.as_ref()).await?;
        let following = nodes.iter().skip_while(|other| !Arc::ptr_eq(other, node)).nth(1);
        page.next = match (page.next, following) {
            (Some(next), _) => Some(Cursor::new(format!("{} {}", node.at, next.as_str()))),
            (None, Some(following)) => Some(Cursor::new(format!("{} ", following.at))),
            (None, None) => None,
        };
        Ok(page)
    }

    async fn evict(&self, name: &Name, order: EvictOrder) -> Result<Eviction> {
        self.send(name, |route| async move { of(&route)?.evict(name, order).await }).await
    }

    async fn diagnose(&self) -> Result<Vec<Finding>> {
        self.examine().await
    }
}

fn of(route: &Route) -> Result<&dyn Admin> {
    route.way().backend.admin().ok_or_else(no_admin)
}

pub(super) fn of_node(node: &Node) -> Result<&dyn Admin> {
    node.way.backend.admin().ok_or_else(no_admin)
}

fn no_admin() -> Error {
    unavailable("the node cannot be inspected")
}
