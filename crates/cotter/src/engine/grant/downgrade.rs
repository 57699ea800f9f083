//! Downgrade from writer to reader, without a gap.

use crate::backend::Feature;
use crate::engine::background::in_background;
use crate::engine::grant::give_back::forget;
use crate::engine::grant::hold::Hold;
use crate::{Error, ErrorKind, Guard, Result};
use tokio::sync::oneshot;

/// Continues as a reader. The guard is consumed in any case: if the downgrade fails half-way, the lock is released.
///
/// The engine takes in the answer, whenever the caller looks at it: until then the writer is renewed, which the store no longer
/// has, and the reader is not.
pub(crate) async fn downgrade(guard: Guard) -> Result<Guard> {
    guard.check()?;
    guard.hold().core.backend.info().require(Feature::Downgrade)?;
    let hold = guard.hold().clone();
    if !hold.end_re_entry() {
        let why = "a lock that its owner has entered more than once cannot be downgraded";
        return Err(Error::new(ErrorKind::Misuse, why).with_name(hold.name()));
    }
    if hold.core.is_immediate() {
        return change(guard).await;
    }
    hold.core.not_forked()?;
    let (answer, changed) = oneshot::channel();
    in_background(&hold.core, async move {
        // A guard that nobody receives is dropped.
        drop(answer.send(change(guard).await));
    });
    let ended = || Error::new(ErrorKind::Unavailable, "the engine has ended").with_outcome_unknown();
    changed.await.unwrap_or_else(|_| Err(ended()))
}

async fn change(guard: Guard) -> Result<Guard> {
    let hold = guard.hold().clone();
    let downgraded = hold.core.backend.downgrade(&hold.grant).await;
    let mut grant = downgraded.map_err(|e| hold.core.at_the_server(e).with_name(hold.name()))?;
    // The reader carries the writer's token.
    (grant.number, grant.turns) = (guard.token().get(), 1);
    grant.claim.ttl = hold.grant.claim.ttl;
    let answered = grant.ttl;
    let reader = Hold::new(&hold.core, &hold.line, grant, hold.lease);
    let (serial, token) = reader.next_turn(None).expect("a grant has at least one turn");
    // It is still the same hold: neither `max_hold` nor a fixed lease starts again.
    reader.goes_on_from(&hold, answered);
    reader.activate();
    // The claim belongs to the reader now. If the writer was lost meanwhile, so was the reader.
    let ended = forget(guard);
    reader.go_on_after_notes(hold.last_note());
    let reader = Guard::new(reader, serial, token);
    ended.map(|()| reader)
}
