//! A majority of independent servers as one store: `redlock://` is a quorum of Redis servers.
//!
//! A lock is held while a majority of the members has granted it, so it survives the loss of a minority. Fencing tokens
//! rise although no member knows of the others: each member counts, and a grant stands only when a majority of the
//! members has raised its counter to the largest number that any of them gave. Two majorities have a member in common,
//! and the order in which that member granted is the order of the tokens.
//!
//! | file | concept |
//! |---|---|
//! | `seats` | the members: connections, and which are known to be silent |
//! | `silence` | the time limit of a request |
//! | `identity` | which server each member is |
//! | `rounds` | the attempts of each claim: which members were asked, and what they gave |
//! | `backend` | the contract |
//! | `waiting` | notifications that a name is free, and random pauses |
//! | `acquire` | one attempt at all members, in two phases |
//! | `voting` | asking members for their votes, and counting them |
//! | `renewal` | extending grants, and asking members that are missing |
//! | `release` | releasing at all members |
//! | `notes`, `proposer` | notes by majority; compare-and-set on them |
//! | `admin` | listing, evicting, diagnosing |
//! | `shortage` | the errors for too few votes |

mod acquire;
mod admin;
mod backend;
mod identity;
mod notes;
mod proposer;
mod release;
mod renewal;
mod rounds;
mod seats;
mod shortage;
mod silence;
mod voting;
mod waiting;

use crate::backend::pace::Rests;
use crate::backend::{Backend, Connect, Host};
use crate::error::config;
use crate::{Error, Result};
use async_trait::async_trait;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A majority of independent stores, each of them a [member](crate::backend::Member).
///
/// ```
/// use cotter::{Client, memory, quorum};
/// # fn main() -> cotter::Result<()> {
/// let members = [memory::Store::new(), memory::Store::new(), memory::Store::new()];
/// let client = Client::builder().connect_to(quorum::Store::new(members)?).wait()?;
/// let guard = client.mutex("orders").lock().wait()?;
/// # drop(guard); Ok(()) }
/// ```
///
/// Clones share the state of their claims, and so do all clients built on them.
#[derive(Clone)]
pub struct Store(Arc<Shared>);

/// The state that all connections of a store share.
struct Shared {
    members: Vec<Arc<dyn Connect>>,
    scheme: &'static str,
    timeout: Duration,
    health: Vec<seats::Health>,
    identities: identity::Identities,
    rounds: rounds::Rounds,
    /// Which names to leave to others for a moment.
    rests: Rests,
}

/// The longest time that a member may take for an answer, unless set otherwise.
const TIMEOUT: Duration = Duration::from_millis(50);
/// More members than this cost more than they save.
const MAX_MEMBERS: usize = 15;

impl Store {
    /// Creates a quorum of these members. They must be independent: a majority must not fail together.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) for fewer than three members, which do not survive the loss of
    /// any, and for more than 15, which are of no use.
    pub fn new<M: Connect>(members: impl IntoIterator<Item = M>) -> Result<Self> {
        let members: Vec<_> = members.into_iter().map(|m| Arc::new(m) as Arc<dyn Connect>).collect();
        match members.len() {
            0 | 1 => return Err(refused("one server is no quorum; name 3 or 5 independent servers")),
            2 => {
                return Err(refused("two servers survive the loss of none; name 3 or 5 independent servers"));
            }
            n if n > MAX_MEMBERS => {
                return Err(refused(&format!("{n} servers are too many for a quorum; 3 or 5 are usual")));
            }
            _ => {}
        }
        Ok(Self(Arc::new(Shared::new(members, "quorum", TIMEOUT))))
    }

    /// Sets the longest time that a member may take to answer before the others decide without it. Default: 50 ms. It
    /// is never more than a twentieth of the lease.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        let timeout = timeout.max(Duration::from_millis(1));
        Self(Arc::new(Shared::new(self.0.members.clone(), self.0.scheme, timeout)))
    }

    /// Sets the scheme of the URL that this was made from.
    #[cfg(feature = "redis")]
    pub(crate) fn with_scheme(self, scheme: &'static str) -> Self {
        Self(Arc::new(Shared::new(self.0.members.clone(), scheme, self.0.timeout)))
    }
}

fn refused(why: &str) -> Error {
    config(why)
}

impl Shared {
    fn new(members: Vec<Arc<dyn Connect>>, scheme: &'static str, timeout: Duration) -> Self {
        let health = members.iter().map(|_| seats::Health::default()).collect();
        let identities = identity::Identities::of(members.len());
        let (rounds, rests) = Default::default();
        Self { members, scheme, timeout, health, identities, rounds, rests }
    }
}

#[async_trait]
impl Connect for Store {
    async fn connect(&self, host: &Host) -> Result<Arc<dyn Backend>> {
        let seats = seats::Seats::open(&self.0, host).await?;
        Ok(Arc::new(backend::Quorum::new(seats, self.0.clone())))
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("members", &self.0.members).finish_non_exhaustive()
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("members", &self.members).finish_non_exhaustive()
    }
}
