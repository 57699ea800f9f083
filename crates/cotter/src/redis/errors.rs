//! What an error of the server or of the way to it means.

use super::SCHEME;
use super::socket::is_never_sent;
use crate::{Error, ErrorKind};
use redis::{RedisError, ServerErrorKind};

/// Whether the request had left when it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sent {
    No,
    Yes,
}

/// Refused for now: the same request may be carried out later. Nothing of it was.
const LATER: &[&str] = &[
    "BUSY",
    "LOADING",
    "READONLY",
    "MASTERDOWN",
    "NOREPLICAS",
    "MISCONF",
    "OOM",
    "CLUSTERDOWN",
    "TRYAGAIN",
    "UNKILLABLE",
];

/// Refused until somebody changes the set-up.
const DENIED: &[&str] = &["WRONGPASS", "NOAUTH", "NOPERM", "DENIED"];

/// What stands at the key is not ours.
const FOREIGN: &[&str] = &["WRONGTYPE", "FOREIGNKEY"];

/// The error to answer with.
pub(super) fn explain(e: RedisError, sent: Sent) -> Error {
    let sent = if is_never_sent(&e) { Sent::No } else { sent };
    let error = match e.code() {
        Some(code) => by_code(code, &e),
        None => by_kind(&e, sent),
    };
    // What the server says stands in the message, in the driver's words only what it does not.
    let error = error.with_backend(SCHEME);
    if e.code().is_some() { error } else { error.with_source(e) }
}

fn by_code(code: &str, e: &RedisError) -> Error {
    let said = e.detail().unwrap_or_default();
    // Servers before 7 wrap what a command inside a script answers into an ERR.
    let is = |list: &'static [&'static str]| {
        list.iter().copied().find(|c| code == *c || (code == "ERR" && said.contains(c)))
    };
    if let Some(code) = is(FOREIGN) {
        let why = format!("what stands at the key was not written by cotter in this mode ({code} {said})");
        return Error::new(ErrorKind::ForeignKey, why);
    }
    if let Some(code) = is(DENIED) {
        return Error::new(ErrorKind::Denied, format!("the server refuses: {code} {said}"));
    }
    if let Some(code) = is(LATER) {
        return Error::new(ErrorKind::Unavailable, format!("the server refuses for now: {code} {said}"));
    }
    if said.contains("invalid password") || said.contains("AUTH") {
        return Error::new(ErrorKind::Denied, format!("the server refuses: {code} {said}"));
    }
    Error::new(ErrorKind::Protocol, format!("the server answers: {code} {said}"))
}

fn by_kind(e: &RedisError, sent: Sent) -> Error {
    match e.kind() {
        redis::ErrorKind::AuthenticationFailed => {
            Error::new(ErrorKind::Denied, "the server refuses the user or the password")
        }
        redis::ErrorKind::Parse | redis::ErrorKind::UnexpectedReturnType => {
            let error = Error::new(ErrorKind::Protocol, format!("the answer is not understood: {e}"));
            if sent == Sent::Yes { error.with_outcome_unknown() } else { error }
        }
        _ if is_mistrust(e) => {
            let why = format!("{e}; ca= names the file of the authorities to trust");
            Error::new(ErrorKind::Denied, why)
        }
        redis::ErrorKind::InvalidClientConfig => Error::new(ErrorKind::Config, e.to_string()),
        _ if sent == Sent::Yes => {
            Error::new(ErrorKind::Unavailable, format!("no answer: {e}")).with_outcome_unknown()
        }
        _ => Error::new(ErrorKind::Unavailable, format!("the server cannot be reached: {e}")),
    }
}

/// Whether the server could not prove who it is. The driver has no kind for that.
fn is_mistrust(e: &RedisError) -> bool {
    e.to_string().contains("invalid peer certificate")
}

/// Whether the server has forgotten the script.
pub(super) fn is_no_script(e: &RedisError) -> bool {
    e.kind() == redis::ErrorKind::Server(ServerErrorKind::NoScript)
}

/// Whether the one that answers is not the master any more: a new connection may find the one that is.
pub(super) fn is_demoted(e: &RedisError) -> bool {
    matches!(e.code(), Some("READONLY" | "MASTERDOWN"))
}

/// An answer that no script of ours gives.
pub(super) fn garbled(what: &str) -> Error {
    Error::new(ErrorKind::Protocol, format!("the server answers {what}, which no script of cotter's does"))
        .with_backend(SCHEME)
        .with_outcome_unknown()
}
