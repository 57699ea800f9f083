//! The kinds of violations.

use std::fmt;

/// A kind of wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Two believed to hold one name at once.
    Overlap,
    /// The same, and one of them had been paused: it did not know that its time was over.
    OverlapAfterPause,
    /// One token for two grants.
    RepeatedToken,
    /// A later grant with a smaller token.
    TokenOrder,
    /// Somebody waited for a name that nobody held.
    IdleWaiter,
    /// All had ended, and the name was not free.
    LeftBehind,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Overlap => "overlap",
            Self::OverlapAfterPause => "overlap-after-pause",
            Self::RepeatedToken => "repeated-token",
            Self::TokenOrder => "token-order",
            Self::IdleWaiter => "idle-waiter",
            Self::LeftBehind => "left-behind",
        })
    }
}

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Of which kind.
    pub kind: Kind,
    /// Of which name.
    pub name: String,
    /// Who took part in it.
    pub processes: Vec<u32>,
    /// When it began.
    pub from: u64,
    /// When it was over.
    pub to: u64,
    /// The details, without the name.
    pub text: String,
}
