//! The contract between a quorum and each of its members.

use super::{Acceptor, Claim, Grant, Note};
use crate::{Name, Result};
use async_trait::async_trait;
use std::future::{self, Future};
use std::pin::Pin;
use std::time::Duration;

/// A store that can be a member of a [quorum](crate::quorum): an independent server with token counters of its own.
///
/// A member never queues the claims of a quorum: the queues of several servers would not have the same head, and no
/// claim would get a majority.
///
/// Its counters differ from those of a store that is used alone. A *new* counter begins at the first full second that is
/// not before the member's clock; after that, each grant adds one to the last token
/// ([`tokens::reserve_next`](super::tokens::reserve_next)). If every grant began at the clock, the counters of several
/// members would never agree. In exchange, a member whose counters may have gone back abstains: after a restart it grants
/// nothing for the longest lease that it allows, and from then on its counters begin a
/// [`STEP`](super::tokens::STEP) after its clock at the end of that time, at least.
#[async_trait]
pub trait Member: Send + Sync {
    /// Tells the member how many members its quorum has; called before everything else. From then on it grants nothing to a
    /// quorum of another size, until an operator [enlists](Self::enlist) it there: clients that name three of five servers
    /// and clients that name all of them would have majorities without a member in common. Which servers they are is not
    /// compared, because one server may have several addresses.
    ///
    /// # Errors
    /// [`Config`](crate::ErrorKind::Config): this store is already a member of another quorum. A member that learns this from
    /// its server says so in [`take`](Self::take).
    fn join(&self, members: usize) -> Result<()> {
        let _ = members;
        Ok(())
    }

    /// Grants a claim now, or says why not. The first token is the last one plus one, the next full second of a member
    /// whose counter is new, or `at_least`, whichever is the largest. A claim that is granted already gets the same
    /// grant, raised to `at_least`, with the time that is left.
    ///
    /// The [rules](super) of `acquire` apply.
    ///
    /// # Errors
    /// The member did not answer, or allows no lease as long as this. [`Config`](crate::ErrorKind::Config): it is a member of
    /// another quorum, and the attempt fails whatever the others say.
    async fn take(&self, claim: &Claim, at_least: u64) -> Result<Vote>;

    /// Raises the first token of a grant to `at_least`, and the counter with it, only while the claim still holds it.
    /// Returns the grant as it then stands, with the time that is left; `None` if the claim no longer holds anything.
    ///
    /// A member gives each number to one claim. If another one that shares the name has that number, or has had it, the
    /// grant gets the next number that none has had: it is larger than `at_least`, and the quorum asks again.
    ///
    /// # Errors
    /// The member did not answer.
    async fn raise(&self, grant: &Grant, at_least: u64) -> Result<Option<Grant>>;

    /// Completes when the name may have become free. It may complete without a reason, or not at all.
    fn freed(&self, name: &Name) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let _ = name;
        Box::pin(future::pending())
    }

    /// Loads a note with the sequence number of its writing.
    ///
    /// # Errors
    /// The member did not answer.
    async fn dated(&self, name: &Name, key: &str) -> Result<Option<(Note, u64)>>;

    /// Writes a note that other members have, only over a smaller (token, sequence), regardless of who holds the name.
    /// Does nothing if this member has that note or a later one.
    ///
    /// # Errors
    /// The member did not answer.
    async fn mend(&self, name: &Name, key: &str, note: &Note, sequence: u64) -> Result<()>;

    /// Returns the operations for notes that are [swapped](super::Notes::swap); `None` if this member has none, and then
    /// the quorum has none either.
    fn acceptor(&self) -> Option<&dyn Acceptor> {
        None
    }

    /// Returns what identifies the server behind this connection since its start; `None` if nothing does. Two members with
    /// the same identity are one. It is called after every answer: cache it with the connection.
    ///
    /// # Errors
    /// The member did not answer.
    async fn identity(&self) -> Result<Option<String>> {
        Ok(None)
    }

    /// Returns for how long this member grants nothing, because it may have forgotten what it granted; `None` if it votes.
    ///
    /// # Errors
    /// The member did not answer.
    async fn abstains(&self) -> Result<Option<Duration>> {
        Ok(None)
    }

    /// Makes this member grant claims at once, although it may have been restarted, and none longer than the longest lease
    /// that it is set up for. Only an operator knows that no lock is held: `cotter doctor --init`.
    ///
    /// # Errors
    /// The member did not answer.
    async fn enlist(&self) -> Result<()> {
        Ok(())
    }
}

/// The answer of a member to a claim.
#[non_exhaustive]
#[must_use = "it may contain a grant, which is lost if nobody releases it"]
#[derive(Debug, Clone)]
pub enum Vote {
    /// The claim holds the name at this member.
    Granted(Grant),
    /// Another claim holds it, and nothing of this one is left.
    Busy,
    /// The member may have forgotten what it granted, and grants nothing for this time.
    Abstains(Duration),
}

impl Vote {
    /// Returns the grant, if there is one.
    pub fn granted(self) -> Option<Grant> {
        match self {
            Self::Granted(grant) => Some(grant),
            Self::Busy | Self::Abstains(_) => None,
        }
    }
}

impl From<Option<Grant>> for Vote {
    /// `None` is [`Busy`](Self::Busy).
    fn from(granted: Option<Grant>) -> Self {
        granted.map_or(Self::Busy, Self::Granted)
    }
}
