//! The contract between the engine and a store.
//!
//! From 0.1.0 on, a later version adds only methods with defaults, variants of `#[non_exhaustive]` enums, and fields with
//! defaults, so that a backend that follows the rules below needs no change. Until then the contract may change.
//!
//! A backend is a set of atomic steps plus the store's own way of waiting. It renews nothing, retries nothing, polls
//! only through [`poll::until`], and spawns no tasks other than the one that reads its wake-up channel or keeps its
//! session alive. The engine does the rest, once, for all stores.
//!
//! # The rules
//! 1. Before the first byte of an [`acquire`](Backend::acquire) is sent, everything that `release(claim)` needs to
//!    undo it is registered, and it stays registered until a release has answered anything but
//!    [`Unsettled`](Release::Unsettled). A dropped future never owns the only handle to a connection, file or session. A
//!    connection with an unread answer is reused only where the driver keeps answers apart, and closed otherwise.
//! 2. After `release(claim)`, no earlier `acquire` of that claim remains in effect or takes effect later. If one may
//!    still arrive, `release` returns [`Unsettled`](Release::Unsettled) and is repeated. The release may use another
//!    connection than the acquire. Where the requests of one connection are ordered, [`inflight`] tracks which may
//!    still arrive; where they are not, register the call itself with [`flight`]. A release without an answer is repeated
//!    until the lease of the claim has ended; where the claim ends with a session instead
//!    ([`shared_session`](Capabilities::shared_session)), until the store answers.
//! 3. `acquire` and `release` can be dropped at any poll; a dropped `release` can be called again.
//! 4. After [`Acquired::Busy`], nothing of the claim is left in the store. If something may be left, or a request may
//!    still arrive, the answer is [`Acquired::Unsettled`] and the engine undoes it. `acquire` of a claim that is already
//!    granted returns the same grant: same number, same turns, and the time that is actually left.
//! 5. `as_of` is never later than the sending of the request whose answer proves the grant. The proof may be older
//!    than the call where several grants share it. The answer to a call that blocks in the server proves nothing recent;
//!    a request that is sent behind it does.
//! 6. `extend` grants at least the time that was requested or returns an error. It never shortens a grant, never
//!    creates one, and never touches a grant of another claim. No grant lasts longer than was ever requested for its claim:
//!    what a server's clock adds to it when it is set back may be cut off, and the engine does not believe it.
//! 7. While a waiter that is listening is queued for a name, the name is never granted to a newcomer. Waiters that are
//!    no longer listening block nobody. Where a place in the queue expires with a lease or session, the store's own
//!    way of waiting keeps it alive.
//! 8. A retry never increments anything.
//! 9. The number and turns of a grant are those that the store reserved, never those that were requested.
//!
//! # Writing a backend
//! Implement [`Connect`] and [`Backend`] under [`#[async_trait]`](macro@async_trait), declare what the store supports
//! in its [`Capabilities`], and run the cases of `cotter::conformance` (feature `conformance`). Everything else has a
//! default. `crates/cotter-toy-store` in the repository is a complete store of about 200 lines.
//!
//! Most stores set [`names`](Capabilities::names) and [`distinct`](Capabilities::distinct). A store without a queue
//! leaves [`ordered`](Capabilities::ordered) unset, but must not let a newcomer win every race: a process that
//! releases a lock and immediately requests it again would starve every process that polls. Tokens come from
//! [`tokens::reserve`] unless the store has a counter that never goes back.
//!
//! | file | concept |
//! |---|---|
//! | `claim` | claims, grants, and how long to wait for one |
//! | `answer` | the answers to `acquire`, `extend` and `release` |
//! | `info` | identity, guarantees and capabilities of a store |
//! | `host` | the clock and task runner of a connection |
//! | `session` | a liveness domain that grants share |
//! | `notes` | small values beside a name |
//! | `admin` | inspecting and evicting locks |
//! | `finding` | what `doctor` finds out about a store |
//! | `prune` | deleting what is left of unused names |
//! | `member`, `votes` | what a quorum asks of each of its members; how many confirm a grant |
//! | `acceptor` | what a quorum asks of its members to swap a note |
//! | `poll`, `backoff` | the polling loop; pauses between attempts |
//! | `pace`, `retry` | pauses where the store has no queue, and resting for the benefit of others; waiting there |
//! | `inflight`, `flight` | acquire requests that may still arrive; requests that outlive their callers |
//! | `tokens` | reserving fencing tokens |
//! | `by_claim` | maps keyed by claim id |

mod acceptor;
mod admin;
mod answer;
mod backoff;
pub(crate) mod by_claim;
mod claim;
mod finding;
pub mod flight;
mod host;
pub mod inflight;
mod info;
mod member;
mod notes;
pub(crate) mod pace;
pub mod poll;
mod prune;
#[cfg(any(feature = "redis", feature = "postgres", feature = "mysql"))]
pub(crate) mod retry;
mod session;
pub mod tokens;
mod votes;

pub use acceptor::{Acceptor, Promise, Proposal};
pub use admin::{Admin, Cursor, EvictOrder, Eviction, Filter, Holder, Page, Record};
pub use answer::{Acquired, Extension, Found, Leave, Release};
/// Makes the methods of these traits `async`: put `#[async_trait]` on each implementation.
pub use async_trait::async_trait;
pub use backoff::Backoff;
pub use claim::{Claim, ClaimId, Grant, Mode, Until};
pub(crate) use finding::RESERVED;
pub use finding::{Finding, Severity};
pub use host::Host;
pub(crate) use host::Spawn;
pub use info::{Capabilities, Info, Level};
pub(crate) use info::{Feature, MAX_TTL};
pub use member::{Member, Vote};
pub use notes::{Note, NoteAt, Notes};
pub use prune::{PruneOrder, PruneOutcome, PrunePage, Pruned};
pub(crate) use session::OnLoss;
pub use session::Session;
pub use votes::Votes;

use crate::{Name, Result};
use std::fmt::Debug;
#[cfg(unix)]
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Creates backends; the argument of [`Builder::connect_to`](crate::Builder::connect_to).
#[async_trait]
pub trait Connect: Debug + Send + Sync + 'static {
    /// Connects, in the runtime that will drive the connection: once for the client's engine and, if
    /// [`per_runtime`](Capabilities::per_runtime) is set, once more for each runtime that makes calls.
    ///
    /// # Errors
    /// Any condition that prevents the store from being used, with a hint on how to resolve it.
    async fn connect(&self, host: &Host) -> Result<Arc<dyn Backend>>;

    /// Returns the statements that create the tables that this store needs; `None` if it needs none. Nothing is sent.
    fn schema(&self) -> Option<String> {
        None
    }

    /// Returns the statements that drop whatever [`schema`](Self::schema) creates; `None` if that is nothing, or not the store's
    /// own. Nothing is sent.
    fn drop_statements(&self) -> Option<String> {
        None
    }

    /// Creates any tables that this store needs and that are missing. Two processes may do so at the same time.
    ///
    /// # Errors
    /// The store did not answer or refused, with a hint on how to resolve it.
    async fn migrate(&self) -> Result<()> {
        Ok(())
    }
}

/// For a store that is chosen at run time.
macro_rules! connect_by {
    ($($pointer:ident),*) => {$(
        #[async_trait]
        impl<C: Connect + ?Sized> Connect for $pointer<C> {
            async fn connect(&self, host: &Host) -> Result<Arc<dyn Backend>> {
                (**self).connect(host).await
            }

            fn schema(&self) -> Option<String> {
                (**self).schema()
            }

            fn drop_statements(&self) -> Option<String> {
                (**self).drop_statements()
            }

            async fn migrate(&self) -> Result<()> {
                (**self).migrate().await
            }
        }
    )*};
}

connect_by!(Arc, Box);

/// A store, as the engine sees it. Every implementation must follow the [rules](self).
#[async_trait]
pub trait Backend: Debug + Send + Sync + 'static {
    /// Returns the identity and capabilities of this store.
    fn info(&self) -> &Info;

    /// Requests a grant, and waits for it until the wait is over.
    ///
    /// # Errors
    /// An error with [`outcome_unknown`](crate::Error::outcome_unknown) may have left a grant behind; the engine
    /// undoes it.
    async fn acquire(&self, claim: &Claim, until: Until) -> Result<Acquired>;

    /// Extends each of these grants, however many, to `ttl` from now. Returns one result per grant, in the same order. A
    /// proof that they share and that is younger than a sixth of `ttl` may be answered from memory.
    async fn extend(&self, grants: &[&Grant], ttl: Duration) -> Vec<Result<Extension>>;

    /// Undoes `acquire`: frees what the claim holds and removes it from the queue.
    ///
    /// # Errors
    /// The store did not answer; the engine retries.
    async fn release(&self, claim: &Claim, leave: Leave) -> Result<Release>;

    /// Turns an exclusive grant into a shared one without a gap.
    ///
    /// # Errors
    /// [`Unsupported`](crate::ErrorKind::Unsupported) if the store cannot downgrade.
    async fn downgrade(&self, grant: &Grant) -> Result<Grant> {
        Err(Feature::Downgrade.missing(self.info()).with_name(&grant.claim.name))
    }

    /// Passes what one claim holds to another claim, once: the holder of a ticket continues under its own claim. The
    /// lease continues as it is. The number becomes the last one of the block, with one turn. Returns `None` if `from`
    /// holds nothing or was evicted. If `to` already holds it, returns its grant: the request may have been repeated.
    ///
    /// `release(to)` undoes it, under the same rules as for an acquire.
    ///
    /// # Errors
    /// [`Unsupported`](crate::ErrorKind::Unsupported) if the store cannot do it in one step.
    async fn adopt(&self, from: &Claim, to: &Claim) -> Result<Option<Grant>> {
        let _ = to;
        Err(Feature::Tickets.missing(self.info()).with_name(&from.name))
    }

    /// Changes the number of permits of a name that is in use. Holders keep what they have, even above the new limit.
    /// Waiters keep their places, and the new limit applies to them; the `acquire` of one that wants more than the new
    /// limit fails with [`LimitMismatch`](crate::ErrorKind::LimitMismatch), as does every later claim with another limit.
    /// Does nothing to a name that is not in use: its next user sets the limit.
    ///
    /// # Errors
    /// [`Unsupported`](crate::ErrorKind::Unsupported) if the store has no permits.
    async fn set_limit(&self, name: &Name, of: u32) -> Result<()> {
        let _ = of;
        Err(Feature::Permits.missing(self.info()).with_name(name))
    }

    /// Returns the time of the store's clock, if it has one.
    ///
    /// # Errors
    /// The store did not answer.
    async fn time(&self) -> Result<Option<SystemTime>> {
        Ok(None)
    }

    /// Closes the connection and ends the tasks that were given to [`Host::spawn`]. Later calls fail.
    async fn close(&self);

    /// Returns the notes interface, if the store supports notes.
    fn notes(&self) -> Option<&dyn Notes> {
        None
    }

    /// Returns the interface for inspecting and evicting locks, if the store has one.
    fn admin(&self) -> Option<&dyn Admin> {
        None
    }

    /// Returns the interface of a quorum to its members, if this store can be one.
    fn member(&self) -> Option<&dyn Member> {
        None
    }

    /// Returns duplicates of the file descriptors that this grant depends on, if any; see
    /// [`Guard::descriptors`](crate::Guard::descriptors).
    ///
    /// # Errors
    /// The process has run out of file descriptors.
    #[cfg(unix)]
    fn descriptors(&self, grant: &Grant) -> std::io::Result<Vec<OwnedFd>> {
        let _ = grant;
        Ok(Vec::new())
    }
}

/// Fails to compile if the traits are no longer usable as trait objects.
#[allow(dead_code, reason = "it only has to compile")]
fn object_safe(_: &dyn Connect, _: &dyn Backend, _: &dyn Notes, _: &dyn Admin, _: &dyn Member) {}
