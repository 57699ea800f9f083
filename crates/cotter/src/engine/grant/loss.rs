//! The loss of a hold.

use super::release::ReleaseCall;
use crate::backend::OnLoss;
use crate::engine::background::in_background;
use crate::engine::grant::give_back::frees_at_once;
use crate::engine::grant::hold::Hold;
use crate::engine::line::run::change;
use crate::engine::line::state::Holding;
use crate::{FencingToken, LossCause, Lost};
use std::sync::Arc;
use std::task::Waker;

impl Hold {
    /// Returns the cause of the loss, if the hold is lost. Checks the clock: a paused holder learns of the loss here
    /// first.
    pub(crate) fn lost(self: &Arc<Self>) -> Option<LossCause> {
        let cause = self.loss()?;
        if cause != LossCause::Forked {
            self.lose(cause);
        }
        Some(cause)
    }

    /// Marks the hold as lost, wakes all listeners, and frees anything that the store may still hold. Only the first
    /// call has an effect.
    pub(crate) fn lose(self: &Arc<Self>, cause: LossCause) {
        if let (LossCause::SessionLost, Some(session)) = (cause, &self.grant.session) {
            // A session that has ended for one grant has ended for all.
            session.lose(cause);
        }
        let Some((wakers, ended)) = self.mark_lost(cause) else { return };
        self.tell_lost(cause, ended);
        // Update the line before waking: a woken task that tries again must not find the old hold there.
        after_loss(self, cause);
        wakers.into_iter().for_each(Waker::wake);
    }

    pub(crate) fn check(self: &Arc<Self>, token: FencingToken) -> Result<(), Lost> {
        match self.lost() {
            None => Ok(()),
            Some(cause) => Err(Lost { name: self.name().clone(), token, cause }),
        }
    }
}

impl OnLoss for Hold {
    fn session_lost(self: Arc<Self>, cause: LossCause) {
        self.lose(cause);
    }
}

/// Handles a lost hold: local waiters ask again, and anything that the store still keeps is freed.
fn after_loss(hold: &Arc<Hold>, cause: LossCause) {
    let freed = frees_at_once(cause);
    change(&hold.core, &hold.line, |state| state.lost(hold, freed, hold.has_owner() && hold.count() > 0));
    hold.core.engine.agenda().remove(hold);
    if freed {
        send_in_background(hold);
    }
}

fn send_in_background(hold: &Arc<Hold>) {
    let call = ReleaseCall::new(hold, None);
    in_background(&hold.core, async move { drop(call.await) });
}
