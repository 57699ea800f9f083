//! From writer to reader, without a gap.

use crate::backend::Feature;
use crate::engine::grant::hold::Hold;
use crate::engine::grant::release::{Returned, give_back};
use crate::{Error, ErrorKind, Guard, Result};
use std::sync::Arc;
use std::time::Duration;

/// Goes on as a reader. The guard is used up in any case: what fails half-way is given back.
pub(crate) async fn downgrade(guard: Guard) -> Result<Guard> {
    guard.check()?;
    guard.hold().core.backend.info().require(Feature::Downgrade)?;
    let hold = guard.hold().clone();
    if hold.count() > 1 {
        let why = "a lock that its owner has entered more than once cannot be downgraded";
        return Err(Error::new(ErrorKind::Misuse, why).with_name(hold.name()));
    }
    let asked = hold.clone();
    let shared = hold.core.on_engine(async move { asked.core.backend.downgrade(&asked.grant).await });
    let mut grant = shared.await?;
    // The reader carries the token that the writer had.
    (grant.number, grant.turns) = (guard.token().get(), 1);
    let reader = Hold::new(&hold.core, &hold.line, grant, hold.lease);
    let (serial, token) = reader.next_turn(None).expect("a grant has at least one turn");
    reader.activate();
    retire(&hold, guard);
    Ok(Guard::new(reader, serial, token))
}

/// The writer's hold is over, but the store must not be told: its claim is the reader's now. Nor must it pass to a
/// writer that waits here, which is what a rest to keep prevents.
fn retire(hold: &Arc<Hold>, guard: Guard) {
    let serial = guard.into_serial();
    if let Returned::Send(parting) = give_back(hold, serial, Some(Duration::ZERO)) {
        parting.forget();
    }
}
