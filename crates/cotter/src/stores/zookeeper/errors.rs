//! Translating errors of the server and of connections.

use super::SCHEME;
use crate::{Error, ErrorKind};

pub(super) const NO_NODE: i32 = -101;
pub(super) const BAD_VERSION: i32 = -103;
pub(super) const NODE_EXISTS: i32 = -110;
pub(super) const NO_AUTH: i32 = -102;
const SESSION_EXPIRED: i32 = -112;
const INVALID_ACL: i32 = -114;
const AUTH_FAILED: i32 = -115;
const SESSION_MOVED: i32 = -118;
const NOT_READ_ONLY: i32 = -119;
const QUOTA_EXCEEDED: i32 = -125;
const THROTTLED: i32 = -127;
const RECONFIGURING: i32 = -14;
const NO_QUORUM: i32 = -13;
/// The codes of errors after which the request may have been carried out.
const IN_DOUBT: std::ops::RangeInclusive<i32> = -9..=-1;

/// Why a request has no answer, or one that says no.
#[derive(Debug, Clone)]
pub(super) enum Failure {
    /// The server has answered with this code.
    Code(i32),
    /// The connection ended before the answer. The request may have been carried out, or may still be.
    Ended,
    /// The answer is not what it should be.
    Garbled,
    /// There was no connection to send it on.
    NotSent(Error),
}

impl Failure {
    pub(super) fn is(&self, code: i32) -> bool {
        matches!(self, Self::Code(own) if *own == code)
    }

    /// Whether the request was not carried out, and never will be.
    pub(super) fn is_refusal(&self) -> bool {
        match self {
            Self::Code(code) => !IN_DOUBT.contains(code),
            Self::Ended | Self::Garbled => false,
            Self::NotSent(_) => true,
        }
    }

    /// Whether the session of the request has ended.
    pub(super) fn is_session_expired(&self) -> bool {
        self.is(SESSION_EXPIRED)
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        let is_refusal = failure.is_refusal();
        let error = match failure {
            Failure::NotSent(error) => return error,
            Failure::Ended => {
                Self::new(ErrorKind::Unavailable, "the connection ended before the server answered")
            }
            Failure::Garbled => {
                Self::new(ErrorKind::Protocol, "unexpected answer from the server: a malformed message")
            }
            Failure::Code(code) => explain(code),
        };
        let error = error.with_backend(SCHEME);
        if is_refusal { error } else { error.with_outcome_unknown() }
    }
}

fn explain(code: i32) -> Error {
    let (kind, why) = match code {
        NO_AUTH => (
            ErrorKind::Denied,
            "the server denied access to a node: its ACL does not permit this user".to_owned(),
        ),
        AUTH_FAILED => (ErrorKind::Denied, "the server rejected the user name or password".to_owned()),
        INVALID_ACL => (
            ErrorKind::Denied,
            "the server rejected the ACL of a node; acl=creator requires a user name in the URL".to_owned(),
        ),
        SESSION_EXPIRED => (ErrorKind::Unavailable, "the session has ended".to_owned()),
        SESSION_MOVED => (ErrorKind::Unavailable, "the session has moved to another connection".to_owned()),
        NOT_READ_ONLY | NO_QUORUM | RECONFIGURING | THROTTLED | QUOTA_EXCEEDED => {
            (ErrorKind::Unavailable, format!("the server temporarily refuses requests (code {code})"))
        }
        code if IN_DOUBT.contains(&code) => {
            (ErrorKind::Unavailable, format!("the server failed to carry out a request (code {code})"))
        }
        _ => (ErrorKind::Protocol, format!("the server reported an error (code {code})")),
    };
    Error::new(kind, why)
}

/// The error for an answer that the request cannot have.
pub(super) fn unexpected(what: &str) -> Error {
    Error::new(ErrorKind::Protocol, format!("unexpected answer from the server: {what}"))
        .with_backend(SCHEME)
        .with_outcome_unknown()
}

/// The error for a claim whose place went with its session, or was deleted.
pub(super) fn place_is_gone() -> Error {
    let why = "the queue node is gone: its session ended, or the node was deleted";
    Error::new(ErrorKind::Unavailable, why).with_backend(SCHEME)
}

/// The error where nothing was sent, because there is no connection.
pub(super) fn unreachable(why: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Unavailable, format!("the server cannot be reached: {why}")).with_backend(SCHEME)
}

/// The error for a line, or a node of it, that others have changed again and again.
pub(super) fn keeps_changing() -> Error {
    Error::new(ErrorKind::Unavailable, "the queue kept changing during the request; try again")
}
