//! The error for missing tables and functions.

use crate::Error;
use crate::error::config;

/// The error for tables or functions that are not there.
pub(crate) fn missing(what: &str) -> Error {
    config(format!(
        "{what}; run `cotter migrate` as a user who may create tables, or execute the output of `cotter migrate --print`"
    ))
}
