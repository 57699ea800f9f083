//! The parts of a URL before its query.

#[cfg(any(feature = "redis", feature = "postgres", feature = "mysql"))]
mod aliases;

use super::decode;
use crate::Result;
use crate::error::config;
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(crate) use aliases::is_number;
#[cfg(any(feature = "redis", feature = "postgres", feature = "mysql"))]
pub(crate) use aliases::{Meaning, in_our_words, is_of_a_pool};
#[cfg(any(feature = "postgres", feature = "mysql"))]
use std::net::IpAddr;

/// A hint for errors about parts of a URL that may be parts of a password.
pub(crate) const ENCODE: &str =
    "; in a user name or a password, write %2F for a slash and %3F for a question mark";

/// Credentials, hosts and path.
#[derive(Default)]
pub(crate) struct Url<'a> {
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    /// At least one.
    pub(crate) hosts: Vec<(String, u16)>,
    /// What follows the first slash after the hosts, not decoded.
    pub(crate) path: &'a str,
}

impl<'a> Url<'a> {
    /// Parses `scheme:rest`. `rest` has no query any more. Hosts are separated by commas, each with a port of its own or the
    /// default.
    pub(crate) fn parse(scheme: &str, rest: &'a str, default_port: u16) -> Result<Self> {
        let Some(rest) = rest.strip_prefix("//") else {
            return Err(config(format!("{scheme}: must be followed by //")));
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (credentials, hosts) = match authority.rsplit_once('@') {
            Some((credentials, hosts)) => (Some(credentials), hosts),
            None => (None, authority),
        };
        // Without an `@`, what stands there may be the beginning of a user and a password with a slash in it.
        let hint = if credentials.is_none() { ENCODE } else { "" };
        let host = |host| host_and_port(host, default_port, hint);
        let hosts: Result<_> = hosts.split(',').map(host).collect();
        let mut url = Self { hosts: hosts?, path, ..Self::default() };
        if let Some(credentials) = credentials {
            let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
            url.user = non_empty(decode("user", user)?);
            url.password = non_empty(decode("password", password)?);
        }
        Ok(url)
    }
}

/// The scheme of a URL, what follows it, and its query.
pub(crate) fn split(url: &str) -> Result<(&str, &str, &str)> {
    let (scheme, rest) = url.split_once(':').ok_or_else(|| config("the store URL has no scheme"))?;
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    if scheme != "unix" {
        check_end_of_password(rest, query)?;
    }
    Ok((scheme, rest, query))
}

/// Refuses a URL that may have a part of a password in its path or its options. A password ends at an `@`: one that comes after
/// the hosts may be that of a password with a slash or a question mark in it, whatever the parts before it look like.
pub(crate) fn check_end_of_password(rest: &str, query: &str) -> Result<()> {
    let path = rest.strip_prefix("//").unwrap_or(rest).split_once('/').map_or("", |(_, path)| path);
    let is_text = |pair: &str| pair.split_once('=').is_some_and(|(key, _)| TEXTS.contains(&key));
    if path.contains('@') || query.split('&').any(|pair| pair.contains('@') && !is_text(pair)) {
        return Err(config(format!(
            "there is an @ after the hosts of the URL{ENCODE}, and %40 for any other @"
        )));
    }
    Ok(())
}

/// The options whose values may contain any character.
const TEXTS: [&str; 10] = [
    "ca",
    "cert",
    "key",
    "password_file",
    "sentinel_password_file",
    "host",
    "socket",
    "client_name",
    "request_id",
    "prefix",
];

/// Hosts in readable form, without credentials.
#[cfg(feature = "server")]
pub(crate) fn readable(hosts: &[(String, u16)]) -> String {
    let host = |(host, port): &(String, u16)| match host.contains(':') {
        true => format!("[{host}]:{port}"),
        false => format!("{host}:{port}"),
    };
    hosts.iter().map(host).collect::<Vec<_>>().join(",")
}

/// Whether nobody can listen on the way to this host, or to the socket in this folder.
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(crate) fn is_local(host: &str) -> bool {
    host.starts_with('/') || host == "localhost" || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
}

fn host_and_port(text: &str, default: u16, hint: &str) -> Result<(String, u16)> {
    let (host, port) = match text.strip_prefix('[').and_then(|t| t.split_once(']')) {
        Some((host, rest)) => (host, rest.strip_prefix(':')),
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    if host.is_empty() {
        return Err(config(format!("the URL names no host{}", port.map_or("", |_| hint))));
    }
    let port = port.map_or(Ok(default), |p| {
        let hint = if p.contains(|c: char| !c.is_ascii_digit()) { hint } else { "" };
        p.parse().map_err(|_| config(format!("the port in the URL is not a number up to 65535{hint}")))
    })?;
    Ok((decode("host", host)?, port))
}

fn non_empty(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests;
