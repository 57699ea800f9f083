//! The claims of this process that wait for a message of the server.

use super::state::Message;
use crate::Moment;
use crate::backend::ClaimId;
use crate::backend::by_claim::ByClaim;
use crate::stores::shared::net::OpenChannels;
use crate::sync::lock;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;

/// The waiting claims of a store, shared by all of its connections: a claim may join the queue on one connection and get
/// its message on another.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    claims: Arc<Mutex<ByClaim<State>>>,
    /// Those that this process is subscribed to.
    pub(super) channels: OpenChannels,
}

#[derive(Debug)]
enum State {
    /// The request that joins the queue is on its way. A message may arrive before its answer.
    Joining(Option<Message>),
    Waiting(Arc<Waiter>),
    /// Granted after waiting, and not released yet. Another message about it may still come, and must not free it.
    Granted,
}

/// A claim that waits for its message.
#[derive(Debug, Default)]
pub(super) struct Waiter {
    pub(super) woken: Arc<Notify>,
    message: Mutex<Option<Message>>,
    /// The answer to the request that joined the queue, until somebody waits on.
    joined: Mutex<Option<Joined>>,
}

/// A place in the queue, as the answer to a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Joined {
    pub(super) ticket: u64,
    /// When the request was sent.
    pub(super) sent: Moment,
    /// The rest of the holder's lease.
    pub(super) left: Duration,
    pub(super) position: u64,
}

/// Whether a message was for a claim of this process.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    Delivered,
    /// No such claim is known: nobody uses the grant.
    Unknown,
}

impl Waiters {
    /// The same claims, for another server: channels are open on one server each.
    pub(super) fn elsewhere(&self) -> Arc<Self> {
        Arc::new(Self { claims: self.claims.clone(), channels: OpenChannels::default() })
    }

    /// Registers a claim that waits, or goes on with what [`join`](Self::join) has registered.
    pub(super) fn wait(self: &Arc<Self>, id: ClaimId) -> Registration {
        let waiter = match lock(&self.claims).entry(id) {
            Entry::Occupied(mut entry) => {
                if !matches!(entry.get(), State::Waiting(_)) {
                    entry.insert(State::Waiting(Arc::default()));
                }
                let State::Waiting(waiter) = entry.get() else { unreachable!("it was just put there") };
                waiter.clone()
            }
            Entry::Vacant(entry) => {
                let waiter = Arc::<Waiter>::default();
                entry.insert(State::Waiting(waiter.clone()));
                waiter
            }
        };
        Registration { waiters: self.clone(), id, waiter }
    }

    /// Registers a claim whose next request may join the queue; call it before the first byte leaves.
    pub(super) fn join(self: &Arc<Self>, id: ClaimId) -> Joining {
        lock(&self.claims).insert(id, State::Joining(None));
        Joining { waiters: self.clone(), id }
    }

    pub(super) fn deliver(&self, message: Message) -> Delivery {
        let mut claims = lock(&self.claims);
        match claims.get_mut(&message.id) {
            None => return Delivery::Unknown,
            Some(State::Granted) => {}
            Some(State::Joining(early)) => *early = Some(message),
            Some(State::Waiting(waiter)) => {
                let mut latest = lock(&waiter.message);
                if latest.as_ref().is_none_or(|old| old.ticket <= message.ticket) {
                    *latest = Some(message);
                }
                waiter.woken.notify_one();
            }
        }
        Delivery::Delivered
    }

    /// Has this waiter send its request again.
    pub(super) fn wake(&self, id: ClaimId) {
        if let Some(State::Waiting(waiter)) = lock(&self.claims).get(&id) {
            waiter.woken.notify_one();
        }
    }

    /// Has every waiter send its request again: messages may have been missed.
    pub(super) fn wake_all(&self) {
        for state in lock(&self.claims).values() {
            if let State::Waiting(waiter) = state {
                waiter.woken.notify_one();
            }
        }
    }

    /// Forgets a claim that is being released.
    pub(super) fn forget(&self, id: ClaimId) {
        lock(&self.claims).remove(&id);
    }
}

/// A claim whose joining request is on its way. Forgotten when it is dropped.
#[derive(Debug)]
pub(super) struct Joining {
    waiters: Arc<Waiters>,
    id: ClaimId,
}

impl Joining {
    /// The claim has a place in the queue. The waiting `acquire` that follows goes on from there, or its release.
    pub(super) fn joined(self, joined: Joined) {
        if let Some(state) = lock(&self.waiters.claims).get_mut(&self.id)
            && let State::Joining(early) = state
        {
            let (message, joined) = (Mutex::new(early.take()), Mutex::new(Some(joined)));
            *state = State::Waiting(Arc::new(Waiter { message, joined, ..Waiter::default() }));
        }
    }
}

impl Drop for Joining {
    fn drop(&mut self) {
        let mut claims = lock(&self.waiters.claims);
        if matches!(claims.get(&self.id), Some(State::Joining(_))) {
            claims.remove(&self.id);
        }
    }
}

/// A registered waiter. Forgotten when it is dropped, unless the claim was granted.
#[derive(Debug)]
pub(super) struct Registration {
    waiters: Arc<Waiters>,
    id: ClaimId,
    pub(super) waiter: Arc<Waiter>,
}

impl Registration {
    /// Takes the place in the queue that an earlier request has got, if one has.
    pub(super) fn take_joined(&self) -> Option<Joined> {
        lock(&self.waiter.joined).take()
    }

    /// Takes the message, if there is one with this ticket.
    pub(super) fn take_message(&self, ticket: u64) -> Option<Message> {
        lock(&self.waiter.message).take_if(|m| m.ticket == ticket)
    }

    /// Records that the claim was granted.
    pub(super) fn granted(&self) {
        if let Some(state) = lock(&self.waiters.claims).get_mut(&self.id) {
            *state = State::Granted;
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut claims = lock(&self.waiters.claims);
        let ours = matches!(claims.get(&self.id), Some(State::Waiting(w)) if Arc::ptr_eq(w, &self.waiter));
        if ours {
            claims.remove(&self.id);
        }
    }
}
