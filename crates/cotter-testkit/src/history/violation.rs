//! The kinds of violations, and what each of them says something about.

use std::fmt;

/// One kind of wrong; every planted bug names the one it must be caught by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Two believed to hold one name at once.
    Overlap,
    /// Shared and exclusive holders at once.
    SharedWithExclusive,
    /// More permits than there are.
    PermitsOverLimit,
    /// One token for two grants.
    RepeatedToken,
    /// A later grant with a smaller token.
    TokenOrder,
    /// Somebody who came later was served earlier.
    LostPlace,
    /// The lock was free and somebody who listened did not get it.
    IdleWaiter,
    /// A wait was never answered.
    StuckWaiter,
    /// "Busy" was said of a store that did not answer.
    BusyWhileDown,
    /// A loss was told late, or not at all.
    LateLoss,
    /// A loss was not told, where no machine is too slow for it: in virtual time, or when its holder asked.
    UntoldLoss,
    /// Nobody holds it and it is not free.
    LeftBehind,
    /// A dropped guard was not given back before the next attempt of its process.
    DropNotAwaited,
    /// A renewal for what had been released.
    RenewedAfterRelease,
    /// A holder that had lost the lock could still use the guard.
    UsedAfterLoss,
    /// A lock was lost that the store would have kept.
    NeedlessLoss,
    /// The guarded resource lost a write, or took one of a stale holder.
    LostWrite,
    /// A process got less than its share.
    UnfairShare,
    /// The next holder came late.
    SlowHandOver,
    /// Too little happened for the run to prove anything.
    Void,
    /// A slot of a job was started twice.
    SlotTwice,
    /// A slot of a job was never started, or long after its time.
    SlotMissing,
    /// It took longer than it may.
    TooSlow,
    /// It happened before its time.
    TooEarly,
    /// What was said is not the case.
    Untrue,
}

/// What a violation says something about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// Two holders, a token, a leak, a lost write, a wrong answer: wrong whenever it is seen.
    Safety,
    /// Something happens before something else, or at all: the end of its wait is far away.
    Order,
    /// A bound in real time, which depends on the machine as well.
    Time,
}

impl Kind {
    /// All of them.
    const ALL: [Self; 25] = [
        Self::Overlap,
        Self::SharedWithExclusive,
        Self::PermitsOverLimit,
        Self::RepeatedToken,
        Self::TokenOrder,
        Self::LostPlace,
        Self::IdleWaiter,
        Self::StuckWaiter,
        Self::BusyWhileDown,
        Self::LateLoss,
        Self::UntoldLoss,
        Self::LeftBehind,
        Self::DropNotAwaited,
        Self::RenewedAfterRelease,
        Self::UsedAfterLoss,
        Self::NeedlessLoss,
        Self::LostWrite,
        Self::UnfairShare,
        Self::SlowHandOver,
        Self::Void,
        Self::SlotTwice,
        Self::SlotMissing,
        Self::TooSlow,
        Self::TooEarly,
        Self::Untrue,
    ];

    /// The kinds of the violations that this output of a test reports.
    pub fn all_in(text: &str) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |kind| text.contains(&format!("violation[{kind}]")))
    }

    /// What it says something about.
    #[must_use]
    pub fn class(self) -> Class {
        match self {
            Self::Overlap
            | Self::SharedWithExclusive
            | Self::PermitsOverLimit
            | Self::RepeatedToken
            | Self::TokenOrder
            | Self::BusyWhileDown
            | Self::UntoldLoss
            | Self::LeftBehind
            | Self::RenewedAfterRelease
            | Self::UsedAfterLoss
            | Self::LostWrite
            | Self::SlotTwice
            | Self::Untrue => Class::Safety,
            // No machine is too fast: what happens too early has not waited for something.
            Self::TooEarly
            | Self::LostPlace
            | Self::StuckWaiter
            | Self::DropNotAwaited
            | Self::NeedlessLoss
            | Self::Void
            | Self::SlotMissing => Class::Order,
            Self::IdleWaiter | Self::LateLoss | Self::UnfairShare | Self::SlowHandOver | Self::TooSlow => {
                Class::Time
            }
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Safety => "safety",
            Self::Order => "order",
            Self::Time => "time",
        })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Overlap => "overlap",
            Self::SharedWithExclusive => "shared-with-exclusive",
            Self::PermitsOverLimit => "permits-over-limit",
            Self::RepeatedToken => "repeated-token",
            Self::TokenOrder => "token-order",
            Self::LostPlace => "lost-place",
            Self::IdleWaiter => "idle-waiter",
            Self::StuckWaiter => "stuck-waiter",
            Self::BusyWhileDown => "busy-while-down",
            Self::LateLoss => "late-loss",
            Self::UntoldLoss => "untold-loss",
            Self::LeftBehind => "left-behind",
            Self::DropNotAwaited => "drop-not-awaited",
            Self::RenewedAfterRelease => "renewed-after-release",
            Self::UsedAfterLoss => "used-after-loss",
            Self::NeedlessLoss => "needless-loss",
            Self::LostWrite => "lost-write",
            Self::UnfairShare => "unfair-share",
            Self::SlowHandOver => "slow-hand-over",
            Self::Void => "void",
            Self::SlotTwice => "slot-twice",
            Self::SlotMissing => "slot-missing",
            Self::TooSlow => "too-slow",
            Self::TooEarly => "too-early",
            Self::Untrue => "untrue",
        })
    }
}

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Of which kind.
    pub kind: Kind,
    /// The details.
    pub text: String,
}

/// A violation of this kind.
pub fn violation(kind: Kind, text: impl Into<String>) -> Violation {
    Violation { kind, text: text.into() }
}

/// Fails the test with a violation of this kind unless it holds.
///
/// # Panics
/// When it does not hold.
#[track_caller]
pub fn demand(holds: bool, kind: Kind, text: impl Into<String>) {
    assert!(holds, "{}", violation(kind, text));
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "violation[{}]: {}", self.kind, self.text)
    }
}
