//! One operation.

use super::MAX_PERMITS;
use rand::RngExt;
use rand::rngs::StdRng;

#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    Acquire,
    /// Joins the queue, and waits there from now on.
    Queue,
    /// Waits for a moment and gives up.
    Wait,
    Extend,
    ExtendAll,
    Release {
        used: u16,
        keep: bool,
    },
    Downgrade,
    Evict {
        /// Only this claim, by its token.
        one: bool,
        now: bool,
    },
    SetLimit {
        of: u32,
    },
    Note,
}

impl Step {
    pub(super) fn ends_claim(self) -> bool {
        matches!(self, Self::Release { .. })
    }
}

pub(super) fn step(random: &mut StdRng) -> Step {
    match random.random_range(0..32) {
        0..7 => Step::Acquire,
        7..12 => Step::Queue,
        12..14 => Step::Wait,
        14..16 => Step::Extend,
        16 => Step::ExtendAll,
        17..26 => Step::Release { used: random.random_range(0..4), keep: random.random_range(0..16) == 0 },
        26..28 => Step::Downgrade,
        28 => Step::Evict { one: random.random(), now: false },
        29 => Step::Evict { one: random.random(), now: true },
        30 => Step::SetLimit { of: random.random_range(MAX_PERMITS..6) },
        _ => Step::Note,
    }
}
