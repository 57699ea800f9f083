//! Compare-and-set on the notes of a quorum: what it asks of each member.
//!
//! A note that is swapped is a register on several servers, as in Paxos: a proposer numbers its proposal, and a member
//! that has promised a number takes no proposal with a smaller one. Two majorities have a member in common, so a
//! proposer that has the promises of one sees every value that another may have written, and nobody can write an older
//! value after it. Sources: L. Lamport, *Paxos Made Simple* (2001); D. Rystsov, *CASPaxos: Replicated State Machines
//! without logs* (2018).

use crate::{Name, Result};
use async_trait::async_trait;
use std::time::Duration;

/// A member of a quorum that keeps notes which are written by [`swap`](super::Notes::swap).
///
/// Promises and proposals belong to one note, and stay with it for as long as it does. A member that abstains from
/// votes because it may have forgotten something gives no promise and accepts nothing.
#[async_trait]
pub trait Acceptor: Send + Sync {
    /// Promises to accept no proposal with a number below this, and returns the proposal accepted last. Numbers are at
    /// most [`Proposal::MAX_NUMBER`].
    ///
    /// # Errors
    /// The member did not answer.
    async fn prepare(&self, name: &Name, key: &str, number: u64) -> Result<Promise>;

    /// Writes a note, unless a larger number was promised or a holder has written the note. The same proposal may be
    /// made again. Returns whether the member has accepted it. [`Member::dated`](super::Member::dated) then loads it with
    /// a token of 0, its origin for a revision, and its number for a sequence.
    ///
    /// # Errors
    /// The member did not answer: it may have accepted it.
    async fn accept(&self, name: &Name, key: &str, proposal: &Proposal) -> Result<bool>;
}

/// A value for a note.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// The number under which it is proposed, from 1.
    pub number: u64,
    /// The number under which this value was proposed first: the revision of the note.
    pub origin: u64,
    /// The origins of the values before it, the latest first, at most [`Proposal::MAX_BEFORE`]: a proposer whose answers were
    /// lost finds its own among them.
    pub before: Vec<u64>,
    /// The value.
    pub bytes: Vec<u8>,
}

impl Proposal {
    /// The largest number: stores may keep 16 decimal digits.
    pub const MAX_NUMBER: u64 = 9_999_999_999_999_999;

    /// The number of values before it that a proposal remembers.
    pub const MAX_BEFORE: usize = 128;

    /// Creates a proposal.
    pub fn new(number: u64, origin: u64, before: Vec<u64>, bytes: Vec<u8>) -> Self {
        Self { number, origin, before, bytes }
    }
}

/// The answer of a member to the number of a proposal.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Promise {
    /// It accepts no smaller number from now on. Contains the proposal that it accepted last.
    Given(Option<Proposal>),
    /// It has promised this number before, which is not smaller.
    Refused(u64),
    /// The note was written by a holder, and is not a register.
    WrittenByHolder,
    /// The member may have forgotten its promises, and gives none for this time.
    Abstains(Duration),
}
