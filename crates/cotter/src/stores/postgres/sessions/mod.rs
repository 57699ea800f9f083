//! The modes in which a lock lives with a session of the database: `row` and `advisory`.
//! `sql/sessions` says how.
//!
//! | file | concept |
//! |---|---|
//! | `backend` | the state that both share, and the steps in which they differ |
//! | `row` | `SELECT … FOR UPDATE` in a transaction that stays open |
//! | `advisory` | `pg_advisory_lock` |
//! | `connection` | a session that can hold one lock |
//! | `records` | the rows beside the locks: notes, listing, evicting |
//! | `diagnosis` | diagnosing a server |

mod advisory;
mod backend;
mod connection;
mod diagnosis;
mod records;
mod row;

pub(super) use row::in_transaction;

use super::connector::Pool;
use super::{SCHEME, Shared};
use crate::Result;
use crate::backend::{Backend, Host};
use crate::stores::shared::sql::Mode;
use crate::stores::shared::sql::sessions::{Sessions, info};
use advisory::Advisory;
use backend::{Inner, Steps};
use row::Row;
use std::sync::Arc;

/// Connects in the mode of the options. The pool is for everything that is not about one lock.
pub(super) async fn open(pool: Pool, shared: &Shared, host: &Host) -> Result<Arc<dyn Backend>> {
    match shared.options.common.mode {
        Mode::Advisory => open_as::<Advisory>(pool, shared, host).await,
        _ => open_as::<Row>(pool, shared, host).await,
    }
}

async fn open_as<S: Steps>(pool: Pool, shared: &Shared, host: &Host) -> Result<Arc<dyn Backend>> {
    let mut info = info(SCHEME, S::VARIANT, &shared.options.common.instance, S::ORDERED);
    info.place = format!("{}/{:?}", shared.options.qualified(), shared.options.common.table);
    info.names_are_given = shared.options.common.table.is_some();
    let inner = Inner::<S>::open(pool, shared, host).await?;
    Ok(Arc::new(Sessions::open(inner, info).await?))
}
