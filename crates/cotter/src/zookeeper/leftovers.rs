//! Nodes whose release was given up, because the servers did not answer for too long. The session may live on, so they are
//! deleted once it has a connection again.

use super::live::Live;
use super::messages::Op;
use super::replies::Children;
use crate::backend::ClaimId;
use crate::backend::by_claim::ByClaim;
use crate::sync::lock;
use std::sync::Mutex;

/// What is left of claims in one session.
#[derive(Debug, Default)]
pub(super) struct Leftovers(Mutex<ByClaim<Leftover>>);

/// The nodes in this folder whose names begin like this.
#[derive(Debug, Clone)]
struct Leftover {
    line: String,
    protection: String,
}

/// A release that is under way. If it is dropped without an answer, it leaves the node to the session.
#[derive(Debug)]
pub(super) struct Leaving<'a> {
    leftovers: &'a Leftovers,
    id: ClaimId,
    leftover: Option<Leftover>,
}

impl Leftovers {
    /// Begins a release. As long as it is under way, nobody else deletes the node: it would not find it.
    pub(super) fn leaving(&self, id: ClaimId, line: String, protection: String) -> Leaving<'_> {
        lock(&self.0).remove(&id);
        Leaving { leftovers: self, id, leftover: Some(Leftover { line, protection }) }
    }

    /// Deletes what is left.
    pub(super) async fn delete(&self, live: &Live) {
        let all: Vec<_> = lock(&self.0).iter().map(|(id, leftover)| (*id, leftover.clone())).collect();
        for (id, Leftover { line, protection }) in all {
            let caught_up = live.ask::<()>(&Op::sync(&line));
            let listed = live.ask::<Children>(&Op::children(&line));
            let (Ok(()), Ok(nodes)) = (caught_up.await, listed.await) else { continue };
            let mut is_done = true;
            for node in nodes.iter().filter(|node| node.starts_with(&protection)) {
                is_done &= live.ask::<()>(&Op::delete(&format!("{line}/{node}"))).await.is_ok();
            }
            if is_done {
                lock(&self.0).remove(&id);
            }
        }
    }
}

impl Leaving<'_> {
    pub(super) fn answered(mut self) {
        self.leftover = None;
    }
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        if let Some(leftover) = self.leftover.take() {
            lock(&self.leftovers.0).insert(self.id, leftover);
        }
    }
}
