//! The claims of this process.

use crate::backend::by_claim::ByClaim;
use crate::backend::{ClaimId, Grant};
use crate::sync::lock;
use crate::{Error, ErrorKind, LossCause};
use std::sync::{Arc, Mutex};
use tokio::sync::watch;

/// Every claim whose task may have left something in the server.
#[derive(Debug)]
pub(crate) struct Seats<I>(Mutex<ByClaim<Arc<Seat<I>>>>);

/// One claim, as its task and its callers see it.
#[derive(Debug)]
pub(super) struct Seat<I> {
    state: watch::Sender<State<I>>,
    /// The turns that were used, once the claim is released.
    left: watch::Sender<Option<u16>>,
}

/// The state of a claim.
#[derive(Debug, Clone)]
pub(super) enum State<I> {
    Asking,
    Granted(Grant),
    Ended(End<I>),
}

/// How a claim has ended.
#[derive(Debug, Clone)]
pub(super) enum End<I> {
    /// Nothing of it is in the server, and nothing was given back.
    Nothing,
    /// It was held, or waited for, and was given back.
    Released,
    /// It failed, and nothing of it is in the server.
    Failed(Error),
    /// The connection broke. The session may be in the server still, and hold the lock or wait for it.
    Broken(I, Error),
}

impl<I> Default for Seats<I> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<I: Clone> Seats<I> {
    /// Registers a claim, before the first byte of it is sent. True if it is new.
    pub(super) fn enter(&self, id: ClaimId) -> (Arc<Seat<I>>, bool) {
        let mut seats = lock(&self.0);
        if let Some(seat) = seats.get(&id) {
            return (seat.clone(), false);
        }
        let seat =
            Arc::new(Seat { state: watch::Sender::new(State::Asking), left: watch::Sender::new(None) });
        seats.insert(id, seat.clone());
        (seat, true)
    }

    pub(super) fn get(&self, id: ClaimId) -> Option<Arc<Seat<I>>> {
        lock(&self.0).get(&id).cloned()
    }

    /// Forgets a claim of which nothing is left.
    pub(super) fn forget(&self, id: ClaimId) {
        lock(&self.0).remove(&id);
    }

    /// Has all claims end.
    pub(super) fn leave_all(&self) {
        lock(&self.0).values().for_each(|seat| seat.leave(u16::MAX));
    }
}

impl<I: Clone> Seat<I> {
    pub(super) fn state(&self) -> State<I> {
        self.state.borrow().clone()
    }

    pub(super) fn granted(&self, grant: Grant) {
        self.state.send_replace(State::Granted(grant));
    }

    pub(super) fn end(&self, end: End<I>) {
        self.state.send_replace(State::Ended(end));
    }

    /// Its task has ended. If it has not said how, it never will: a grant is lost, and what may be in the server with it is what its
    /// session has.
    pub(super) fn deserted(&self, session: Option<I>) {
        match self.state() {
            State::Ended(_) => return,
            State::Granted(grant) => grant.session.iter().for_each(|life| life.lose(LossCause::SessionLost)),
            State::Asking => {}
        }
        self.end(match session {
            Some(session) => End::Broken(session, crashed()),
            None => End::Failed(crashed()),
        });
    }

    /// Has the task end, after `used` turns.
    pub(super) fn leave(&self, used: u16) {
        self.left.send_replace(Some(used));
    }

    /// Completes when the claim is released, with the turns that were used. Cancel safe.
    pub(super) async fn is_left(&self) -> u16 {
        let mut left = self.left.subscribe();
        let used = left.wait_for(Option::is_some).await.map(|used| *used);
        match used {
            Ok(used) => used.unwrap_or_default(),
            Err(_) => std::future::pending().await,
        }
    }

    /// Waits for the grant or the end. Cancel safe.
    pub(super) async fn answer(&self) -> State<I> {
        self.wait(|state| match state {
            State::Asking => None,
            answer => Some(answer.clone()),
        })
        .await
    }

    /// Waits for the end. Cancel safe.
    pub(super) async fn ended(&self) -> End<I> {
        self.wait(|state| match state {
            State::Ended(end) => Some(end.clone()),
            State::Asking | State::Granted(_) => None,
        })
        .await
    }

    /// The task always comes to an end, and says so ([`deserted`](Self::deserted)).
    async fn wait<T>(&self, mut wanted: impl FnMut(&State<I>) -> Option<T>) -> T {
        let mut state = self.state.subscribe();
        loop {
            if let Some(found) = wanted(&state.borrow_and_update()) {
                return found;
            }
            if state.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }
}

/// The error for a claim whose task has ended without an answer.
fn crashed() -> Error {
    let why = "the request ended without an answer: the client was closed, or its task panicked";
    Error::new(ErrorKind::Unavailable, why)
}
