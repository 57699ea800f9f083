//! Translating errors of the server and the driver.

use super::SCHEME;
use crate::stores::shared::net::refused;
use crate::stores::shared::sql;
use crate::{Error, ErrorKind};
use std::io;

/// The error that the functions raise in transactions of another isolation level.
const NOT_READ_COMMITTED: &str = "CT001";
/// The error for two names that have the same advisory lock.
const SAME_HASH: &str = "CT002";
/// The error for several rows with the same value in the column of the names.
const TWO_ROWS: &str = "CT003";
/// The error for a row that is not there, in a transaction of the caller's own.
const NO_ROW: &str = "CT004";

/// The codes with which the server ends a session: an operator, a crash, a start, a time limit (of a session, of an idle and of any
/// transaction), or because it does not accept writes.
const ENDS_OF_SESSIONS: [&str; 7] = ["57P01", "57P02", "57P03", "57P05", "25P03", "25P04", READ_ONLY];
const READ_ONLY: &str = "25006";

/// Others were in the way: conflicting transactions, a deadlock, a row that stays locked.
const CONTENTION: [&str; 3] = ["40001", "40P01", "55P03"];

/// What PgBouncer says to a client that it does not let in.
const REFUSED_LOGINS: [&str; 3] = ["authentication failed", "no such user", "login rejected"];

/// Turns an error of the driver into one of this crate. `sent`: the request may have been sent when it failed.
pub(super) fn explain(e: tokio_postgres::Error, sent: bool) -> Error {
    let Some(said) = e.as_db_error() else {
        if let Some(error) = refused_login(&e) {
            return error.with_backend(SCHEME).with_source(e);
        }
        let error = match sent {
            true => Error::new(ErrorKind::Unavailable, format!("no answer from the server: {e}"))
                .with_outcome_unknown(),
            false => Error::new(ErrorKind::Unavailable, format!("the server cannot be reached: {e}")),
        };
        return error.with_backend(SCHEME).with_source(e);
    };
    let error = match said.code().code() {
        "55P03" => locked_by_another(said.message(), said.where_()),
        code => by_code(code, said.message()),
    };
    // A statement whose session was ended has been rolled back, unless it was about to answer. Every other error is the answer to a
    // statement that was not carried out.
    let error = if sent && is_in_doubt(said.code().code()) { error.with_outcome_unknown() } else { error };
    let error = if CONTENTION.contains(&said.code().code()) { error.with_contention() } else { error };
    error.with_backend(SCHEME)
}

/// The error for a login that the server has turned away without an answer of its own.
fn refused_login(e: &tokio_postgres::Error) -> Option<Error> {
    let source = std::error::Error::source(e)?.to_string();
    if source == "password missing" {
        let why = "the server asks for a password, and there is none in the URL";
        return Some(Error::new(ErrorKind::Denied, why));
    }
    refused(&source)
}

/// Whether the server has ended the session, or refuses to work in it.
pub(super) fn is_end_of_session(e: &tokio_postgres::Error) -> bool {
    e.as_db_error().is_none_or(|said| ENDS_OF_SESSIONS.contains(&said.code().code()))
}

/// Whether a statement may have been carried out although this is the answer. One that writes nothing where nothing may be written
/// has not been.
fn is_in_doubt(code: &str) -> bool {
    code != READ_ONLY && ENDS_OF_SESSIONS.contains(&code)
}

fn by_code(code: &str, message: &str) -> Error {
    match (code, code.get(..2).unwrap_or_default()) {
        (NOT_READ_COMMITTED, _) => {
            let why = "the isolation level must be READ COMMITTED: ALTER ROLE … SET default_transaction_isolation = 'read committed'";
            Error::new(ErrorKind::Config, why)
        }
        ("28P01" | "28000", _) => {
            Error::new(ErrorKind::Denied, format!("the server denied access: {message}"))
        }
        ("42501", _) => {
            let why =
                format!("missing privilege: {message}; docs/stores/postgres.md lists the GRANT statements");
            Error::new(ErrorKind::Denied, why)
        }
        ("42P01" | "42883" | "3F000", _) => missing(message),
        ("42704", _) => {
            let why = format!("{message}; mode=row and mode=advisory require PostgreSQL 14 or later");
            Error::new(ErrorKind::Config, why)
        }
        ("3D000", _) => Error::new(ErrorKind::Config, message.to_owned()),
        (SAME_HASH | TWO_ROWS, _) => Error::new(ErrorKind::Unsupported, message.to_owned()),
        (NO_ROW, _) => Error::new(ErrorKind::NotFound, message.to_owned()),
        ("22P02" | "22P05" | "22021" | "22003" | "22007" | "22008", _) => {
            Error::new(ErrorKind::InvalidInput, message.to_owned())
        }
        ("53300", _) => {
            let limit = match message {
                of if of.contains("for role") => "the CONNECTION LIMIT of the role",
                of if of.contains("for database") => "the CONNECTION LIMIT of the database",
                _ => "max_connections",
            };
            let why = format!(
                "too many sessions: {message}; raise {limit}, or lower connections= (in mode=row and mode=advisory, each lock \
                 that is held or waited for has a session as well)"
            );
            Error::new(ErrorKind::Unavailable, why)
        }
        (READ_ONLY, _) => {
            let why = format!("the server does not accept writes ({message}): it is a replica or read-only");
            Error::new(ErrorKind::Unavailable, why)
        }
        // PgBouncer before 1.19 has this code for everything that it refuses.
        ("08P01", _) if REFUSED_LOGINS.iter().any(|said| message.contains(said)) => {
            Error::new(ErrorKind::Denied, format!("the pooler denied access: {message}"))
        }
        ("08P01", _) if message.starts_with("no such database") => {
            Error::new(ErrorKind::Config, format!("the pooler has {message}"))
        }
        // Supavisor has no code of its own for it.
        ("XX000", _) if message.to_lowercase().contains("max client") => {
            let why = format!("the pooler has no connection to spare: {message} ({code})");
            Error::new(ErrorKind::Unavailable, why)
        }
        // Deadlocks and conflicts; limits of resources; operators; locks that were not available; the connection.
        (_, "40" | "53" | "57" | "58" | "55" | "08") => Error::new(
            ErrorKind::Unavailable,
            format!("the server temporarily refuses requests: {message} ({code})"),
        ),
        (code, _) if ENDS_OF_SESSIONS.contains(&code) => {
            Error::new(ErrorKind::Unavailable, format!("the server ended the session: {message} ({code})"))
        }
        _ => Error::new(ErrorKind::Protocol, format!("the server reported an error: {message} ({code})")),
    }
}

/// The error for a row that somebody keeps locked. The first line of the context says of which table.
fn locked_by_another(message: &str, context: Option<&str>) -> Error {
    let place = context
        .and_then(|context| context.lines().next())
        .map_or(String::new(), |place| format!(" ({place})"));
    let why = format!(
        "a row or table is locked by another session, possibly one with an open transaction: {message}{place}"
    );
    Error::new(ErrorKind::Unavailable, why)
}

/// The error for a read that something in between has sent to a replica, where it may be out of date.
pub(super) fn from_replica() -> Error {
    let why = "a read was answered by a replica, which may be behind: whatever is between cotter and the server has to send \
               statements with volatile functions to the primary";
    Error::new(ErrorKind::Unavailable, why).with_backend(SCHEME)
}

/// The error for tables or functions that are not there.
pub(super) fn missing(what: &str) -> Error {
    sql::missing(what).with_backend(SCHEME)
}

/// Turns an error of a socket that was to be opened into one of this crate.
pub(super) fn unreachable(e: io::Error) -> Error {
    let said = e.to_string();
    let error = if let Some(refused) = refused(&said) {
        refused
    } else if e.kind() == io::ErrorKind::Unsupported {
        Error::new(ErrorKind::Config, said)
    } else {
        Error::new(ErrorKind::Unavailable, format!("the server cannot be reached: {said}"))
    };
    error.with_backend(SCHEME).with_source(e)
}

/// The error for an answer that the request cannot have.
pub(super) fn unexpected(what: &str) -> Error {
    Error::new(ErrorKind::Protocol, format!("unexpected answer from the server: {what}"))
        .with_backend(SCHEME)
        .with_outcome_unknown()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the poolers say it.
    #[test]
    fn a_pooler_at_its_limit_is_an_outage() {
        for (code, message) in [
            ("XX000", "Max client connections reached"),
            (
                "XX000",
                "MaxClientsInSessionMode: max clients reached - in Session mode max clients are limited to pool_size",
            ),
            ("08P01", "no more connections allowed (max_client_conn)"),
            ("53300", "sorry, too many clients already"),
        ] {
            let error = by_code(code, message);
            assert!(error.kind() == ErrorKind::Unavailable && error.is_retryable(), "{error}");
            assert!(error.to_string().contains(message), "{error}");
        }
        assert_eq!(by_code("XX000", "Tenant or user not found").kind(), ErrorKind::Protocol);
    }

    #[test]
    fn the_limit_that_was_reached_is_named() {
        for (message, limit) in [
            ("sorry, too many clients already", "raise max_connections,"),
            ("too many connections for role \"app\"", "raise the CONNECTION LIMIT of the role,"),
            ("too many connections for database \"d\"", "raise the CONNECTION LIMIT of the database,"),
        ] {
            let error = by_code("53300", message).to_string();
            assert!(error.contains(limit), "{error}");
        }
    }

    #[test]
    fn the_end_of_a_session_is_an_outage_whoever_has_ended_it() {
        for code in ENDS_OF_SESSIONS {
            let error = by_code(code, "terminating connection due to some timeout");
            assert!(error.kind() == ErrorKind::Unavailable && error.is_retryable(), "{error}");
        }
    }

    #[test]
    fn what_the_server_has_refused_is_not_in_doubt() {
        for code in ["25006", "0A000", "42883", "42501", "55P03", "22P05", "53300", "40001"] {
            assert!(!is_in_doubt(code), "{code}");
        }
        for code in ["57P01", "57P02", "25P03"] {
            assert!(is_in_doubt(code), "{code}");
        }
    }

    /// As a database in LATIN1 says it.
    #[test]
    fn a_name_that_the_encoding_does_not_have_is_invalid_input() {
        for (code, message) in [
            (
                "22P05",
                "character with byte sequence 0xe2 0x82 0xac in encoding \"UTF8\" has no equivalent in encoding \"LATIN1\"",
            ),
            ("22021", "invalid byte sequence for encoding \"UTF8\": 0x00"),
        ] {
            let error = by_code(code, message);
            assert!(
                error.kind() == ErrorKind::InvalidInput && error.to_string().contains(message),
                "{error}"
            );
        }
    }

    /// As PgBouncer 1.18 says it.
    #[test]
    fn a_login_that_a_pooler_refuses_is_not_an_outage() {
        for (message, kind) in [
            ("password authentication failed", ErrorKind::Denied),
            ("SASL authentication failed", ErrorKind::Denied),
            ("no such user: app", ErrorKind::Denied),
            ("no such database: jobs", ErrorKind::Config),
        ] {
            let error = by_code("08P01", message);
            assert!(error.kind() == kind && !error.is_retryable(), "{error}");
            assert!(error.to_string().contains(message), "{error}");
        }
        assert!(by_code("08P01", "server conn crashed?").is_retryable());
    }
}
