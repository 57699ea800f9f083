//! How long the servers keep a session.
//!
//! # What counts
//! Only the leader ends sessions, so whatever a follower answers on its own proves nothing: one that is cut off from the leader
//! goes on to answer reads and pings for a while. Neither does what the leader answers on its own, such as `sync`: a leader that
//! was replaced goes on until it notices, while its successor ends the session. Only a write proves that there is no
//! other leader, because a majority has to agree to it: the next one begins later, and gives each session its whole length anew.
//!
//! A write proves the leader, but does not tell it that the client is alive. A follower does that, twice a tick, for all signs of
//! life of its clients: so the leader knows of those *before* the write.
//!
//! So the last write bounds the end of a session in two ways: it counts for two thirds of the session; and the last sign of life
//! that was sent at least a quarter of the session earlier counts for the whole. A session is at least two ticks long, so a
//! quarter of it is half a tick, after which the leader knows. The first sign of life is the request that began the session, to
//! which a majority has agreed.
//!
//! # Its length
//! Each server that the client connects to determines the length of the session anew, and may make it shorter. That counts from
//! the moment at which it was asked to go on with the session.

use crate::Moment;
use std::collections::VecDeque;
use std::time::Duration;

/// The part of a session after which the next sign of life is sent. Of regular ones, that which is a quarter of the session older
/// than another one is at most a third of it older: so each write counts for two thirds of the session.
pub(super) const SIGNS: u32 = 9;
/// Every so many signs of life are a write: one for each third of the time for which it counts.
pub(super) const WRITES: u32 = 2;

/// The signs of life that were answered.
#[derive(Debug)]
pub(super) struct Proofs {
    /// The length of the session.
    session: Duration,
    /// When each was sent, in order. One of them is older than a quarter of the session, or begins it.
    signs: VecDeque<Moment>,
    /// The last one to which a majority has agreed.
    written: Moment,
    end: Moment,
}

impl Proofs {
    /// For a session that was asked for at that moment, and exists.
    pub(super) fn new(session: Duration, asked: Moment) -> Self {
        let end = asked + session * 2 / 3;
        Self { session, signs: VecDeque::from([asked]), written: asked, end }
    }

    /// Records that a sign of life was answered that was sent then.
    pub(super) fn sign(&mut self, sent: Moment) {
        self.signs.push_back(sent);
        while self.signs.get(1).is_some_and(|&next| next <= self.told_by(sent)) {
            self.signs.pop_front();
        }
    }

    /// Records that a majority has agreed to a write that was sent then, the last sign of life.
    pub(super) fn write(&mut self, sent: Moment) {
        self.sign(sent);
        let known = self.signs.front().copied().unwrap_or(Moment::ZERO);
        let end = (sent + self.session * 2 / 3).min(known + self.session);
        (self.written, self.end) = (sent, self.end.max(end));
    }

    /// Records that the session goes on over another connection that was asked for then, with the length that its server gives
    /// it. Returns true if that is shorter, and so the end may be earlier.
    pub(super) fn attached(&mut self, asked: Moment, session: Duration) -> bool {
        if session >= self.session {
            return false;
        }
        // The leader was told of the new length, and so of this sign of life. Earlier ones do not count for that long.
        (self.session, self.signs) = (session, VecDeque::from([asked]));
        self.end = self.end.min(asked + session);
        true
    }

    /// The length of the session.
    pub(super) fn session(&self) -> Duration {
        self.session
    }

    /// The last sign of life to which a majority has agreed, and how long after it the session exists for certain.
    pub(super) fn last(&self) -> (Moment, Duration) {
        (self.written, self.end.since(self.written))
    }

    /// The moment after which the session may have ended.
    pub(super) fn end(&self) -> Moment {
        self.end
    }

    /// The moment up to which the leader knows of the signs of life, if a write was answered that was sent at `sent`.
    fn told_by(&self, sent: Moment) -> Moment {
        sent - self.session / 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: Duration = Duration::from_secs(36);

    fn at(seconds: u64) -> Moment {
        Moment::ZERO + Duration::from_secs(100 + seconds)
    }

    /// Records a sign of life at each of these seconds, the last one as a write.
    fn proofs(signs: &[u64]) -> Proofs {
        let mut proofs = Proofs::new(SESSION, at(0));
        if let Some((last, earlier)) = signs.split_last() {
            earlier.iter().for_each(|&second| proofs.sign(at(second)));
            proofs.write(at(*last));
        }
        proofs
    }

    /// The second at which the session may have ended.
    fn end(proofs: &Proofs) -> u64 {
        proofs.end().since(at(0)).as_secs()
    }

    #[test]
    fn regular_writes_each_count_for_two_thirds() {
        assert_eq!(end(&proofs(&[])), 24);
        let regular: Vec<_> = (0..90).map(|number| number * SESSION.as_secs() / u64::from(SIGNS)).collect();
        for signs in 2..=regular.len() {
            assert_eq!(end(&proofs(&regular[..signs])), regular[signs - 1] + 24);
        }
    }

    #[test]
    fn only_a_write_moves_the_end() {
        let mut proofs = proofs(&[4, 8]);
        [12, 16, 20].iter().for_each(|&second| proofs.sign(at(second)));
        assert_eq!((end(&proofs), proofs.last()), (32, (at(8), Duration::from_secs(24))));
        proofs.write(at(24));
        assert_eq!((end(&proofs), proofs.last()), (48, (at(24), Duration::from_secs(24))));
    }

    #[test]
    fn after_a_silence_the_leader_may_know_only_what_was_before() {
        // Its follower may not have told the leader yet.
        assert_eq!(end(&proofs(&[4, 8, 30])), 44);
        assert_eq!(end(&proofs(&[4, 8, 30, 34, 38])), 44);
        assert_eq!(end(&proofs(&[4, 8, 30, 34, 38, 39])), 63);
    }

    #[test]
    fn a_session_that_becomes_shorter_counts_from_the_question() {
        let mut proofs = proofs(&[4, 8]);
        assert!(!proofs.attached(at(10), SESSION) && !proofs.attached(at(10), SESSION * 2));
        assert_eq!(end(&proofs), 32);
        assert!(proofs.attached(at(12), SESSION / 3));
        assert_eq!((end(&proofs), proofs.last()), (24, (at(8), Duration::from_secs(16))));
        // What was proved before it counts no longer than it did.
        assert!(proofs.attached(at(20), SESSION / 4));
        assert_eq!(end(&proofs), 24);
        proofs.write(at(21));
        assert_eq!(end(&proofs), 27);
        proofs.write(at(24));
        assert_eq!(end(&proofs), 30);
        // Another member may give it more again.
        assert!(!proofs.attached(at(25), SESSION));
        assert_eq!(proofs.session(), SESSION / 4);
    }

    #[test]
    fn what_is_not_needed_any_more_is_forgotten() {
        let mut proofs = Proofs::new(SESSION, at(0));
        (0..1000).for_each(|number| proofs.write(at(number * 4)));
        assert!(proofs.signs.len() < 6, "{}", proofs.signs.len());
    }
}
