//! Requests for more time.

use super::Guard;
use crate::backend::Extension;
use crate::engine::Hold;
use crate::{Error, ErrorKind, FencingToken, Op, Result};
use std::sync::Arc;
use std::time::Duration;

impl Guard {
    /// Extends the lease to at least `ttl` from now. Never shortens it.
    ///
    /// Meant for a [fixed](crate::Lease::fixed) lease; a renewed one extends itself. Where the grant lives with the
    /// process, this moves the end of a fixed lease and does nothing else. It never goes beyond
    /// [`max_hold`](crate::Lease::max_hold).
    ///
    /// Cancel safety: if the call is dropped, the store may or may not have extended the lease. The guard then keeps
    /// its earlier deadline, which is the safe one.
    ///
    /// # Errors
    /// [`ErrorKind::Lost`] if the lock is no longer held, [`ErrorKind::InvalidInput`] for a ttl outside the store's
    /// limits, [`ErrorKind::Unavailable`] if the store does not answer; the lease then stays as it is.
    pub fn extend(&self, ttl: Duration) -> Op<()> {
        let (hold, token) = (self.hold().clone(), self.token);
        Op::new(&self.engine(), async move { extend(&hold, token, ttl).await })
    }
}

async fn extend(hold: &Arc<Hold>, token: FencingToken, ttl: Duration) -> Result<()> {
    let core = &hold.core;
    core.usable()?;
    core.backend.info().capabilities.check_ttl(ttl)?;
    hold.check(token)?;
    ask_to_extend(hold, ttl).await?;
    if hold.lost().is_none() {
        hold.prolong(ttl);
    }
    core.engine.agenda().moved(hold);
    Ok(hold.check(token)?)
}

/// A fixed lease starts again when an inner hold of the same owner ends.
pub(super) async fn start_again(hold: &Arc<Hold>, token: FencingToken) -> Result<()> {
    extend(hold, token, hold.lease.ttl).await
}

/// Asks the store and takes in its answer: more time, or that the grant is lost.
pub(super) async fn ask_to_extend(hold: &Arc<Hold>, ttl: Duration) -> Result<()> {
    let asked = hold.clone();
    hold.asks_for(ttl);
    let extend = async move { Ok(asked.core.backend.extend(&[&asked.grant], ttl).await) };
    match hold.core.on_engine(extend).await?.pop() {
        Some(Ok(Extension::Extended { as_of, ttl: given })) => {
            hold.extended(as_of, given, ttl);
            match given.filter(|given| *given < ttl) {
                Some(given) => {
                    let why = format!("the store extended the lease to {given:?} only, not to {ttl:?}");
                    Err(Error::new(ErrorKind::Protocol, why).with_name(hold.name()))
                }
                None => Ok(()),
            }
        }
        Some(Ok(Extension::Lost(cause))) => {
            hold.lose(cause);
            Ok(())
        }
        Some(Err(e)) => Err(hold.core.at_the_server(e).with_name(hold.name())),
        None => Err(Error::new(ErrorKind::Protocol, "no answer for the grant").with_name(hold.name())),
    }
}
