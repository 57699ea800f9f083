//! Locks that live with a session of a database: what the stores share.
//!
//! Each claim has a session of its own, because two claims of one session would not exclude each other. It waits in the server, in
//! one statement, and then keeps the lock for as long as it lives. The server ends a session whose client is silent for
//! `session_timeout`; a client proves that it lives every quarter of that, and counts from the sending of its last answered proof,
//! so it knows of the end before the server frees the lock.
//!
//! | file | concept |
//! |---|---|
//! | `store` | what a store brings along: its sessions, and the steps on them |
//! | `backend` | the contract |
//! | `spare` | the sessions that the next claims will use |
//! | `seats`, `keeper` | the claims of this process; the task of one of them |

mod backend;
mod keeper;
mod seats;
mod spare;
mod store;

pub(crate) use backend::{Sessions, info};
pub(crate) use seats::Seats;
pub(crate) use spare::Spares;
pub(crate) use store::{Asked, Connection, Opens, Store, Tokens, Wait};
