//! Tickets: from a ticket to a guard, more time for it, and its end.

use crate::backend::{Claim, Extension, Feature, Found, Grant, Leave, Release};
use crate::engine::background::in_background;
use crate::engine::core::Core;
use crate::engine::grant::freshen::{freshen, is_stale};
use crate::engine::grant::hold::Hold;
use crate::engine::grant::undo::{undo_adopted, undo_until};
use crate::engine::line::handle::LineHandle;
use crate::engine::line::run::change;
use crate::engine::queue::attempt::Attempt;
use crate::engine::timing::acquire_backoff;
use crate::{Error, ErrorKind, Guard, LossCause, Lost, Owner, Released, Result, Ticket};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// Takes over the lock of a ticket. If the caller goes away, the lock is released.
pub(crate) async fn resume(core: Arc<Core>, ticket: Ticket) -> Result<Guard> {
    let (name, mode) = (ticket.name().clone(), ticket.mode());
    let attempt = Attempt::begin(&core, &name, mode);
    let resumed = ask_to_resume(&core, ticket).await;
    attempt.end(resumed.as_ref().map(Some));
    resumed
}

async fn ask_to_resume(core: &Arc<Core>, ticket: Ticket) -> Result<Guard> {
    admit(core, &ticket)?;
    let (answer, resumed) = oneshot::channel();
    let (asking, owner) = (core.clone(), Owner::current().filter(|_| !ticket.mode().is_permits()));
    in_background(core, async move {
        // A guard that nobody receives is dropped.
        drop(answer.send(take_over(&asking, &ticket, owner).await));
    });
    let ended = || Error::new(ErrorKind::Unavailable, "the engine has ended").with_outcome_unknown();
    resumed.await.unwrap_or_else(|_| Err(ended()))
}

async fn take_over(core: &Arc<Core>, ticket: &Ticket, owner: Option<Owner>) -> Result<Guard> {
    let lease = core.settings.lease;
    let label = core.settings.label.clone();
    let claim = Claim { label, ..Claim::new(ticket.name().clone(), ticket.mode(), lease.ttl) };
    let mut grant = adopt(core, ticket, &claim).await?;
    if is_stale(core, &grant, lease) {
        grant =
            freshen(core, &*core.backend, grant).await.inspect_err(|_| undo_adopted(core, claim.clone()))?;
    }
    let kept = LineHandle::new(core, &claim.name);
    let hold = Hold::new(core, &kept.line, grant, lease);
    hold.go_on_after_notes(ticket.notes());
    let (serial, token) = hold.next_turn(owner).expect("a grant has at least one turn");
    change(core, &kept.line, |state| state.resumed(&hold));
    hold.activate();
    Ok(Guard::new(hold, serial, token))
}

/// Asks until the store answers: a repeated request of the same claim is answered with the same grant.
async fn adopt(core: &Arc<Core>, ticket: &Ticket, claim: &Claim) -> Result<Grant> {
    let last = core.now() + core.settings.give_up;
    let mut pauses = acquire_backoff();
    let mut may_hold = false;
    loop {
        match core.backend.adopt(&ticket.claim(), claim).await {
            // The lease goes on as that of this client: what was asked for on behalf of the ticket is over.
            Ok(Some(grant)) => return Ok(Grant { claim: claim.clone(), ..grant }),
            Ok(None) => {
                let cause = why_it_is_lost(core, ticket, claim.ttl).await;
                return Err(Lost::new(claim.name.clone(), ticket.token(), cause).into());
            }
            Err(e) => {
                may_hold |= e.outcome_unknown();
                let at = core.now() + pauses.pause();
                if !e.is_retryable() || at >= last || core.is_closed() {
                    if may_hold {
                        undo_adopted(core, claim.clone());
                    }
                    return Err(core.at_the_server(e).with_name(&claim.name));
                }
                core.clock().sleep_until(at).await;
            }
        }
    }
}

/// Asks for more time to learn the cause: the answer to an adoption has none.
async fn why_it_is_lost(core: &Core, ticket: &Ticket, ttl: Duration) -> LossCause {
    match core.backend.extend(&[&ticket.grant(core.now())], ttl).await.pop() {
        Some(Ok(Extension::Lost(cause))) => cause,
        _ => LossCause::Gone,
    }
}

/// Gives the lock of a ticket more time.
pub(crate) async fn extend_ticket(core: Arc<Core>, ticket: Ticket, ttl: Duration) -> Result<()> {
    admit(&core, &ticket)?;
    core.backend.info().capabilities.check_ttl(ttl)?;
    let (asked, grant, lost) = (core.clone(), ticket.grant(core.now()), ticket.clone());
    let extend = async move { Ok(asked.backend.extend(&[&grant], ttl).await) };
    let told = match core.on_engine(extend).await?.pop() {
        Some(Ok(Extension::Extended { .. })) => return Ok(()),
        Some(Ok(Extension::Lost(cause))) => Lost::new(lost.name().clone(), lost.token(), cause).into(),
        Some(Err(e)) => core.at_the_server(e),
        None => Error::new(ErrorKind::Protocol, "no answer for the ticket"),
    };
    Err(told.with_name(ticket.name()))
}

/// Frees the lock of a ticket.
pub(crate) async fn release_ticket(core: Arc<Core>, ticket: Ticket) -> Result<Released> {
    admit(&core, &ticket)?;
    let (asked, claim) = (core.clone(), ticket.claim());
    let used = ticket.used();
    let release = async move { asked.backend.release(&claim, Leave::used(used)).await };
    let release = core.on_engine(release).await.map_err(|e| e.with_name(ticket.name()))?;
    if let Release::Unsettled { until, .. } = release {
        undo_until(&core, ticket.claim(), used, until);
    }
    Ok(if release.found() == Found::Held { Released::Yes } else { Released::AlreadyLost })
}

fn admit(core: &Core, ticket: &Ticket) -> Result<()> {
    core.usable()?;
    core.backend.info().require(Feature::Tickets).map_err(|e| e.with_name(ticket.name()))
}
