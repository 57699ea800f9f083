//! What other programs write into the URL of the same server: their names for our options, options of theirs that change
//! nothing for a lock, and those that cannot be followed.

use super::super::options::pairs;
use crate::error::config;
use crate::{Error, Result};
use std::borrow::Cow;

/// What an option of another program means here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// This option of ours, with the same value.
    Called(&'static str),
    /// This pair of ours.
    #[cfg(any(feature = "postgres", feature = "mysql"))]
    Pair(&'static str),
    /// This option of ours, whose value is a number of seconds there.
    #[cfg(any(feature = "postgres", feature = "mysql"))]
    Seconds(&'static str),
    /// Nothing that a lock depends on.
    Nothing,
    /// Refused: why, and the pair to write instead; an empty one leaves it out.
    Instead(&'static str, &'static str),
}

/// What a key and its value mean to the programs that speak to this kind of server; `None` if the option is ours, or unknown.
pub(crate) type Meanings = fn(&str, &str) -> Option<Meaning>;

/// The query of a URL with our options alone.
///
/// # Errors
/// All that cannot be followed at once, and the URL to write instead, without its password.
pub(crate) fn in_our_words<'a>(url: &'a str, query: &'a str, meanings: Meanings) -> Result<Cow<'a, str>> {
    let (mut ours, mut corrected, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    let mut is_changed = false;
    for (pair, raw) in pairs(query).zip(query.split('&').filter(|pair| !pair.is_empty())) {
        let (key, value) = pair?;
        let raw_value = raw.split_once('=').map_or("", |(_, value)| value);
        let shown = if key.ends_with("password") { format!("{key}=***") } else { raw.to_owned() };
        let Some(meaning) = meanings(key, &value) else {
            ours.push(raw.to_owned());
            corrected.push(shown);
            continue;
        };
        is_changed = true;
        match meaning {
            Meaning::Called(name) => ours.push(format!("{name}={raw_value}")),
            #[cfg(any(feature = "postgres", feature = "mysql"))]
            Meaning::Seconds(name) => ours.push(format!("{name}={raw_value}s")),
            #[cfg(any(feature = "postgres", feature = "mysql"))]
            Meaning::Pair(pair) => ours.push(pair.to_owned()),
            Meaning::Nothing => {}
            Meaning::Instead(why, instead) => {
                refused.push(format!("{key}= {why}"));
                corrected.extend(Some(instead.to_owned()).filter(|pair| !pair.is_empty()));
                continue;
            }
        }
        corrected.push(shown);
    }
    if !refused.is_empty() {
        return Err(refusal(url, &corrected, &refused));
    }
    Ok(if is_changed { ours.join("&").into() } else { query.into() })
}

fn refusal(url: &str, corrected: &[String], refused: &[String]) -> Error {
    let address = masked(url.split_once('?').map_or(url, |(address, _)| address));
    let query = if corrected.is_empty() { String::new() } else { format!("?{}", corrected.join("&")) };
    config(format!("{}; write {address}{query}", refused.join("; ")))
}

/// The part of a URL before its query, without its password. What stands there without a colon may be one.
fn masked(address: &str) -> String {
    let parts = address.split_once("//").and_then(|(scheme, rest)| Some((scheme, rest.rsplit_once('@')?)));
    let Some((scheme, (credentials, hosts))) = parts else { return address.to_owned() };
    let user = credentials.split_once(':').map_or(String::new(), |(user, _)| format!("{user}:"));
    format!("{scheme}//{user}***@{hosts}")
}

#[cfg(any(feature = "postgres", feature = "mysql"))]
/// Whether a value is a number of seconds, without a unit.
pub(crate) fn is_number(value: &str) -> bool {
    !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit())
}

/// Options of drivers and pools that change nothing for a lock, whatever the database.
pub(crate) fn is_of_a_pool(key: &str) -> bool {
    matches!(
        key,
        "pool"
            | "pool_size"
            | "pool_timeout"
            | "max_pool_size"
            | "min_pool_size"
            | "connection_limit"
            | "socket_timeout"
            | "statement_cache_size"
            | "statement-cache-capacity"
            | "prepared_statements"
            | "encoding"
            | "charset"
            | "serverVersion"
            | "sslaccept"
    )
}

#[cfg(all(test, any(feature = "postgres", feature = "mysql")))]
mod tests {
    use super::{Meaning, in_our_words};

    fn meanings(key: &str, value: &str) -> Option<Meaning> {
        Some(match (key, value) {
            ("root", _) => Meaning::Called("ca"),
            ("wait", _) => Meaning::Seconds("timeout"),
            ("tls", "on") => Meaning::Pair("sslmode=verify-full"),
            ("tls", _) => Meaning::Instead("does not verify the server", "tls=on"),
            ("password", _) => Meaning::Instead("has no place here", ""),
            ("pool", _) => Meaning::Nothing,
            _ => return None,
        })
    }

    fn ours(query: &str) -> Result<String, String> {
        let url = format!("db://u:secret@h:1,i/path?{query}");
        in_our_words(&url, query, meanings).map(Into::into).map_err(|e| e.to_string())
    }

    #[test]
    fn other_words_are_translated() {
        assert_eq!(ours("a=1&b=%20").as_deref(), Ok("a=1&b=%20"), "ours alone stay as they are");
        let url = "root=%2Fx&a=1&wait=10&tls=on&pool=5";
        assert_eq!(ours(url).as_deref(), Ok("ca=%2Fx&a=1&timeout=10s&sslmode=verify-full"));
        assert_eq!(ours("pool=5").as_deref(), Ok(""));
    }

    #[test]
    fn what_cannot_be_followed_is_corrected_all_at_once() {
        let error = ours("root=%2Fx&tls=off&a=1&password=secret&pool=5").unwrap_err();
        for part in [
            "tls= does not verify the server; password= has no place here",
            "write db://u:***@h:1,i/path?root=%2Fx&tls=on&a=1&pool=5",
        ] {
            assert!(error.contains(part), "{error}");
        }
        assert!(!error.contains("secret"), "{error}");
        assert!(ours("password=x").unwrap_err().ends_with("write db://u:***@h:1,i/path"));
        let error = ours("tls=off&sentinel_password=secret").unwrap_err();
        assert!(error.ends_with("path?tls=on&sentinel_password=***"), "{error}");
        let error = in_our_words("db://secret@h?tls=off", "tls=off", meanings).unwrap_err().to_string();
        assert!(error.ends_with("write db://***@h?tls=on"), "{error}");
    }
}
