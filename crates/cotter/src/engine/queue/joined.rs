//! What an attempt without a grant has left in the store: a claim that joined the queue is kept until the engine continues with
//! it, everything else is undone.

use crate::Result;
use crate::backend::{Acquired, Claim};
use crate::engine::core::Core;
use crate::engine::grant::hold::Line;
use crate::engine::grant::undo::{undo, undo_unknown, undo_until};
use crate::engine::line::request::Request;
use crate::engine::line::run::change_with;
use crate::engine::route::Carrier;
use std::sync::Arc;

/// Returns the claim if it serves this request. Otherwise it is undone.
pub(crate) fn used_for(core: &Arc<Core>, claim: Claim, request: Option<&Request>) -> Option<Claim> {
    let serves = request.is_some_and(|to| claim.mode == to.mode && claim.ttl == to.lease.ttl);
    if !serves {
        undo(core, claim);
        return None;
    }
    Some(claim)
}

/// Takes care of what an attempt may have left in the store. `waits`: it may have joined the queue.
pub(crate) fn keep_or_undo(
    core: &Arc<Core>,
    line: &Arc<Line>,
    claim: &Claim,
    carrier: &Carrier,
    waits: bool,
    answer: &Result<Acquired>,
) {
    match answer {
        Ok(Acquired::Granted(_) | Acquired::Busy) => {}
        Ok(Acquired::Queued) => {
            let replaced = change_with(core, line, |state| state.joined(claim));
            replaced.and_then(|claim| used_for(core, *claim, None));
        }
        Ok(Acquired::Unsettled { until }) => undo_until(core, claim.clone(), 0, *until),
        Err(e) if e.outcome_unknown() => undo_unknown(core, claim.clone(), carrier, waits),
        Err(_) => {}
    }
}
