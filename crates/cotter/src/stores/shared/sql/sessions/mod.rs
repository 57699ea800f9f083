//! Locks that live with a session of a database: the components that the stores share.
//!
//! Each claim has a session of its own, because two claims of one session would not exclude each other. It waits in the server, in
//! one statement, and then keeps the lock for as long as it lives. The server ends a session whose client is silent for
//! `session_timeout`; a client proves that it lives every quarter of that, and counts from the sending of its last answered proof,
//! so it knows of the end before the server frees the lock. One that has waited has to say something within [`CLAIMED_WITHIN`] when
//! it has got the lock: it may have been stopped or cut off meanwhile.
//!
//! | file | concept |
//! |---|---|
//! | `store` | the steps on a session that each store implements |
//! | `connection` | a session that can hold one lock |
//! | `parts` | the parts that every such store has |
//! | `errors` | the errors that these modes have in every database |
//! | `backend` | the contract |
//! | `spare` | the sessions that the next claims will use |
//! | `seats`, `keeper` | the claims of this process; the task of one of them |

mod backend;
mod connection;
mod errors;
mod keeper;
mod parts;
mod seats;
mod spare;
mod store;

pub(crate) use backend::{Sessions, info};
pub(crate) use connection::{Connection, SessionConnector, SessionLive};
pub(crate) use errors::{missing_row, not_ended, pooled, row_vanished, session_count};
pub(crate) use parts::Parts;
pub(crate) use store::{Asked, Store, Tokens, Wait};

use std::time::Duration;

/// The server ends a session that has waited for a lock, and has got it, when its client is silent for this long.
pub(crate) const CLAIMED_WITHIN: Duration = Duration::from_secs(2);
