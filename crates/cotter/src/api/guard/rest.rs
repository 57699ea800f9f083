//! Keeping a name locked after the release, where the store cannot do that without the holder.

use super::Guard;
use super::extend::ask_to_extend;
use crate::backend::MAX_TTL;
use crate::engine::timing::RENEWAL_SHARE;
use crate::engine::{Hold, in_background};
use crate::{Moment, Released, Result};
use std::time::Duration;

/// A guard whose lock is kept for a while. That begins when this is dropped, so it also happens if the caller does not wait for the
/// answer.
struct Rest {
    guard: Option<Guard>,
    time: Duration,
}

impl Guard {
    pub(super) async fn linger(self, time: Duration) -> Result<Released> {
        let hold = self.hold().clone();
        let mut rest = Rest { guard: Some(self), time };
        // A grant that lives with its process may have gone unnoticed: the store is asked before it is kept.
        if hold.count() == 1 && hold.lost().is_none() {
            ask_to_extend(&hold, time.min(MAX_TTL)).await?;
        }
        match rest.guard.take_if(|_| !hold.end_re_entry() || hold.lost().is_some()) {
            Some(guard) => {
                if hold.count() > 1 {
                    hold.keep_until(hold.core.now() + time);
                }
                guard.part(None).await
            }
            None => Ok(Released::Yes),
        }
    }

    /// Whether the last guard of a hold has to keep the name locked for others that were released before it.
    pub(super) fn has_to_linger(hold: &Hold) -> Option<Duration> {
        let is_last = !hold.core.backend.info().capabilities.keep_for && hold.count() == 1;
        is_last.then(|| hold.left_to_keep()).flatten().filter(|_| hold.loss().is_none())
    }

    /// The same as [`linger`](Self::linger) for a guard that is dropped.
    pub(super) fn linger_unheard(self, time: Duration) {
        drop(Rest { guard: Some(self), time });
    }

    /// Keeps the lock until then, unless it is lost.
    async fn keep_until(self, end: Moment) {
        let (hold, core, lost) = (self.hold().clone(), self.hold().core.clone(), self.lost());
        let is_renewed = hold.lease.renewed || hold.grant.ttl.is_none();
        let keeping = async {
            while core.now() < end {
                let step = if is_renewed { end } else { core.now() + hold.lease.ttl / RENEWAL_SHARE };
                core.clock().sleep_until(step.min(end)).await;
                if !is_renewed {
                    // Without an answer it is asked again.
                    let _ = ask_to_extend(&hold, hold.lease.ttl).await;
                    core.engine.agenda().moved(&hold);
                }
            }
        };
        tokio::select! {
            biased;
            _ = lost => {}
            () = keeping => {}
        }
    }
}

impl Drop for Rest {
    fn drop(&mut self) {
        let Some(guard) = self.guard.take() else { return };
        let hold = guard.hold();
        if hold.end_re_entry() && hold.lost().is_none() {
            let core = hold.core.clone();
            hold.tell_kept();
            // The time is the next holder's, not part of the work whose length the lease limits.
            hold.lift_end();
            core.engine.agenda().moved(hold);
            in_background(&core, guard.keep_until(core.now() + self.time));
        }
    }
}
