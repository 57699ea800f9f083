//! The nodes of this process that hold a lock.

use super::names::Marks;
use super::replies::{Data, Stat};
use crate::LossCause;
use crate::Moment;
use crate::backend::by_claim::ByClaim;
use crate::backend::{ClaimId, Session};
use crate::sync::lock;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The nodes of one session that hold a lock.
#[derive(Debug, Default)]
pub(super) struct Seats(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    seats: ByClaim<Seat>,
    by_path: HashMap<Arc<str>, ClaimId>,
}

/// A node that holds a lock.
#[derive(Debug)]
struct Seat {
    /// Lost with the session, or when somebody deletes the node.
    session: Session,
    path: Arc<str>,
    /// The version of the node's data as it was last read.
    version: i32,
    /// Its data have changed since they were read: whoever evicts changes them first.
    has_changed: bool,
    is_evicted: bool,
}

impl Seat {
    /// Why the node is gone.
    fn cause(&self) -> LossCause {
        if self.is_evicted || self.has_changed { LossCause::Evicted } else { LossCause::Gone }
    }
}

impl Seats {
    /// The session of the seat of a claim; takes the seat if it is not taken. Returns true if it was not.
    pub(super) fn take(&self, id: ClaimId, path: &str) -> (Session, bool) {
        let mut state = lock(&self.0);
        if let Some(seat) = state.seats.get(&id) {
            return (seat.session.clone(), false);
        }
        let (session, path) = (Session::new(), Arc::<str>::from(path));
        let seat = Seat {
            session: session.clone(),
            path: path.clone(),
            version: 0,
            has_changed: false,
            is_evicted: false,
        };
        state.seats.insert(id, seat);
        state.by_path.insert(path, id);
        (session, true)
    }

    /// The path and version of the node, unless its holder was evicted.
    pub(super) fn node(&self, id: ClaimId) -> Option<(Arc<str>, i32)> {
        let state = lock(&self.0);
        let seat = state.seats.get(&id).filter(|seat| !seat.is_evicted)?;
        Some((seat.path.clone(), seat.version))
    }

    /// Whether the holder was evicted, as far as is known.
    pub(super) fn is_evicted(&self, id: ClaimId) -> bool {
        lock(&self.0).seats.get(&id).is_some_and(|seat| seat.cause() == LossCause::Evicted)
    }

    /// The seat of the node, and that its data have changed.
    pub(super) fn changed(&self, path: &str) -> Option<ClaimId> {
        let mut state = lock(&self.0);
        let id = *state.by_path.get(path)?;
        state.seats.get_mut(&id)?.has_changed = true;
        Some(id)
    }

    /// Loses the seat of a node that was deleted.
    pub(super) fn deleted(&self, path: &str) {
        let id = lock(&self.0).by_path.get(path).copied();
        id.iter().for_each(|id| _ = self.gone(*id));
    }

    /// Loses a seat whose node is gone. Returns why it is.
    pub(super) fn gone(&self, id: ClaimId) -> LossCause {
        self.lose(id, |seat| Some(seat.cause())).unwrap_or(LossCause::Gone)
    }

    /// Takes note of what is in the node. Returns the cause if the seat is lost by that.
    pub(super) fn read(&self, id: ClaimId, node: &Data) -> Option<LossCause> {
        let (marks, Stat { version, .. }) = (Marks::of(&node.bytes), node.stat);
        self.lose(id, |seat| {
            seat.version = version;
            seat.is_evicted |= marks.is_evicted;
            seat.has_changed = false;
            seat.is_evicted.then_some(LossCause::Evicted)
        })
    }

    fn lose(&self, id: ClaimId, judge: impl FnOnce(&mut Seat) -> Option<LossCause>) -> Option<LossCause> {
        let mut state = lock(&self.0);
        let seat = state.seats.get_mut(&id)?;
        let (cause, session) = (judge(seat)?, seat.session.clone());
        drop(state);
        // It tells others, who may come back here.
        session.lose(cause);
        Some(cause)
    }

    /// The claims that have a seat, and their nodes.
    pub(super) fn all(&self) -> Vec<(ClaimId, Arc<str>)> {
        lock(&self.0).seats.iter().map(|(id, seat)| (*id, seat.path.clone())).collect()
    }

    /// Moves the end of all seats.
    pub(super) fn prove(&self, as_of: Moment, lasts: Duration) {
        lock(&self.0).seats.values().for_each(|seat| seat.session.prove(as_of, lasts));
    }

    /// Moves the end of all seats back, if it is later.
    pub(super) fn shorten(&self, end: Moment) {
        lock(&self.0).seats.values().for_each(|seat| seat.session.shorten(end));
    }

    pub(super) fn leave(&self, id: ClaimId) {
        let mut state = lock(&self.0);
        if let Some(seat) = state.seats.remove(&id) {
            state.by_path.remove(&seat.path);
        }
    }

    /// Ends all of them.
    pub(super) fn lose_all(&self, cause: LossCause) {
        let sessions: Vec<_> = lock(&self.0).seats.values().map(|seat| seat.session.clone()).collect();
        sessions.iter().for_each(|session| session.lose(cause));
    }
}
