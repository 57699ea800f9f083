//! The nodes of this process's claims in their queues, as far as they are known.

use super::acquire::Ahead;
use super::session::ServerSession;
use crate::backend::ClaimId;
use crate::backend::by_claim::ByClaim;
use crate::sync::lock;
use std::sync::{Arc, Mutex};

/// The claims for which a node was asked.
#[derive(Default)]
pub(super) struct OwnNodes(Mutex<ByClaim<OwnNode>>);

/// A claim for which a node was asked.
#[derive(Clone)]
pub(super) struct OwnNode {
    /// The node lives and dies with it.
    pub(super) session: Arc<ServerSession>,
    /// `None` as long as the request has no answer.
    pub(super) node: Option<Node>,
    /// Whose end it waits for, as long as nobody has begun to wait for the claim.
    pub(super) ahead: Option<Ahead>,
    /// The node may have the mark of those who wait.
    pub(super) is_marked: bool,
}

/// The node of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) path: String,
    /// The transaction that created it.
    pub(super) created: i64,
}

impl Node {
    /// The name of the node in its folder.
    pub(super) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }
}

impl OwnNodes {
    /// Records that a node is about to be asked for.
    pub(super) fn asked(&self, id: ClaimId, session: &Arc<ServerSession>) {
        lock(&self.0)
            .insert(id, OwnNode { session: session.clone(), node: None, ahead: None, is_marked: false });
    }

    /// Records which node it is.
    pub(super) fn found(&self, id: ClaimId, node: &Node) {
        if let Some(place) = lock(&self.0).get_mut(&id) {
            place.node = Some(node.clone());
        }
    }

    /// Records whose end the claim waits for: whoever waits begins with that, and sees what has happened meanwhile when it
    /// is watched.
    pub(super) fn queued(&self, id: ClaimId, ahead: Ahead) {
        if let Some(place) = lock(&self.0).get_mut(&id) {
            place.ahead = Some(ahead);
        }
    }

    /// Where a claim stands for which nobody has waited yet. Counts once.
    pub(super) fn take_queued(&self, id: ClaimId) -> Option<(Node, Ahead)> {
        let mut places = lock(&self.0);
        let place = places.get_mut(&id)?;
        place.node.clone().zip(place.ahead.take())
    }

    /// Records that the node is about to be marked, or that it is not any more.
    pub(super) fn marked(&self, id: ClaimId, is_marked: bool) {
        if let Some(place) = lock(&self.0).get_mut(&id) {
            place.is_marked = is_marked;
        }
    }

    pub(super) fn get(&self, id: ClaimId) -> Option<OwnNode> {
        lock(&self.0).get(&id).cloned()
    }

    /// Records that there is no node of the claim, and will be none.
    pub(super) fn left(&self, id: ClaimId) {
        let place = lock(&self.0).remove(&id);
        if let Some(place) = place {
            place.session.seats.leave(id);
        }
    }

    pub(super) fn clear(&self) {
        let places = std::mem::take(&mut *lock(&self.0));
        places.into_iter().for_each(|(id, place)| place.session.seats.leave(id));
    }
}
