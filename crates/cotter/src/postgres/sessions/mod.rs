//! The modes in which a lock lives with a session of the database: `row` and `advisory`.
//!
//! Each claim has a session of its own, because two claims of one session would not exclude each other. It waits in the server, in
//! one statement, and then keeps the lock for as long as it lives. The server ends a session whose client is silent for
//! `session_timeout`; a client proves that it lives every quarter of that, and counts from the sending of its last answered proof,
//! so it knows of the end before the server frees the lock.
//!
//! | file | concept |
//! |---|---|
//! | `backend` | the contract for both, and the steps in which they differ |
//! | `row` | `SELECT … FOR UPDATE` in a transaction that stays open |
//! | `advisory` | `pg_advisory_lock` |
//! | `connection` | a session that can hold one lock |
//! | `spare` | the sessions that the next claims will use |
//! | `seats`, `keeper` | the claims of this process; the task of one of them |
//! | `records` | who holds what: extending, notes, listing, evicting |
//! | `diagnosis` | diagnosing a server |

mod advisory;
mod backend;
mod connection;
mod diagnosis;
mod keeper;
mod records;
mod row;
mod seats;
mod spare;

pub(super) use row::in_transaction;

use super::Shared;
use super::connector::Pool;
use super::options::Mode;
use crate::Result;
use crate::backend::{Backend, Host};
use advisory::Advisory;
use backend::Sessions;
use row::Row;
use std::sync::Arc;

/// Connects in the mode of the options. The pool is for everything that is not about one lock.
pub(super) async fn open(pool: Pool, shared: &Shared, host: &Host) -> Result<Arc<dyn Backend>> {
    Ok(match shared.options.mode {
        Mode::Advisory => Arc::new(Sessions::<Advisory>::open(pool, shared, host).await?),
        _ => Arc::new(Sessions::<Row>::open(pool, shared, host).await?),
    })
}
