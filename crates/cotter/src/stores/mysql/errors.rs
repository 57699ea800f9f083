//! Translating errors of the server and the driver.

use super::SCHEME;
use crate::stores::shared::net::{read_only, refused};
use crate::stores::shared::sql;
use crate::{Error, ErrorKind};
use mysql_async::{DriverError, Error as Failure, IoError, ServerError};
use std::fmt::Display;
use std::time::Duration;

/// The row of a name was there already, or has changed.
pub(super) const DUPLICATE: u16 = 1062;
/// Two statements waited for each other, and this one was undone.
pub(super) const DEADLOCK: u16 = 1213;
/// A row was locked by another session for too long, or, in MySQL, when it must not be waited for.
pub(super) const LOCK_TIMEOUT: u16 = 1205;
pub(super) const LOCKED: u16 = 3572;
/// The statement was ended from another session.
pub(super) const INTERRUPTED: u16 = 1317;
/// A setting cannot have this value.
pub(super) const WRONG_VALUE: u16 = 1231;
/// There is no session with this number.
pub(super) const NO_SUCH_SESSION: u16 = 1094;

/// Turns an error of the driver into one of this crate, and says whether it ends the session. `writes`: the statement may have
/// changed something if its answer was lost.
pub(super) fn explain(e: Failure, writes: bool) -> (Error, bool) {
    let Failure::Server(said) = &e else {
        let error =
            Error::new(ErrorKind::Unavailable, format!("no answer from the server: {}", one_line(&e)));
        let error = if writes { error.with_outcome_unknown() } else { error };
        return (error.with_backend(SCHEME).with_source(e), true);
    };
    let (error, ends) = (by_code(said), is_end_of_session(said.code));
    // A statement whose session was ended has been rolled back, unless it was about to answer. Every other error is the answer to a
    // statement that was not carried out.
    let in_doubt = writes && ends && !is_read_only(said.code);
    let error = if in_doubt { error.with_outcome_unknown() } else { error };
    let is_contention = matches!(said.code, DEADLOCK | LOCK_TIMEOUT | LOCKED);
    let error = if is_contention { error.with_contention() } else { error };
    (error.with_backend(SCHEME).with_source(e), ends)
}

/// The number of an error of the server.
pub(super) fn code(error: &Error) -> Option<u16> {
    let source = std::error::Error::source(error)?.downcast_ref::<Failure>()?;
    if let Failure::Server(said) = source { Some(said.code) } else { None }
}

/// Whether the server has ended the session, or takes no writes any more, so that another server may have to be looked for.
fn is_end_of_session(code: u16) -> bool {
    matches!(
        code,
        1036 | 1053
            | 1077
            | 1079
            | 1152
            | 1153
            | 1184
            | 1290
            | 1836
            | 1874
            | 1927
            | 2006
            | 2013
            | 3169
            | 4031
    )
}

/// Whether the server does not accept writes: it has refused the statement.
fn is_read_only(code: u16) -> bool {
    matches!(code, 1036 | 1290 | 1792 | 1836 | 1874)
}

fn by_code(ServerError { code, message, .. }: &ServerError) -> Error {
    let message = message.replace('\n', " ");
    match code {
        1045 | 1698 | 1820 | 1862 | 3118 | 4151 => {
            Error::new(ErrorKind::Denied, format!("the server denied access: {message}"))
        }
        1044 | 1095 | 1142 | 1143 | 1227 | 1370 => {
            let why =
                format!("missing privilege: {message}; docs/stores/mysql.md lists the GRANT statements");
            Error::new(ErrorKind::Denied, why)
        }
        1146 | 1054 => missing(&message),
        1292 => {
            let why = "a TIMESTAMP column cannot store this time: it falls into an hour that the time zone of the session skips, \
                       or is too far in the future; use DATETIME(3) columns";
            Error::new(ErrorKind::Config, format!("{why} ({message})"))
        }
        1267 | 1366 | 1406 => {
            Error::new(ErrorKind::InvalidName, format!("the table cannot store this text: {message}"))
        }
        1049 => Error::new(ErrorKind::Config, message),
        1665 => {
            let why = "the server uses statement-based logging; set binlog_format to MIXED or ROW";
            Error::new(ErrorKind::Config, format!("{why} ({message})"))
        }
        code if is_read_only(*code) => {
            let why = format!("the server does not accept writes ({message}): it is a replica or read-only");
            Error::new(ErrorKind::Unavailable, why)
        }
        1205 => {
            let why = "the row is locked by another session, possibly one with an open transaction";
            Error::new(ErrorKind::Unavailable, format!("{why} ({message})"))
        }
        // Deadlocks; sessions, statements, memory and disks at their limits; statements and sessions that were ended; Galera;
        // proxies whose server is gone.
        1213
        | 1021
        | 1037
        | 1038
        | 1040
        | 1041
        | 1047
        | 1053
        | 1077
        | 1079
        | 1114
        | 1129
        | 1135
        | 1152
        | 1153
        | 1158..=1161
        | 1180
        | 1184
        | 1203
        | 1206
        | 1226
        | 1317
        | 1461
        | 1615
        | 1927
        | 1969
        | 2006
        | 2013
        | 3024
        | 3058
        | 3169
        | 3572
        | 4031
        | 9001 => Error::new(
            ErrorKind::Unavailable,
            format!("the server temporarily refuses requests: {message} ({code})"),
        ),
        _ => Error::new(ErrorKind::Protocol, format!("the server reported an error: {message} ({code})")),
    }
}

/// The error for tables that are not there.
pub(super) fn missing(what: &str) -> Error {
    sql::missing(what).with_backend(SCHEME)
}

/// Turns an error of a connection that was to be opened into one of this crate.
pub(super) fn unreachable(e: Failure) -> Error {
    let said = one_line(&e);
    let error = match &e {
        Failure::Server(_) => return explain(e, false).0,
        Failure::Driver(DriverError::NoClientSslFlagFromServer) => {
            let why = "the server does not support TLS; enable it there, or set sslmode=disable";
            Error::new(ErrorKind::Config, why)
        }
        Failure::Driver(DriverError::UnknownAuthPlugin { .. } | DriverError::MysqlOldPasswordDisabled) => {
            Error::new(ErrorKind::Config, format!("unsupported authentication method: {said}"))
        }
        _ => match refused(&said) {
            Some(error) => error,
            None => return no_connection(e),
        },
    };
    error.with_backend(SCHEME).with_source(e)
}

/// The driver frames an error of the system twice: only that one is told.
fn no_connection(e: Failure) -> Error {
    let error = |said: &str| {
        Error::new(ErrorKind::Unavailable, format!("the server cannot be reached: {said}"))
            .with_backend(SCHEME)
    };
    match e {
        Failure::Io(IoError::Io(io)) => error(&one_line(&io)).with_source(io),
        e => error(&one_line(&e)).with_source(e),
    }
}

fn one_line(e: &impl Display) -> String {
    e.to_string().replace('\n', " ")
}

/// The server has become a replica, or read-only, since the connection was made. Nothing was written.
pub(super) fn demoted() -> Error {
    read_only(SCHEME, " any more; put the new primary, or all servers, into the URL")
}

/// The connection has ended before the answer came.
pub(super) fn ended(wrote: bool) -> Error {
    lost("the connection to the server has ended", wrote)
}

/// The answer did not come in time.
pub(super) fn no_answer(limit: Duration, wrote: bool) -> Error {
    lost(&format!("no answer from the server within {limit:?}"), wrote)
}

/// The caller has gone: nobody will read this.
pub(super) fn abandoned() -> Error {
    lost("the caller gave up before the request was sent", false)
}

fn lost(why: &str, wrote: bool) -> Error {
    let error = Error::new(ErrorKind::Unavailable, why).with_backend(SCHEME);
    if wrote { error.with_outcome_unknown() } else { error }
}

/// The error for an answer that the request cannot have.
pub(super) fn unexpected(what: &str) -> Error {
    Error::new(ErrorKind::Protocol, format!("unexpected answer from the server: {what}")).with_backend(SCHEME)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A proxy such as ProxySQL answers in the place of a server that is gone.
    #[test]
    fn a_proxy_without_its_server_is_an_outage() {
        for (code, ends) in [(2006, true), (2013, true), (9001, false)] {
            let (message, state) = ("Lost connection to server during query".into(), "HY000".into());
            let (error, ended) = explain(Failure::Server(ServerError { code, message, state }), true);
            assert!(error.kind() == ErrorKind::Unavailable && error.is_retryable(), "{error}");
            assert_eq!((ended, error.outcome_unknown()), (ends, ends), "{code}: it may have been done");
        }
    }

    #[test]
    fn what_the_server_has_refused_is_not_in_doubt() {
        for (code, ends, in_doubt) in
            [(1290, true, false), (1836, true, false), (1142, false, false), (1053, true, true)]
        {
            let (message, state) = ("as the server says it".into(), "HY000".into());
            let (error, ended) = explain(Failure::Server(ServerError { code, message, state }), true);
            assert_eq!((ended, error.outcome_unknown()), (ends, in_doubt), "{code}: {error}");
        }
    }

    #[test]
    fn an_error_of_the_system_is_told_without_its_frames() {
        let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        let error = unreachable(Failure::Io(IoError::Io(refused)));
        assert_eq!(error.to_string(), "mysql: unavailable: the server cannot be reached: connection refused");
    }
}
