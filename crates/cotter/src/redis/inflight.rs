//! What is known of the claims of this process: who waits, who holds, whose question was not answered.

use super::claims::ByClaim;
use super::state::Message;
use crate::Moment;
use crate::backend::ClaimId;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// Shared by all connections of a store, because a claim may be released on another one than it was granted on.
#[derive(Debug, Default)]
pub(super) struct Desk {
    seats: Mutex<ByClaim<Seat>>,
    /// Channels that somebody here listens on.
    ears: Mutex<Vec<Arc<str>>>,
    unanswered: Mutex<ByClaim<Unanswered>>,
    /// How many claims stand there. Most questions are answered before anybody asks: they need not look.
    open: AtomicUsize,
}

#[derive(Debug)]
enum Seat {
    /// Its first question, which may get it a place, is on its way; a message may be here before the answer.
    Coming(Option<Message>),
    Waiting(Arc<Waiter>),
    /// Granted after waiting and not released: a message about it may still come, and must not free it.
    Holding,
}

/// One that waits for a message.
#[derive(Debug, Default)]
pub(super) struct Waiter {
    pub(super) woken: Arc<Notify>,
    message: Mutex<Option<Message>>,
    /// Where its first question got it, until somebody goes on from there.
    got: Mutex<Option<Got>>,
}

/// A place in the queue, and the question that was answered with it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Got {
    pub(super) ticket: u64,
    pub(super) sent: Moment,
    pub(super) left: Duration,
    pub(super) position: u64,
}

/// Questions of one claim that may still be on their way. A later one that was answered says nothing about an earlier
/// one on another connection.
#[derive(Debug)]
struct Unanswered {
    last: Question,
    /// On connections that were replaced since.
    before: Vec<Question>,
}

#[derive(Debug, Clone, Copy)]
struct Question {
    /// The connection that carries it.
    carrier: u64,
    /// It arrives by then, or never.
    stray_until: Moment,
}

/// What to do about a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Addressee {
    Told,
    /// This process knows no such claim: the grant is nobody's.
    Unknown,
}

impl Desk {
    /// Takes a seat for a claim that waits; the one that its first question got it, if there is one.
    pub(super) fn wait(self: &Arc<Self>, id: ClaimId) -> Seated {
        let waiter = match lock(&self.seats).entry(id) {
            Entry::Occupied(mut entry) => {
                if !matches!(entry.get(), Seat::Waiting(_)) {
                    entry.insert(Seat::Waiting(Arc::default()));
                }
                let Seat::Waiting(waiter) = entry.get() else { unreachable!("it was just put there") };
                waiter.clone()
            }
            Entry::Vacant(entry) => {
                let waiter = Arc::<Waiter>::default();
                entry.insert(Seat::Waiting(waiter.clone()));
                waiter
            }
        };
        Seated { desk: self.clone(), id, waiter }
    }

    /// Before the first byte of a first question leaves that may get a place.
    pub(super) fn comes(self: &Arc<Self>, id: ClaimId) -> Coming {
        lock(&self.seats).insert(id, Seat::Coming(None));
        Coming { desk: self.clone(), id }
    }

    /// Somebody listens on this channel from now on, or does so no more.
    pub(super) fn hears(&self, channel: &Arc<str>, yes: bool) {
        let mut ears = lock(&self.ears);
        ears.retain(|c| c != channel);
        if yes {
            ears.push(channel.clone());
        }
    }

    /// A channel that somebody here listens on.
    pub(super) fn ear(&self) -> Option<Arc<str>> {
        lock(&self.ears).last().cloned()
    }

    pub(super) fn deliver(&self, message: Message) -> Addressee {
        let mut seats = lock(&self.seats);
        match seats.get_mut(&message.id) {
            None => Addressee::Unknown,
            Some(Seat::Holding) => Addressee::Told,
            Some(Seat::Coming(early)) => {
                *early = Some(message);
                Addressee::Told
            }
            Some(Seat::Waiting(waiter)) => {
                let mut slot = lock(&waiter.message);
                if slot.as_ref().is_none_or(|old| old.ticket <= message.ticket) {
                    *slot = Some(message);
                }
                waiter.woken.notify_one();
                Addressee::Told
            }
        }
    }

    /// Has everybody who waits ask again: messages may have been missed.
    pub(super) fn wake_all(&self) {
        for seat in lock(&self.seats).values() {
            if let Seat::Waiting(waiter) = seat {
                waiter.woken.notify_one();
            }
        }
    }

    /// The claim is given up or given back.
    pub(super) fn leave(&self, id: ClaimId) {
        lock(&self.seats).remove(&id);
    }

    /// Before the first byte of a question leaves. Whoever asks keeps what this answers for as long as the answer may
    /// come; should the question be given up before, it is entered here.
    pub(super) fn asks(&self, id: ClaimId, carrier: u64, stray_until: Moment) -> Asked<'_> {
        Asked { desk: self, id, question: Question { carrier, stray_until }, open: true }
    }

    fn enter(&self, id: ClaimId, question: Question) {
        let mut unanswered = lock(&self.unanswered);
        match unanswered.entry(id) {
            Entry::Vacant(entry) => _ = entry.insert(Unanswered { last: question, before: Vec::new() }),
            Entry::Occupied(mut entry) => entry.get_mut().asks(question),
        }
        self.open.store(unanswered.len(), Ordering::Release);
    }

    /// No question of this claim is on its way any more on this connection, which carries them one behind the other.
    pub(super) fn answered(&self, id: ClaimId, carrier: u64) {
        if self.open.load(Ordering::Acquire) == 0 {
            return;
        }
        let mut unanswered = lock(&self.unanswered);
        if let Entry::Occupied(mut entry) = unanswered.entry(id)
            && !entry.get_mut().answered(carrier)
        {
            entry.remove();
        }
        self.open.store(unanswered.len(), Ordering::Release);
    }

    /// Until when a question of the claim may still arrive although a release on `carrier` was just answered; `None` when
    /// none can.
    pub(super) fn stray_until(&self, id: ClaimId, carrier: u64, now: Moment) -> Option<Moment> {
        if self.open.load(Ordering::Acquire) == 0 {
            return None;
        }
        self.answered(id, carrier);
        let mut unanswered = lock(&self.unanswered);
        if !unanswered.contains_key(&id) {
            return None;
        }
        // Those that nobody releases any more go as well.
        unanswered.retain(|_, questions| questions.stray_until() > now);
        self.open.store(unanswered.len(), Ordering::Release);
        unanswered.get(&id).map(Unanswered::stray_until)
    }
}

/// A question that is on its way.
#[derive(Debug)]
pub(super) struct Asked<'a> {
    desk: &'a Desk,
    id: ClaimId,
    question: Question,
    open: bool,
}

impl Asked<'_> {
    /// What came of it is known, and of all before it on the same connection.
    pub(super) fn answered(mut self) {
        self.open = false;
        self.desk.answered(self.id, self.question.carrier);
    }
}

/// It may still arrive.
impl Drop for Asked<'_> {
    fn drop(&mut self) {
        if self.open {
            self.desk.enter(self.id, self.question);
        }
    }
}

impl Unanswered {
    fn asks(&mut self, question: Question) {
        let last = std::mem::replace(&mut self.last, question);
        if last.carrier != question.carrier {
            self.before.push(last);
        }
    }

    /// False when none is left.
    fn answered(&mut self, carrier: u64) -> bool {
        self.before.retain(|q| q.carrier != carrier);
        if self.last.carrier != carrier {
            return true;
        }
        self.before.pop().map(|q| self.last = q).is_some()
    }

    fn stray_until(&self) -> Moment {
        let before = self.before.iter().map(|q| q.stray_until).max();
        before.map_or(self.last.stray_until, |m| m.max(self.last.stray_until))
    }
}

/// One whose first question is on its way. Forgotten when it is dropped.
#[derive(Debug)]
pub(super) struct Coming {
    desk: Arc<Desk>,
    id: ClaimId,
}

impl Coming {
    /// It has got a place: somebody goes on from there, or releases the claim.
    pub(super) fn got(self, got: Got) {
        if let Some(seat) = lock(&self.desk.seats).get_mut(&self.id)
            && let Seat::Coming(early) = seat
        {
            let message = Mutex::new(early.take());
            *seat =
                Seat::Waiting(Arc::new(Waiter { message, got: Mutex::new(Some(got)), ..Waiter::default() }));
        }
    }
}

impl Drop for Coming {
    fn drop(&mut self) {
        let mut seats = lock(&self.desk.seats);
        if matches!(seats.get(&self.id), Some(Seat::Coming(_))) {
            seats.remove(&self.id);
        }
    }
}

/// A seat that is left when it is dropped, unless the claim was granted.
#[derive(Debug)]
pub(super) struct Seated {
    desk: Arc<Desk>,
    id: ClaimId,
    pub(super) waiter: Arc<Waiter>,
}

impl Seated {
    /// The place that its first question got it, once.
    pub(super) fn got(&self) -> Option<Got> {
        lock(&self.waiter.got).take()
    }

    /// The message, if there is one with this ticket.
    pub(super) fn take(&self, ticket: u64) -> Option<Message> {
        lock(&self.waiter.message).take_if(|m| m.ticket == ticket)
    }

    /// The claim holds from now on.
    pub(super) fn hold(&self) {
        if let Some(seat) = lock(&self.desk.seats).get_mut(&self.id) {
            *seat = Seat::Holding;
        }
    }
}

impl Drop for Seated {
    fn drop(&mut self) {
        let mut seats = lock(&self.desk.seats);
        let ours = matches!(seats.get(&self.id), Some(Seat::Waiting(w)) if Arc::ptr_eq(w, &self.waiter));
        if ours {
            seats.remove(&self.id);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
