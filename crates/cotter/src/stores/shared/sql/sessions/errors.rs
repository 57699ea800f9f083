//! The errors that these modes have in every database.

use crate::backend::Finding;
use crate::stores::shared::sql::Table;
use crate::{Error, ErrorKind};

/// The error for a connection that a proxy or pooler may move to another session.
pub(crate) fn pooled(scheme: &'static str, proxy: &str) -> Error {
    let why = format!(
        "connected through {proxy}, which may run each transaction in a different session, so that a session lock would be \
         held by the wrong client or by none; put the address of the server itself into the URL, or use mode=lease"
    );
    Error::new(ErrorKind::Config, why).with_backend(scheme)
}

/// The error for a row of cotter's own that disappears whenever it is created.
pub(crate) fn row_vanished(scheme: &'static str) -> Error {
    let why = "the row of this name was deleted right after it was created";
    Error::new(ErrorKind::Unavailable, why).with_backend(scheme)
}

/// The error for a name without a row in a table of the user's own. `literal`: the name, as it is written in a statement.
pub(crate) fn missing_row(scheme: &'static str, table: &Table, literal: &str) -> Error {
    let Table { name, column } = table;
    let why = format!(
        "table {name} has no row whose {column} is exactly {literal}, and cotter does not add rows to a table of yours; create one: \
         INSERT INTO {name} ({column}, …) VALUES ({literal}, …)"
    );
    Error::new(ErrorKind::NotFound, why).with_backend(scheme)
}

/// The error for a session that is still there after the server was asked to end it.
pub(crate) fn not_ended(scheme: &'static str, session: &str) -> Error {
    let why = format!("the server has not ended {session} yet");
    Error::new(ErrorKind::Unavailable, why).with_backend(scheme).with_outcome_unknown()
}

/// Diagnoses the number of sessions that a server has, and may have.
pub(crate) fn session_count(now: u64, limit: u64) -> Finding {
    let message = format!("{now} of {limit}; each lock that is held or waited for uses one");
    if now * 10 > limit * 8 { Finding::limits("sessions", message) } else { Finding::ok("sessions", message) }
}
