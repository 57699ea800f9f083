//! Giving the lock back.

use super::Guard;
use super::extend::start_again;
use crate::engine::timing::LAST_ANSWER;
use crate::engine::{Hold, Returned, give_back};
use crate::{FencingToken, LossCause, LossSignal, Lost, Op, Result};
use std::sync::Arc;
use std::time::Duration;

/// The outcome of [`Guard::release`].
///
/// [`Guard::finish`] turns the last variant into an error.
#[must_use = "`AlreadyLost` means that the work may have collided with another holder; `finish()` reports it as an error"]
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Released {
    /// The lock was released.
    Yes,
    /// The same owner still holds it, this many times.
    StillHeld(usize),
    /// The lock had been lost before. What the work did after that may have collided with another holder.
    AlreadyLost,
}

impl Guard {
    /// Releases the lock at the end of the work that needed it: `Ok` means that the lock was held until now.
    ///
    /// Like [`release`](Self::release), except that a loss is an error. Prefer it wherever the result of the work is
    /// worth nothing, or has to be checked, if the lock was lost on the way.
    ///
    /// Cancel safety: the release is carried out even if the call is dropped or never polled.
    ///
    /// # Errors
    /// [`ErrorKind::Lost`](crate::ErrorKind::Lost) if the lock was lost before, with [the cause](crate::Error::lost);
    /// otherwise as [`release`](Self::release).
    pub fn finish(self) -> Op<()> {
        let engine = self.engine();
        Op::new(&engine, async move {
            let (hold, serial, token) = (self.hold().clone(), self.serial, self.token);
            match self.part(None).await? {
                Released::AlreadyLost => Err(LossSignal::new(hold, serial, token).await.into()),
                Released::Yes | Released::StillHeld(_) => Ok(()),
            }
        })
    }

    /// Releases the lock.
    ///
    /// Also returns [`Released::AlreadyLost`] if it turns out only now that the store no longer knows the lock: it was
    /// evicted, deleted, flushed, or taken by another holder. If the lock is passed on inside this process
    /// ([`local_turns`](crate::Builder::local_turns)), only the last holder asks the store.
    ///
    /// Cancel safety: the release is carried out even if the call is dropped or never polled.
    ///
    /// # Errors
    /// [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable) if the store did not answer for as long as the lease
    /// lasts. The lock is free once the lease has run out.
    pub fn release(self) -> Op<Released> {
        let engine = self.engine();
        Op::new(&engine, self.part(None))
    }

    /// Releases the lock, but keeps the name locked for `rest`, so that the next holder cannot start earlier.
    ///
    /// Where the store [cannot do that](crate::backend::Capabilities::keep_for), because grants live with the process or a
    /// session, the process keeps the name locked for that time, as long as it lives. [`Client::close`](crate::Client::close)
    /// waits for it as for a guard, and ends it with its grace. Where the same owner still holds the lock through other guards,
    /// the time runs already, and what is left of it counts when the last of them is released. The end of the lease ([`fixed`](crate::Lease::fixed),
    /// [`max_hold`](crate::Lease::max_hold)) does not shorten it.
    ///
    /// Cancel safety: the release is carried out in any case, but without the rest if the call is dropped before it was
    /// polled.
    ///
    /// # Errors
    /// As [`release`](Self::release).
    pub fn keep_for(self, rest: Duration) -> Op<Released> {
        let engine = self.engine();
        if self.hold().core.backend.info().capabilities.keep_for {
            return Op::new(&engine, self.part(Some(rest)));
        }
        Op::new(&engine, self.linger(rest))
    }

    /// Gives the lock back once the work is done: waits for the answer, but not for long. Tells how the lock was lost, if it was.
    pub(super) async fn end(self) -> Option<Lost> {
        let (core, signal) = (self.hold().core.clone(), self.lost());
        let parting = self.release();
        let released = tokio::select! {
            biased;
            released = parting => released,
            () = core.clock().sleep_until(core.now() + LAST_ANSWER) => return None,
        };
        match released {
            Ok(Released::AlreadyLost) => Some(signal.await),
            _ => None,
        }
    }

    pub(super) async fn part(self, keep_for: Option<Duration>) -> Result<Released> {
        if let Some(rest) = Self::has_to_linger(self.hold()) {
            // Boxed, because it may end here again.
            return Box::pin(self.linger(rest)).await;
        }
        let (hold, token) = (self.hold().clone(), self.token);
        match give_back(&hold, self.into_serial(), keep_for) {
            Returned::StillHeld(n) => still_held(&hold, token, n).await,
            Returned::Passed => Ok(Released::Yes),
            Returned::AlreadyLost(LossCause::Forked) => {
                Err(Lost::new(hold.name().clone(), token, LossCause::Forked).into())
            }
            Returned::AlreadyLost(_) => Ok(Released::AlreadyLost),
            // If the store does not answer, the lease ends by itself.
            Returned::Evicted(parting) => {
                let _ = parting.await;
                Ok(Released::AlreadyLost)
            }
            Returned::Send(parting) => parting.await,
        }
    }
}

/// An inner hold has ended: a fixed lease starts again for the outer one.
async fn still_held(hold: &Arc<Hold>, token: FencingToken, holds: usize) -> Result<Released> {
    if !hold.lease.renewed {
        start_again(hold, token).await?;
    }
    Ok(Released::StillHeld(holds))
}
