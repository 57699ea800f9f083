//! A caller's request.

use crate::backend::{Claim, ClaimId};
use crate::{Lease, Mode, Name, Owner};
use std::sync::Arc;
use std::time::Duration;

/// The time that a caller is ready to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    No,
    For(Duration),
    Forever,
}

/// A caller's request.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) name: Name,
    pub(crate) mode: Mode,
    pub(crate) lease: Lease,
    pub(crate) owner: Option<Owner>,
    pub(crate) wait: Wait,
    /// Whether it needs a grant of its own, whose token the store knows: no turns.
    pub(crate) alone: bool,
}

impl Request {
    /// Returns true if a grant for this request may pass from task to task.
    pub(crate) fn takes_turns(&self) -> bool {
        !self.alone && self.mode.is_exclusive()
    }

    pub(crate) fn claim(&self, label: &Arc<str>, turns: u16) -> Claim {
        Claim {
            name: self.name.clone(),
            id: ClaimId::random(),
            mode: self.mode,
            ttl: self.lease.ttl,
            turns,
            label: label.clone(),
        }
    }
}
