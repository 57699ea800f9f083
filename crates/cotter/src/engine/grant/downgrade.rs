//! Downgrade from writer to reader, without a gap.

use crate::backend::Feature;
use crate::engine::grant::hold::Hold;
use crate::engine::grant::release::{Returned, give_back};
use crate::{Error, ErrorKind, Guard, Result};
use std::sync::Arc;
use std::time::Duration;

/// Continues as a reader. The guard is consumed in any case: if the downgrade fails half-way, the lock is released.
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
    // The reader carries the writer's token.
    (grant.number, grant.turns) = (guard.token().get(), 1);
    let reader = Hold::new(&hold.core, &hold.line, grant, hold.lease);
    let (serial, token) = reader.next_turn(None).expect("a grant has at least one turn");
    reader.activate();
    retire(&hold, guard);
    Ok(Guard::new(reader, serial, token))
}

/// Ends the writer's hold without telling the store, because its claim now belongs to the reader. The hold must not
/// pass to a waiting local writer either, which a `keep_for` prevents.
fn retire(hold: &Arc<Hold>, guard: Guard) {
    let serial = guard.into_serial();
    if let Returned::Send(parting) = give_back(hold, serial, Some(Duration::ZERO)) {
        parting.forget();
    }
}
