//! Downgrade from writer to reader, without a gap.

use crate::backend::Feature;
use crate::engine::grant::give_back::forget;
use crate::engine::grant::hold::Hold;
use crate::{Error, ErrorKind, Guard, Result};

/// Continues as a reader. The guard is consumed in any case: if the downgrade fails half-way, the lock is released.
pub(crate) async fn downgrade(guard: Guard) -> Result<Guard> {
    guard.check()?;
    guard.hold().core.backend.info().require(Feature::Downgrade)?;
    let hold = guard.hold().clone();
    if !hold.end_re_entry() {
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
    // The claim belongs to the reader now. If the writer was lost meanwhile, so was the reader.
    let ended = forget(guard);
    let reader = Guard::new(reader, serial, token);
    ended.map(|()| reader)
}
