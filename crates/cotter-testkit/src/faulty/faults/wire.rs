//! The same faults on a connection: bytes that are sent to a server, and those that come back.

use super::Faults;
use rand::RngExt;
use std::time::Duration;

/// The fate of bytes that are sent to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passage {
    Through,
    /// The connection ends before they arrive.
    Refused,
    /// They arrive, and the connection ends before an answer does.
    LoseReply,
    /// The connection ends, and they arrive so much later.
    Late(Duration),
}

impl Faults {
    /// Completes when something gets through, or when nothing does.
    pub(crate) async fn until(&self, is_down: bool) {
        let _ = self.0.down.subscribe().wait_for(|down| *down == is_down).await;
    }

    /// Whether nothing gets through.
    pub(crate) fn is_down(&self) -> bool {
        *self.0.down.borrow()
    }

    /// What becomes of bytes that are sent to a server now, and for how long they are under way.
    pub(crate) fn passage(&self, ttl: Duration) -> (Duration, Passage) {
        let mut inner = self.lock();
        let plan = inner.plan;
        let pause = inner.up_to(plan.before);
        inner.counts.delayed += usize::from(!pause.is_zero());
        let passage = if inner.happens(plan.refused) {
            inner.counts.refused += 1;
            Passage::Refused
        } else if inner.happens(plan.late_requests) {
            inner.counts.late_requests += 1;
            Passage::Late(inner.up_to(ttl * 2))
        } else if inner.happens(plan.lost_replies) {
            inner.counts.lost_replies += 1;
            Passage::LoseReply
        } else {
            Passage::Through
        };
        (pause, passage)
    }

    /// For how long bytes from a server are under way.
    pub(crate) fn way_back(&self) -> Duration {
        let mut inner = self.lock();
        let longest = inner.plan.after;
        inner.up_to(longest)
    }

    /// A number that follows from the seed.
    pub(crate) fn seed(&self) -> u64 {
        self.lock().rng.random()
    }

    /// One of two, by the seed.
    pub(crate) fn coin(&self) -> bool {
        self.lock().happens(0.5)
    }
}
