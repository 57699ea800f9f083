//! Claims, grants, and the length of a wait.

use super::{Session, Votes};
use crate::{Error, ErrorKind, Moment, Name, Result};
use std::fmt::{self, Debug};
use std::sync::Arc;
use std::time::Duration;

/// The id of a claim: 128 random bits, new for every attempt.
// Bytes instead of a number of 16: every grant contains some, and would be aligned to 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClaimId([u8; 16]);

impl ClaimId {
    /// Generates a new id.
    pub fn random() -> Self {
        Self(crate::random::bits().to_be_bytes())
    }

    /// Returns the bits.
    pub const fn bits(self) -> u128 {
        u128::from_be_bytes(self.0)
    }

    /// Formats the id as 32 hexadecimal digits. It bypasses the formatter because every request contains some.
    pub(crate) fn hex(self) -> [u8; 32] {
        let mut digits = [0; 32];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(self.0) {
            pair[0] = b"0123456789abcdef"[usize::from(byte >> 4)];
            pair[1] = b"0123456789abcdef"[usize::from(byte & 15)];
        }
        digits
    }

    /// Parses 32 hexadecimal digits.
    pub fn parse(hex: &str) -> Option<Self> {
        (hex.len() == 32)
            .then(|| u128::from_str_radix(hex, 16).ok().map(|bits| Self(bits.to_be_bytes())))
            .flatten()
    }
}

impl fmt::Display for ClaimId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(str::from_utf8(&self.hex()).unwrap_or_default())
    }
}

impl Debug for ClaimId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The mode in which a name is used.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Mode {
    /// A single holder.
    Exclusive,
    /// Any number of holders, none of them exclusive.
    Shared,
    /// `take` of `of` permits.
    Permits {
        /// The number of permits taken at once.
        take: u32,
        /// The total number of permits.
        of: u32,
    },
}

impl Mode {
    /// Returns a stable label: `exclusive`, `shared` or `permits`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exclusive => "exclusive",
            Self::Shared => "shared",
            Self::Permits { .. } => "permits",
        }
    }

    pub(crate) const fn is_permits(self) -> bool {
        matches!(self, Self::Permits { .. })
    }

    /// Refuses numbers of permits that could never be granted.
    pub(crate) fn check(self) -> Result<()> {
        match self {
            Self::Permits { of: 0, .. } => {
                let why = "a semaphore of 0 permits never grants any; the limit has to be 1 or more";
                Err(Error::new(ErrorKind::InvalidInput, why))
            }
            Self::Permits { take, of } if take == 0 || take > of => {
                let why = format!("{take} of {of} permits can never be granted; take between 1 and {of}");
                Err(Error::new(ErrorKind::InvalidInput, why))
            }
            _ => Ok(()),
        }
    }

    /// Returns the error for a name that is in use in another way.
    pub(crate) fn mismatch(self, in_use: Self) -> Error {
        let why = format!("the name is in use as {}, not as {}", in_use.describe(), self.describe());
        Error::new(ErrorKind::LimitMismatch, why)
    }

    fn describe(self) -> String {
        match self {
            Self::Exclusive | Self::Shared => "a lock".into(),
            Self::Permits { of, .. } => format!("a semaphore of {of}"),
        }
    }

    pub(crate) const fn is_exclusive(self) -> bool {
        matches!(self, Self::Exclusive)
    }
}

/// One attempt to acquire a name; contains everything needed to undo it.
#[non_exhaustive]
#[derive(Debug, Clone)]
pub struct Claim {
    /// The name to acquire.
    pub name: Name,
    /// The id of this attempt.
    pub id: ClaimId,
    /// The requested mode.
    pub mode: Mode,
    /// The requested length of the lease; ignored where grants live as long as a process or session.
    pub ttl: Duration,
    /// The number of consecutive turns that this process could use.
    pub turns: u16,
    /// A human-readable description of the claimant.
    pub label: Arc<str>,
}

impl Claim {
    /// Creates a claim for one turn, without a label.
    pub fn new(name: Name, mode: Mode, ttl: Duration) -> Self {
        Self { name, id: ClaimId::random(), mode, ttl, turns: 1, label: Arc::default() }
    }

    /// Returns the same request under a new claim id.
    #[must_use]
    pub fn renewed(&self) -> Self {
        Self { id: ClaimId::random(), ..self.clone() }
    }
}

/// A claim that the store has granted.
#[non_exhaustive]
#[derive(Debug, Clone)]
pub struct Grant {
    /// The claim that was granted.
    pub claim: Claim,
    /// The first fencing token of the block.
    pub number: u64,
    /// The number of tokens in the block.
    pub turns: u16,
    /// A moment no later than the sending of the request whose answer proved the grant.
    pub as_of: Moment,
    /// The validity counted from `as_of`; `None` where the grant lives as long as a process or session.
    pub ttl: Option<Duration>,
    /// The session that the grant ends with, if any.
    pub session: Option<Session>,
    /// The votes of the members, where a quorum has granted it.
    pub votes: Option<Votes>,
}

impl Grant {
    /// Creates a grant of one turn without an expiry or a session; set the fields that differ.
    pub fn new(claim: Claim, number: u64, as_of: Moment) -> Self {
        Self { claim, number, turns: 1, as_of, ttl: None, session: None, votes: None }
    }
}

/// The limit of the wait for an acquisition.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// A single attempt, without waiting.
    Now,
    /// A single attempt, for stores with [`Capabilities::in_line`](super::Capabilities::in_line): if the name is busy,
    /// the claim may be left in the store's queue, which the answer [`Queued`](super::Acquired::Queued) reports.
    InLine,
    /// Waits until this moment.
    Moment(Moment),
    /// Waits without a limit.
    Forever,
}

impl Until {
    /// Returns the wait that is left at `now`; `None` if it is unlimited.
    pub fn left(self, now: Moment) -> Option<Duration> {
        match self {
            Self::Now | Self::InLine => Some(Duration::ZERO),
            Self::Moment(end) => Some(end.since(now)),
            Self::Forever => None,
        }
    }

    /// Returns the last moment of the wait; `None` for a single attempt.
    pub(crate) fn moment(self) -> Option<Moment> {
        match self {
            Self::Now | Self::InLine => None,
            Self::Moment(m) => Some(m),
            Self::Forever => Some(Moment::NEVER),
        }
    }
}
