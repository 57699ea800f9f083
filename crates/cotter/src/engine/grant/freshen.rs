//! Grants that arrive with too little time left.

use crate::backend::{Backend, Extension, Grant};
use crate::engine::core::Core;
use crate::engine::grant::hold::believed;
use crate::engine::timing::USABLE_LEASE;
use crate::{Error, ErrorKind, Lease, Result};

/// Returns true if the grant arrived with too little time left: less than half, or less than suffices until its first
/// renewal.
pub(crate) fn is_stale(core: &Core, grant: &Grant, lease: Lease) -> bool {
    let half = grant.claim.ttl / 2;
    let least = if lease.renewed { half.min(USABLE_LEASE) } else { half };
    grant.ttl.is_some_and(|ttl| (grant.as_of + ttl).since(core.now()) < least)
}

/// Renews such a grant before use: if it were released, it would lose its place.
pub(crate) async fn freshen(core: &Core, on: &dyn Backend, mut grant: Grant) -> Result<Grant> {
    let wanted = grant.claim.ttl;
    let unknown = |why| Error::new(ErrorKind::Unavailable, why).with_outcome_unknown();
    match on.extend(&[&grant], wanted).await.pop() {
        Some(Ok(Extension::Extended { as_of, ttl })) => {
            let ttl = believed(ttl, wanted);
            (grant.as_of, grant.ttl) = (as_of, ttl);
            // The caller may have looked at this answer late, too.
            let is_over = ttl.is_some_and(|ttl| as_of + ttl <= core.now());
            if is_over { Err(unknown("the grant had ended before its answer was read")) } else { Ok(grant) }
        }
        Some(Ok(Extension::Lost(_))) => Err(unknown("the grant had ended before its answer arrived")),
        Some(Err(e)) => Err(e.with_outcome_unknown()),
        None => Err(unknown("the store answered fewer extensions than were asked for")),
    }
}
