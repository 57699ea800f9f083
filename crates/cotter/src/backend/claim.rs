//! A claim, the grant that may follow from it, and how long to wait for it.

use super::Session;
use crate::{Moment, Name};
use std::fmt::{self, Debug};
use std::sync::Arc;
use std::time::Duration;

/// 128 random bits, new for every attempt.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClaimId(u128);

impl ClaimId {
    /// A new one.
    pub fn random() -> Self {
        Self(crate::random::bits())
    }

    /// The bits.
    pub const fn bits(self) -> u128 {
        self.0
    }

    /// As 32 hexadecimal digits, without the detour by way of a formatter: every request has some.
    pub(crate) fn hex(self) -> [u8; 32] {
        let mut digits = [0; 32];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(self.0.to_be_bytes()) {
            pair[0] = b"0123456789abcdef"[usize::from(byte >> 4)];
            pair[1] = b"0123456789abcdef"[usize::from(byte & 15)];
        }
        digits
    }

    /// From 32 hexadecimal digits.
    pub fn parse(hex: &str) -> Option<Self> {
        (hex.len() == 32).then(|| u128::from_str_radix(hex, 16).ok().map(Self)).flatten()
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

/// How a name is used.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Mode {
    /// One holder.
    Exclusive,
    /// Many holders, none of them exclusive.
    Shared,
    /// `take` of `of` permits.
    Permits {
        /// How many are taken at once.
        take: u32,
        /// How many there are.
        of: u32,
    },
}

impl Mode {
    pub(crate) const fn is_permits(self) -> bool {
        matches!(self, Self::Permits { .. })
    }

    pub(crate) const fn is_exclusive(self) -> bool {
        matches!(self, Self::Exclusive)
    }
}

/// One attempt to get a name: enough to undo it.
#[non_exhaustive]
#[derive(Debug, Clone)]
pub struct Claim {
    /// What is wanted.
    pub name: Name,
    /// This attempt.
    pub id: ClaimId,
    /// How it is wanted.
    pub mode: Mode,
    /// How long a grant should last; ignored where grants live with a process or session.
    pub ttl: Duration,
    /// How many turns this process could use one after the other.
    pub turns: u16,
    /// Who asks, for people.
    pub label: Arc<str>,
}

impl Claim {
    /// A new claim for one turn, without a label.
    pub fn new(name: Name, mode: Mode, ttl: Duration) -> Self {
        Self { name, id: ClaimId::random(), mode, ttl, turns: 1, label: Arc::default() }
    }

    /// The same wish under a new claim id.
    #[must_use]
    pub fn renewed(&self) -> Self {
        Self { id: ClaimId::random(), ..self.clone() }
    }
}

/// A claim that the store has given.
#[non_exhaustive]
#[derive(Debug, Clone)]
pub struct Grant {
    /// The claim.
    pub claim: Claim,
    /// The first fencing token of the block.
    pub number: u64,
    /// How many tokens the block has.
    pub turns: u16,
    /// Before the sending of the request whose answer proved the grant.
    pub as_of: Moment,
    /// Valid so long after `as_of`; `None` where the grant lives with a process or session.
    pub ttl: Option<Duration>,
    /// What the grant lives with, where it does.
    pub session: Option<Session>,
}

impl Grant {
    /// A grant of one turn that neither ends by itself nor lives with a session: set what is otherwise.
    pub fn new(claim: Claim, number: u64, as_of: Moment) -> Self {
        Self { claim, number, turns: 1, as_of, ttl: None, session: None }
    }
}

/// How long an acquisition may wait.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// One attempt.
    Now,
    /// One attempt, for stores with [`Capabilities::in_line`](super::Capabilities::in_line): a claim that is answered with `Ok(None)` may stand in the
    /// store's queue now. A waiting `acquire` of it follows, or its release.
    InLine,
    /// Until then.
    Moment(Moment),
    /// For as long as it takes.
    Forever,
}

impl Until {
    /// How long a caller may still wait at `now`; `None` for as long as it takes.
    pub fn left(self, now: Moment) -> Option<Duration> {
        match self {
            Self::Now | Self::InLine => Some(Duration::ZERO),
            Self::Moment(end) => Some(end.since(now)),
            Self::Forever => None,
        }
    }

    /// The last moment; `None` for a single attempt.
    pub(crate) fn moment(self) -> Option<Moment> {
        match self {
            Self::Now | Self::InLine => None,
            Self::Moment(m) => Some(m),
            Self::Forever => Some(Moment::NEVER),
        }
    }
}
