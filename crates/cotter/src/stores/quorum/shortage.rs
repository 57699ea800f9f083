//! The errors for too few votes.

use crate::error::config;
use crate::{Error, ErrorKind, Result};
use std::time::Duration;

/// The scheme that errors name.
const SCHEME: &str = "quorum";

/// The error for fewer connections than a majority.
pub(super) fn unreachable(answers: &[Option<Result<()>>], majority: usize) -> Error {
    let failures = || answers.iter().flatten().filter_map(|a| a.as_ref().err());
    // A wrong password or the same server twice is not mended by waiting.
    if let Some(permanent) = failures().find(|e| !e.is_retryable()) {
        return permanent.clone();
    }
    let up = answers.iter().flatten().filter(|a| a.is_ok()).count();
    let why = format!("only {up} of {} members can be reached, and {majority} are needed", answers.len());
    too_few(why, failures().next())
}

/// The error for fewer answers than a majority. `abstains`: a member that was restarted votes again after this time.
pub(super) fn no_quorum(
    (answered, of, majority): (usize, usize, usize),
    abstains: Option<Duration>,
    failed: Option<&Error>,
) -> Error {
    if let Some(permanent) = failed.filter(|e| !e.is_retryable()) {
        return permanent.clone();
    }
    match abstains {
        Some(left) => too_few(
            format!(
                "{answered} of {of} members vote, and {majority} are needed; the others are new or were restarted, and vote \
                 in {left:.0?} (`cotter doctor --init` makes new ones vote at once)"
            ),
            failed,
        ),
        None => {
            too_few(format!("{answered} of {of} members have answered, and {majority} are needed"), failed)
        }
    }
}

fn too_few(why: String, cause: Option<&Error>) -> Error {
    let error = match cause {
        Some(cause) => Error::new(ErrorKind::NoQuorum, format!("{why}: {cause}")),
        None => Error::new(ErrorKind::NoQuorum, why),
    };
    error.with_backend(SCHEME)
}

/// The error for one server under two addresses.
pub(super) fn the_same(instance: &str, other: usize) -> Error {
    config(format!(
        "{instance} is the same server as member {other} of the quorum; every member must be a server of its own"
    ))
}
