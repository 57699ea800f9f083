//! Translating errors of the server and the driver.

use super::{SCHEME, doctor};
use crate::{Error, ErrorKind};
use std::time::Duration;
use tonic::{Code, Status};

/// The messages with which the server refuses a request before, or instead of, carrying it out. After any other error the
/// request may have been carried out, or may still be: also after one that says that the request timed out, because a
/// proposal is not taken back.
const REFUSALS: &[&str] = &[
    LEASE_NOT_FOUND,
    OLD_AUTH_REVISION,
    NO_LEADER,
    "etcdserver: permission denied",
    INVALID_TOKEN,
    "etcdserver: user name is empty",
    "etcdserver: user name not found",
    "etcdserver: authentication failed",
    NO_LOGIN,
    TOO_MANY_REQUESTS,
    "etcdserver: request is too large",
    NO_SPACE,
    "etcdserver: duplicate key given in txn request",
    "etcdserver: too many operations in txn request",
    "auth: ",
];

const LEASE_NOT_FOUND: &str = "etcdserver: requested lease not found";
const NO_LOGIN: &str = "etcdserver: authentication is not enabled";
const NO_LEADER: &str = "etcdserver: no leader";
const NO_SPACE: &str = "etcdserver: mvcc: database space exceeded";
/// The member has not yet carried out thousands of entries that the cluster has agreed on.
const TOO_MANY_REQUESTS: &str = "etcdserver: too many requests";
/// Users or roles have changed since the connection has logged in.
const OLD_AUTH_REVISION: &str = "etcdserver: revision of auth store is old";
/// The login has ended: it was not used for a while, or lasts only so long.
const INVALID_TOKEN: &str = "etcdserver: invalid auth token";

/// Why a request has no answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// The server or the driver said so.
    Status(Box<Status>),
    /// No answer came in time.
    Silence(Duration),
    /// There was no connection to send it on.
    NotSent(Error),
}

impl Failure {
    /// Whether the request was not carried out, and never will be.
    pub(super) fn is_refusal(&self) -> bool {
        match self {
            Self::Status(status) => REFUSALS.iter().any(|said| status.message().starts_with(said)),
            Self::Silence(_) => false,
            Self::NotSent(_) => true,
        }
    }

    /// Whether the lease of the request has ended.
    pub(super) fn is_lease_not_found(&self) -> bool {
        self.says(LEASE_NOT_FOUND)
    }

    /// Whether the login of the connection is no longer good, and a new one may be.
    pub(super) fn is_stale_login(&self) -> bool {
        self.says(INVALID_TOKEN) || self.says(OLD_AUTH_REVISION)
    }

    /// Whether another member of the cluster may answer where this one does not.
    pub(super) fn is_of_this_member(&self) -> bool {
        match self {
            Self::Status(status) => {
                self.is_stale_login()
                    || self.says(TOO_MANY_REQUESTS)
                    || matches!(
                        status.code(),
                        Code::Unavailable
                            | Code::Unknown
                            | Code::Cancelled
                            | Code::Internal
                            | Code::DeadlineExceeded
                    )
            }
            Self::Silence(_) => true,
            Self::NotSent(_) => false,
        }
    }

    /// The error if nothing was asked for, so that nothing is unknown.
    pub(super) fn error(self) -> Error {
        let is_refusal = self.is_refusal();
        let error = match self {
            Self::NotSent(error) => return error,
            Self::Silence(after) => {
                Error::new(ErrorKind::Unavailable, format!("no answer from the server within {after:?}"))
            }
            Self::Status(status) => explain(&status, is_refusal).with_source(*status),
        };
        error.with_backend(SCHEME)
    }

    fn says(&self, what: &str) -> bool {
        matches!(self, Self::Status(status) if status.message().starts_with(what))
    }
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        Self::Status(Box::new(status))
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        let is_refusal = failure.is_refusal();
        let error = failure.error();
        if is_refusal { error } else { error.with_outcome_unknown() }
    }
}

fn explain(status: &Status, is_refusal: bool) -> Error {
    let said = status.message();
    let temporary = [LEASE_NOT_FOUND, NO_LEADER, OLD_AUTH_REVISION, INVALID_TOKEN]
        .iter()
        .any(|why| said.starts_with(why));
    match status.code() {
        _ if temporary => {
            Error::new(ErrorKind::Unavailable, format!("the server temporarily refuses requests: {said}"))
        }
        Code::PermissionDenied | Code::Unauthenticated => denied(said),
        _ if said.contains("authentication failed") || said.starts_with("etcdserver: user name") => {
            denied(said)
        }
        _ if said.starts_with(NO_SPACE) => {
            let why = format!("the database of the cluster is full ({said}): {}", doctor::FREE_SPACE);
            Error::new(ErrorKind::Unavailable, why)
        }
        Code::ResourceExhausted if is_refusal => {
            Error::new(ErrorKind::Unavailable, format!("the server temporarily refuses requests: {said}"))
        }
        _ if said.starts_with(NO_LOGIN) => Error::new(
            ErrorKind::Config,
            "the cluster has no users: leave the user out of the URL, or turn logins on (etcdctl auth enable)",
        ),
        Code::InvalidArgument | Code::FailedPrecondition | Code::OutOfRange | Code::Unimplemented => {
            Error::new(ErrorKind::Protocol, format!("the server reported an error: {said}"))
        }
        _ => Error::new(ErrorKind::Unavailable, format!("no answer from the server: {said}")),
    }
}

fn denied(said: &str) -> Error {
    Error::new(ErrorKind::Denied, format!("the server denied access: {said}"))
}

/// The error for an answer that the request cannot have.
pub(super) fn unexpected(what: &str) -> Error {
    Error::new(ErrorKind::Protocol, format!("unexpected answer from the server: {what}"))
        .with_backend(SCHEME)
        .with_outcome_unknown()
}

/// The error for a claim whose place went with its lease, or was deleted.
pub(super) fn place_is_gone() -> Error {
    let why = "the queue entry is gone: its lease expired, or the key was deleted";
    Error::new(ErrorKind::Unavailable, why).with_backend(SCHEME)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A member that is too slow, or cut off, is left for another one; what the whole cluster says is not.
    #[test]
    fn what_is_of_one_member_is_told_from_what_is_of_the_cluster() {
        let of_this_member = [
            (Code::Unavailable, NO_LEADER),
            (Code::Unavailable, "etcdserver: request timed out"),
            (Code::Unauthenticated, INVALID_TOKEN),
            (Code::InvalidArgument, OLD_AUTH_REVISION),
            (Code::ResourceExhausted, TOO_MANY_REQUESTS),
        ];
        let of_the_cluster = [
            (Code::ResourceExhausted, NO_SPACE),
            (Code::NotFound, LEASE_NOT_FOUND),
            (Code::PermissionDenied, "etcdserver: permission denied"),
            (Code::InvalidArgument, "etcdserver: request is too large"),
        ];
        let cases = of_this_member.map(|said| (said, true)).into_iter();
        for ((code, said), is_of_this_member) in cases.chain(of_the_cluster.map(|said| (said, false))) {
            let failure = Failure::from(Status::new(code, said));
            assert_eq!(failure.is_of_this_member(), is_of_this_member, "{said}");
        }
        assert!(Failure::Silence(Duration::ZERO).is_of_this_member());
    }
}
