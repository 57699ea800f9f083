//! Acquire requests that may still arrive at the store.
//!
//! A request whose answer never came (its caller was dropped, it timed out, the connection broke) may reach the store
//! after the release of its claim and take the lock again. A backend whose connections keep their requests in order
//! registers each acquire request here, and after each release checks whether one may still arrive.

use super::ClaimId;
use super::by_claim::ByClaim;
use crate::Moment;
use crate::sync::lock;
use std::collections::hash_map::Entry;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The unanswered acquire requests of this process, by claim.
///
/// Share one instance among all connections of a store: a claim may be released on a different connection from the one
/// that carried its request. A request that is answered costs neither a lock nor an allocation.
///
/// ```
/// # use cotter::{backend::{ClaimId, inflight::InFlight}, clock::Moment};
/// # use std::time::Duration;
/// let (in_flight, claim) = (InFlight::default(), ClaimId::random());
/// let (now, latest) = (Moment::ZERO, Moment::ZERO + Duration::from_secs(10));
/// // The first request is answered, the second is abandoned.
/// in_flight.send(claim, 1, latest).answered();
/// drop(in_flight.send(claim, 1, latest));
/// // A release on connection 2 may have overtaken it; one on connection 1 cannot have.
/// assert_eq!(in_flight.stray_until(claim, 2, now), Some(latest));
/// assert_eq!(in_flight.stray_until(claim, 1, now), None);
/// ```
#[derive(Debug, Default)]
pub struct InFlight {
    unanswered: Mutex<ByClaim<Unanswered>>,
    /// The number of claims in `unanswered`. It is almost always 0, in which case the mutex is not locked.
    count: AtomicUsize,
}

impl InFlight {
    /// Registers a request; call this before the first byte is sent. `connection` is the number of the connection that
    /// carries the request, `arrives_by` the latest time at which it may still reach the store.
    pub fn send(&self, id: ClaimId, connection: u64, arrives_by: Moment) -> Request<'_> {
        Request { in_flight: self, id, sent: Sent { connection, arrives_by }, answered: false }
    }

    /// Returns the moment until which a request of the claim may still arrive, given that a release has just been
    /// answered on `connection`; `None` if none can. A backend answers such a release with
    /// [`Release::Unsettled`](super::Release::Unsettled).
    pub fn stray_until(&self, id: ClaimId, connection: u64, now: Moment) -> Option<Moment> {
        if self.count.load(Ordering::Acquire) == 0 {
            return None;
        }
        self.answered(id, connection);
        let mut unanswered = lock(&self.unanswered);
        if !unanswered.contains_key(&id) {
            return None;
        }
        // Also removes claims that are never released.
        unanswered.retain(|_, requests| requests.arrive_by() > now);
        self.count.store(unanswered.len(), Ordering::Release);
        unanswered.get(&id).map(Unanswered::arrive_by)
    }

    /// Whether a request of the claim may still arrive on another connection than this one.
    #[cfg(feature = "mysql")]
    pub(crate) fn is_elsewhere(&self, id: ClaimId, connection: u64) -> bool {
        let all = |unanswered: &Unanswered| {
            unanswered.last.connection == connection && unanswered.before.is_empty()
        };
        self.count.load(Ordering::Acquire) > 0 && lock(&self.unanswered).get(&id).is_some_and(|u| !all(u))
    }

    /// Forgets the requests of a claim: those that still arrive have no effect.
    #[cfg(feature = "mysql")]
    pub(crate) fn settled(&self, id: ClaimId) {
        if self.count.load(Ordering::Acquire) > 0 {
            let mut unanswered = lock(&self.unanswered);
            unanswered.remove(&id);
            self.count.store(unanswered.len(), Ordering::Release);
        }
    }

    fn insert(&self, id: ClaimId, sent: Sent) {
        let mut unanswered = lock(&self.unanswered);
        match unanswered.entry(id) {
            Entry::Vacant(entry) => _ = entry.insert(Unanswered { last: sent, before: Vec::new() }),
            Entry::Occupied(mut entry) => entry.get_mut().push(sent),
        }
        self.count.store(unanswered.len(), Ordering::Release);
    }

    /// A connection carries its requests in order: an answer settles all requests sent earlier on it.
    fn answered(&self, id: ClaimId, connection: u64) {
        if self.count.load(Ordering::Acquire) == 0 {
            return;
        }
        let mut unanswered = lock(&self.unanswered);
        if let Entry::Occupied(mut entry) = unanswered.entry(id)
            && !entry.get_mut().answered(connection)
        {
            entry.remove();
        }
        self.count.store(unanswered.len(), Ordering::Release);
    }
}

/// A request that was sent. If it is dropped without [`answered`](Self::answered), it stays registered as a request
/// that may still arrive.
#[derive(Debug)]
#[must_use = "dropped, the request counts as unanswered"]
pub struct Request<'a> {
    in_flight: &'a InFlight,
    id: ClaimId,
    sent: Sent,
    answered: bool,
}

impl Request<'_> {
    /// Records that the outcome of this request is known, and of all earlier ones on the same connection.
    pub fn answered(mut self) {
        self.answered = true;
        self.in_flight.answered(self.id, self.sent.connection);
    }
}

impl Drop for Request<'_> {
    fn drop(&mut self) {
        if !self.answered {
            self.in_flight.insert(self.id, self.sent);
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Sent {
    connection: u64,
    arrives_by: Moment,
}

/// The unanswered requests of one claim. An answer on one connection says nothing about a request on another.
#[derive(Debug)]
struct Unanswered {
    last: Sent,
    /// The last requests on connections that have since been replaced.
    before: Vec<Sent>,
}

impl Unanswered {
    fn push(&mut self, sent: Sent) {
        let last = std::mem::replace(&mut self.last, sent);
        if last.connection != sent.connection {
            self.before.push(last);
        }
    }

    /// Returns false when none is left.
    fn answered(&mut self, connection: u64) -> bool {
        self.before.retain(|sent| sent.connection != connection);
        if self.last.connection != connection {
            return true;
        }
        self.before.pop().map(|sent| self.last = sent).is_some()
    }

    fn arrive_by(&self) -> Moment {
        let before = self.before.iter().map(|sent| sent.arrives_by).max();
        before.map_or(self.last.arrives_by, |moment| moment.max(self.last.arrives_by))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn at(seconds: u64) -> Moment {
        Moment::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn an_answer_on_one_connection_says_nothing_about_another() {
        let (in_flight, id) = (InFlight::default(), ClaimId::random());
        drop(in_flight.send(id, 1, at(12)));
        drop(in_flight.send(id, 2, at(10)));
        in_flight.send(id, 2, at(14)).answered();
        assert_eq!(in_flight.stray_until(id, 2, at(0)), Some(at(12)));
        assert_eq!(in_flight.stray_until(ClaimId::random(), 2, at(0)), None);
        assert_eq!(in_flight.stray_until(id, 1, at(0)), None);
        assert_eq!(in_flight.count.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_request_that_cannot_arrive_any_more_is_forgotten() {
        let (in_flight, id) = (InFlight::default(), ClaimId::random());
        drop(in_flight.send(id, 1, at(12)));
        assert_eq!(in_flight.stray_until(id, 2, at(11)), Some(at(12)));
        assert_eq!(in_flight.stray_until(id, 2, at(12)), None);
        assert_eq!(in_flight.count.load(Ordering::Relaxed), 0);
    }
}
