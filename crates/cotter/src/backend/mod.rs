//! The contract between the engine and a store. **Not frozen yet**: more stores have to carry it first.
//!
//! A backend is a set of atomic steps and the store's own way of waiting. It renews nothing, retries nothing, polls
//! only through [`poll::until`], and spawns no task but the one that reads its wake-up channel or
//! keeps its session. The engine does the rest, once, for all stores.
//!
//! # The rules
//! 1. Before the first byte of [`acquire`](Backend::acquire) leaves, whatever `release(claim)` needs to undo it is
//!    registered. A dropped future never owns the only handle to a connection, file or session.
//! 2. After `release(claim)` no earlier `acquire` of that claim stays in effect. Where one may still arrive, `release`
//!    says so ([`Release::Unsettled`]) and is repeated.
//! 3. `acquire` can be dropped at any poll.
//! 4. `Ok(None)` leaves nothing of the claim in the store. `acquire` of a claim that is already granted answers the
//!    same grant: same number, same turns, and the time that is really left.
//! 5. `as_of` is never later than the sending of the request whose answer proves the grant.
//! 6. `extend` gives at least what was asked or answers with an error; it never shortens, never creates, and never touches
//!    somebody else's grant.
//! 7. A name whose queue has a listening waiter is never given to a newcomer. Waiters that nobody listens for block
//!    nobody.
//! 8. Nothing is ever counted up on a retry.
//! 9. Number and turns of a grant are what the store reserved, never what was asked.
//!
//! # Writing a backend
//! Implement [`Connect`] and [`Backend`] under [`#[async_trait]`](macro@async_trait), say what the store can do in its
//! [`Capabilities`], and run the cases of `cotter::conformance` (feature `conformance`). Everything else has a
//! default. `crates/cotter-toy-store` in the repository is a complete store of about 200 lines.
//!
//! Most stores set [`names`](Capabilities::names) and [`distinct`](Capabilities::distinct). One without a queue leaves
//! [`ordered`](Capabilities::ordered) out, but must not let a newcomer win every race: a process that releases a lock and
//! asks for it again at once would starve all that poll. Tokens come from [`tokens::reserve`] unless the store has a counter
//! that never goes back.
//!
//! | file | concept |
//! |---|---|
//! | `claim` | claims, grants, and how long to wait for one |
//! | `answer` | the answers to `extend` and `release` |
//! | `info` | what a store is, promises and can do |
//! | `host` | where a connection lives |
//! | `session` | a liveness domain that grants share |
//! | `notes` | small values beside a name |
//! | `admin` | looking at locks from outside, and taking them away |
//! | `poll`, `backoff` | the polling loop; pauses between attempts |
//! | `inflight`, `flight` | acquire requests that may still arrive; requests that outlive their callers |
//! | `tokens` | reserving fencing tokens |
//! | `by_claim` | maps keyed by claim id |

mod admin;
mod answer;
mod backoff;
pub(crate) mod by_claim;
mod claim;
pub mod flight;
mod host;
pub mod inflight;
mod info;
mod notes;
pub mod poll;
mod session;
pub mod tokens;

pub use admin::{Admin, Cursor, EvictOrder, Eviction, Filter, Finding, Holder, Page, Record, Severity};
pub use answer::{Extension, Leave, Release};
/// Makes the methods of these traits `async`: put `#[async_trait]` on each implementation.
pub use async_trait::async_trait;
pub use backoff::Backoff;
pub use claim::{Claim, ClaimId, Grant, Mode, Until};
pub use host::Host;
pub(crate) use host::Spawn;
pub(crate) use info::Feature;
pub use info::{Capabilities, Info, Level};
pub use notes::{Note, NoteAt, Notes};
pub(crate) use session::OnLoss;
pub use session::Session;

use crate::{Name, Result};
use std::fmt::Debug;
#[cfg(unix)]
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Makes backends; what [`Builder::backend`](crate::Builder::backend) takes.
#[async_trait]
pub trait Connect: Debug + Send + Sync + 'static {
    /// Connects, in the runtime that will drive the connection: once for the client's engine, and where
    /// [`per_runtime`](Capabilities::per_runtime) is set once more for each runtime that calls.
    ///
    /// # Errors
    /// Whatever keeps the store from being used, with what to do about it.
    async fn connect(&self, host: &Host) -> Result<Arc<dyn Backend>>;
}

/// One store, as the engine sees it. The [rules](self) bind every implementation.
#[async_trait]
pub trait Backend: Debug + Send + Sync + 'static {
    /// What this store is and can do.
    fn info(&self) -> &Info;

    /// Asks for a grant; `Ok(None)` means busy until the time was over.
    ///
    /// # Errors
    /// An error with [`outcome_unknown`](crate::Error::outcome_unknown) may have left a grant behind: the engine undoes it.
    async fn acquire(&self, claim: &Claim, until: Until) -> Result<Option<Grant>>;

    /// Asks for `ttl` from now for each of these grants; one answer each, in order.
    async fn extend(&self, grants: &[&Grant], ttl: Duration) -> Vec<Result<Extension>>;

    /// Undoes `acquire`: frees what the claim holds, takes it out of the queue.
    ///
    /// # Errors
    /// The store did not answer; the engine tries again.
    async fn release(&self, claim: &Claim, leave: Leave) -> Result<Release>;

    /// Turns an exclusive grant into a shared one without a gap.
    ///
    /// # Errors
    /// [`Unsupported`](crate::ErrorKind::Unsupported) where the store cannot.
    async fn downgrade(&self, grant: &Grant) -> Result<Grant> {
        Err(Feature::Downgrade.missing(self.info()).with_name(&grant.claim.name))
    }

    /// Changes how many permits a name in use has. Holders keep what they have, even above the new limit, and waiters go by
    /// the new one; a claim with another limit is then refused as [`LimitMismatch`](crate::ErrorKind::LimitMismatch).
    /// Nothing happens to a name that nobody uses: its next user says how many there are.
    ///
    /// # Errors
    /// [`Unsupported`](crate::ErrorKind::Unsupported) where the store has no permits.
    async fn set_limit(&self, name: &Name, of: u32) -> Result<()> {
        let _ = of;
        Err(Feature::Permits.missing(self.info()).with_name(name))
    }

    /// The store's clock, where it has one.
    ///
    /// # Errors
    /// The store did not answer.
    async fn time(&self) -> Result<Option<SystemTime>> {
        Ok(None)
    }

    /// Ends the connection. Later calls fail.
    async fn close(&self);

    /// Small values beside the names, where the store has them.
    fn notes(&self) -> Option<&dyn Notes> {
        None
    }

    /// Looking at locks from outside, where the store can.
    fn admin(&self) -> Option<&dyn Admin> {
        None
    }

    /// Duplicates of the descriptors that this grant lives on, where it lives on some; see
    /// [`Guard::descriptors`](crate::Guard::descriptors).
    ///
    /// # Errors
    /// The process has no descriptors left.
    #[cfg(unix)]
    fn descriptors(&self, grant: &Grant) -> std::io::Result<Vec<OwnedFd>> {
        let _ = grant;
        Ok(Vec::new())
    }
}

/// Fails to compile when the contract stops being usable as a trait object.
#[allow(dead_code, reason = "it only has to compile")]
fn object_safe(_: &dyn Connect, _: &dyn Backend, _: &dyn Notes, _: &dyn Admin) {}
