//! How long the servers keep a session.
//!
//! # What counts
//! Only the leader ends sessions, and only a request that it has answered proves anything: a follower that is cut off from
//! it goes on to answer reads and pings for a while. `sync` is answered by the leader. But a follower tells the leader of
//! the signs of life of its clients no more often than twice a tick, so an answered `sync` proves that the leader knows of
//! the signs of life *before* it; and a leader that stood still and was replaced meanwhile answers until it notices.
//!
//! So two answers bound the end of a session: that of the last `sync`, which counts for two thirds of the session, and that
//! of one that was sent at least a quarter of the session earlier, which counts for the whole. A session is at least two
//! ticks long, so a quarter of it is half a tick, after which the leader knows. The first sign of life is the request that
//! began the session, to which a majority has agreed.

use crate::Moment;
use std::collections::VecDeque;
use std::time::Duration;

/// The part of a session after which the next `sync` is sent. Regular ones all count for two thirds of the session: the
/// one that is a quarter of the session older is at most a third of it older.
pub(super) const SYNCS: u32 = 12;

/// The signs of life that were answered.
#[derive(Debug)]
pub(super) struct Proofs {
    /// The length of the session.
    session: Duration,
    /// When each was sent, in order. One of them is older than a quarter of the session, or begins it.
    sent: VecDeque<Moment>,
}

impl Proofs {
    /// For a session that was asked for at that moment, and exists.
    pub(super) fn new(session: Duration, asked: Moment) -> Self {
        Self { session, sent: VecDeque::from([asked]) }
    }

    /// Records that a `sync` was answered that was sent then.
    pub(super) fn record(&mut self, sent: Moment) {
        self.sent.push_back(sent);
        while self.sent.get(1).is_some_and(|&next| next <= self.told_by(sent)) {
            self.sent.pop_front();
        }
    }

    /// The last sign of life, and how long after it the session exists for certain.
    pub(super) fn last(&self) -> (Moment, Duration) {
        let last = self.sent.back().copied().unwrap_or(Moment::ZERO);
        let known = self.sent.front().copied().unwrap_or(Moment::ZERO);
        let end = (last + self.session * 2 / 3).min(known + self.session);
        (last, end.since(last))
    }

    /// The moment after which the session may have ended.
    pub(super) fn end(&self) -> Moment {
        let (last, lasts) = self.last();
        last + lasts
    }

    /// The moment up to which the leader knows of the signs of life, if it has answered one that was sent at `sent`.
    fn told_by(&self, sent: Moment) -> Moment {
        sent - self.session / 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: Duration = Duration::from_secs(12);

    fn at(seconds: u64) -> Moment {
        Moment::ZERO + Duration::from_secs(100 + seconds)
    }

    /// Records one at each of these seconds; the second at which the session may have ended.
    fn end(sent: &[u64]) -> u64 {
        let mut proofs = Proofs::new(SESSION, at(0));
        sent.iter().for_each(|&second| proofs.record(at(second)));
        proofs.end().since(at(0)).as_secs()
    }

    #[test]
    fn regular_signs_of_life_each_count_for_two_thirds() {
        assert_eq!(end(&[]), 8);
        let all: Vec<_> = (0..=30).collect();
        for last in 1..=30 {
            assert_eq!(end(&all[..=last]), last as u64 + 8);
        }
    }

    #[test]
    fn after_a_silence_the_leader_may_know_only_what_was_before() {
        // Its follower may not have told the leader yet.
        assert_eq!(end(&[1, 2, 3, 10]), 15);
        assert_eq!(end(&[1, 2, 3, 10, 11, 12]), 15);
        assert_eq!(end(&[1, 2, 3, 10, 11, 12, 13]), 21);
    }

    #[test]
    fn what_is_not_needed_any_more_is_forgotten() {
        let mut proofs = Proofs::new(SESSION, at(0));
        (0..1000).for_each(|second| proofs.record(at(second)));
        assert!(proofs.sent.len() < 6, "{}", proofs.sent.len());
    }
}
