//! What some grants live with.

use crate::LossCause;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A liveness domain that grants share: a server session, a connection, a lock file. Lost once, told to all.
#[derive(Clone, Default)]
pub struct Session(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    lost: Option<LossCause>,
    members: Vec<Weak<dyn OnLoss>>,
}

/// Who is told that a session is lost.
pub(crate) trait OnLoss: Send + Sync {
    fn session_lost(self: Arc<Self>, cause: LossCause);
}

impl Session {
    /// A session that lives.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends it: every grant that lives with it is lost. Only the first call counts.
    pub fn lose(&self, cause: LossCause) {
        let members = {
            let mut state = self.lock();
            if state.lost.is_some() {
                return;
            }
            state.lost = Some(cause);
            std::mem::take(&mut state.members)
        };
        members.iter().filter_map(Weak::upgrade).for_each(|m| m.session_lost(cause));
    }

    /// How it ended, if it did.
    pub fn lost(&self) -> Option<LossCause> {
        self.lock().lost
    }

    /// Tells `member` when the session is lost; at once when it is lost already.
    pub(crate) fn join(&self, member: Weak<dyn OnLoss>) {
        let lost = {
            let mut state = self.lock();
            if state.lost.is_none() {
                state.members.retain(|m| m.strong_count() > 0);
                state.members.push(member);
                return;
            }
            state.lost
        };
        if let (Some(cause), Some(member)) = (lost, member.upgrade()) {
            member.session_lost(cause);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("lost", &self.lost()).finish_non_exhaustive()
    }
}
