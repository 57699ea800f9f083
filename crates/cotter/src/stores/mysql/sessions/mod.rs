//! The modes in which a lock lives with a session of the server: `row` and `advisory`. `sql/sessions` says how.
//!
//! Beside each lock there is a row that says who holds it, and that its tokens come from. What such a row says of a holder counts
//! as long as the session of that holder has the lock of the name's digest (`GET_LOCK`): with `mode=advisory` that is the lock
//! itself, and with `mode=row` the sign that the session, and with it its transaction, is still there.
//!
//! | file | concept |
//! |---|---|
//! | `backend` | the state that both share, and the steps in which they differ |
//! | `advisory` | `GET_LOCK` |
//! | `row` | `SELECT … FOR UPDATE` in a transaction that stays open |
//! | `own_table` | a table of the user's own: whether its rows can be locked |
//! | `tokens` | reserving tokens |
//! | `connection` | a session that can hold one lock |
//! | `limits` | the time after which the server ends a silent session |
//! | `ending` | ending a session, and its statement, from another one |
//! | `records`, `statements` | the rows beside the locks: notes, listing, evicting; the statements |
//! | `diagnosis` | diagnosing a server |

mod advisory;
mod backend;
mod connection;
mod diagnosis;
mod ending;
mod limits;
mod own_table;
mod records;
mod row;
mod statements;
mod tokens;

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
pub(super) async fn open(pool: Pool, shared: &Arc<Shared>, host: &Host) -> Result<Arc<dyn Backend>> {
    match shared.options.mode {
        Mode::Advisory => open_as::<Advisory>(pool, shared, host).await,
        _ => open_as::<Row>(pool, shared, host).await,
    }
}

async fn open_as<S: Steps>(pool: Pool, shared: &Arc<Shared>, host: &Host) -> Result<Arc<dyn Backend>> {
    let mut info = info(SCHEME, S::VARIANT, &shared.options.instance, S::ORDERED);
    info.place = format!("{}/{:?}", shared.options.prefix, shared.options.table);
    info.names_are_given = shared.options.table.is_some();
    let inner = Inner::<S>::open(pool, shared, host).await?;
    Ok(Arc::new(Sessions::open(inner, info).await?))
}
