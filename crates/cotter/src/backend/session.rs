//! Sessions, for grants that have no lease of their own.

use crate::sync::lock;
use crate::{LossCause, Moment};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

/// A liveness domain shared by grants: a server session, a connection, a lock file. When it is lost, every grant that
/// lives with it is lost.
///
/// A server ends the session of a client that is silent for too long, and a paused process cannot learn of it. So a
/// session that can be ended by anything other than this process needs a deadline: each sign of life from the server
/// is reported with [`prove`](Self::prove), and without a further one the session ends by itself, with
/// [`SessionLost`](LossCause::SessionLost). A session that ends only with the process, such as a kernel's lock on an
/// open file, needs no proof.
#[derive(Clone, Default)]
pub struct Session(Arc<Shared>);

#[derive(Default)]
struct Shared {
    /// True if there is a proof; readable without the lock, since a kernel's lock never has one.
    is_proved: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    lost: Option<LossCause>,
    proof: Option<(Moment, Duration)>,
    members: Vec<Weak<dyn OnLoss>>,
}

/// A grant that ends with its session.
pub(crate) trait OnLoss: Send + Sync {
    fn session_lost(self: Arc<Self>, cause: LossCause);
}

impl Session {
    /// Creates a live session.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the session: every grant that lives with it is lost. Only the first call has an effect.
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

    /// Records that the server keeps the session for `lasts` after `as_of`, which must not be later than the sending
    /// of the request whose answer proves it. The end never moves back, and a lost session stays lost.
    ///
    /// Prove at least once per third of `lasts`. The engine subtracts the clock drift from the end, as it does for
    /// leases.
    pub fn prove(&self, as_of: Moment, lasts: Duration) {
        let mut state = self.lock();
        if state.proof.is_none_or(|(before, lasted)| before + lasted < as_of + lasts) {
            state.proof = Some((as_of, lasts));
        }
        self.0.is_proved.store(true, Ordering::Release);
    }

    /// Records that the server may end the session after `end`, although it was proved for longer: it has told of a smaller
    /// limit, for instance. Guards end no later. The engine may learn of it later than that, so lose the session at its end.
    pub fn shorten(&self, end: Moment) {
        if let Some((as_of, lasts)) = &mut self.lock().proof {
            *lasts = (*lasts).min(end.since(*as_of));
        }
    }

    /// Returns the last proof as `(as_of, lasts)`; `None` for a session that ends only with the process.
    pub fn proof(&self) -> Option<(Moment, Duration)> {
        if !self.0.is_proved.load(Ordering::Acquire) {
            return None;
        }
        self.lock().proof
    }

    /// Returns the cause of the loss, if the session is lost.
    pub fn lost(&self) -> Option<LossCause> {
        self.lock().lost
    }

    /// Notifies `member` when the session is lost, or immediately if it is lost already.
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

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.0.state)
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let State { lost, proof, .. } = &*self.lock();
        f.debug_struct("Session").field("lost", lost).field("proof", proof).finish_non_exhaustive()
    }
}
