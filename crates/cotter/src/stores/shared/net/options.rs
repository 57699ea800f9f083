//! The query of a URL.

use super::decode;
use crate::Result;
use crate::error::config;
use std::time::Duration;

/// The pairs of a query, decoded.
pub(crate) fn pairs(query: &str) -> impl Iterator<Item = Result<(&str, String)>> {
    query.split('&').filter(|p| !p.is_empty()).map(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        if key.contains(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-' | '.')) {
            // It may be the end of a password with a question mark in it.
            return Err(config(
                "what follows the ? of the URL is not KEY=VALUE; a question mark before the options, \
                 as in a password, must be written as %3F",
            ));
        }
        Ok((key, decode(&format!("option {key:?}"), value)?))
    })
}

/// Checks a value that becomes part of a key or a message. Braces would change the hash tag, a blank would end a field.
#[cfg(feature = "server")]
pub(crate) fn word(key: &str, value: String) -> Result<String> {
    let bad = |c: char| c.is_control() || c.is_whitespace() || matches!(c, '{' | '}' | '%');
    if value.is_empty() || value.len() > 128 || value.contains(bad) {
        return Err(config(format!(
            "{key}= must be 1 to 128 bytes without blanks, braces, percent signs or control characters"
        )));
    }
    Ok(value)
}

/// Parses a duration such as `250ms`, `2s`, `10m`, `1h` or `3d`. Zero is refused.
pub(crate) fn duration(key: &str, value: &str) -> Result<Duration> {
    let digits = value.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = value.split_at(digits);
    let millis = match unit {
        "ms" => Some(1),
        "s" => Some(1_000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        "d" => Some(86_400_000_u64),
        _ => None,
    };
    let millis = millis.zip(number.parse::<u64>().ok()).and_then(|(unit, number)| number.checked_mul(unit));
    millis.filter(|ms| (1..=MAX_MILLIS).contains(ms)).map(Duration::from_millis).ok_or_else(|| {
        config(format!("{key}= must be a duration such as 250ms, 2s, 10m, 1h or 3d, and at most a year"))
    })
}

/// Limits a duration to the range that a URL may contain.
#[cfg(feature = "server")]
pub(crate) fn clamp(duration: Duration) -> Duration {
    duration.clamp(Duration::from_millis(1), Duration::from_millis(MAX_MILLIS))
}

/// A year in milliseconds.
const MAX_MILLIS: u64 = 365 * 86_400_000;

/// The contents of the file that an option names.
#[cfg(feature = "server")]
pub(crate) fn read(key: &str, path: &str) -> Result<Vec<u8>> {
    std::fs::read(path)
        .map_err(|e| config(format!("cannot read {path:?}, the file of {key}=: {e}")).with_source(e))
}

/// The password in the file of `password_file=`, for the first time: without one, nothing would say why the server refuses.
#[cfg(feature = "server")]
pub(crate) fn read_first_password(path: &str) -> Result<String> {
    let password = read_password(path)?;
    if password.is_empty() {
        return Err(config(format!("the file of password_file=, {path:?}, is empty")));
    }
    Ok(password)
}

/// The password in the file of `password_file=`.
#[cfg(feature = "server")]
pub(super) fn read_password(path: &str) -> Result<String> {
    let bytes = read("password_file", path)?;
    if bytes.starts_with(b"\xef\xbb\xbf") {
        let why = "begins with a byte-order mark, which would be part of the password: save it as UTF-8 without one";
        return Err(config(format!("the file of password_file=, {path:?}, {why}")));
    }
    let text = String::from_utf8(bytes).map_err(|_| config("the file of password_file= is not UTF-8"))?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}

/// Parses the value of an option that is on or off.
#[cfg(any(feature = "etcd", feature = "zookeeper"))]
pub(crate) fn yes_or_no(key: &str, value: &str) -> Result<bool> {
    match value {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err(config(format!("{key}= must be yes or no"))),
    }
}

/// Parses a number of connections.
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(crate) fn connections(key: &str, value: &str) -> Result<usize> {
    let count = value.parse().ok().filter(|count| (1..=64).contains(count));
    count.ok_or_else(|| config(format!("{key}= must be a number from 1 to 64")))
}
