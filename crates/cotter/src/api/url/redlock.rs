//! `redlock://`: a quorum of Redis servers.

use crate::error::config;
use crate::stores::shared::net::{check_end_of_password, duration, pairs};
use crate::{Result, stores::quorum, stores::redis};
use std::time::Duration;

/// The longest lease, unless set otherwise: also the time for which a member that was restarted does not vote.
const LONGEST_LEASE: Duration = Duration::from_secs(60);
/// Apart from the locks of `redis:` on the same servers, and within the permissions of the same user.
const PREFIX: &str = "cotter:quorum";
/// The options that each member gets.
const OF_MEMBERS: [&str; 8] =
    ["mode", "prefix", "connect_timeout", "ca", "cert", "key", "client_name", "password_file"];

/// Parses `redlock://[user[:password]@]host[:port],host[:port],…[/db]`, or `redlocks:` for TLS. Each host gets the
/// credentials, the database and the options of the URL.
pub(super) fn parse(scheme: &str, rest: &str) -> Result<quorum::Store> {
    let Some(rest) = rest.strip_prefix("//") else {
        return Err(config(format!("{scheme}: must be followed by //")));
    };
    let (address, query) = rest.split_once('?').unwrap_or((rest, ""));
    check_end_of_password(address, query)?;
    let (authority, path) = address.split_once('/').unwrap_or((address, ""));
    let (credentials, hosts) = match authority.rsplit_once('@') {
        Some((credentials, hosts)) => (format!("{credentials}@"), hosts),
        None => (String::new(), authority),
    };
    let Options { timeout, longest_lease, query } = Options::parse(query, scheme)?;
    let redis = if scheme == "redlocks" { "rediss" } else { "redis" };
    let member = |host| {
        let store = redis::Store::from_url(format!("{redis}://{credentials}{host}/{path}?{query}"))?;
        store.check_login()?;
        Ok(store.with_votes(longest_lease))
    };
    let members: Vec<_> = hosts.split(',').map(member).collect::<Result<_>>()?;
    let store = quorum::Store::new(members)?.with_scheme("redlock");
    Ok(match timeout {
        Some(timeout) => store.with_timeout(timeout),
        None => store,
    })
}

/// The options of the quorum, and the query that remains for each member.
struct Options {
    timeout: Option<Duration>,
    longest_lease: Duration,
    query: String,
}

impl Options {
    fn parse(query: &str, scheme: &str) -> Result<Self> {
        let mut options = Self { timeout: None, longest_lease: LONGEST_LEASE, query: String::new() };
        let mut prefix = false;
        for (pair, raw) in pairs(query).zip(query.split('&').filter(|p| !p.is_empty())) {
            let (key, value) = pair?;
            match key {
                "timeout" => options.timeout = Some(duration(key, &value)?),
                "max_ttl" => options.longest_lease = duration(key, &value)?,
                "replicas" | "request_id" | "retain" | "retry" => {
                    return Err(config(format!("{key}= is not an option of redlock:")));
                }
                "mode" if value != "native" && value != "plain" => {
                    return Err(config(format!(
                        "mode={value} is not supported by redlock:; leave it out, or use mode=plain beside other \
                         Redlock libraries"
                    )));
                }
                "ca" | "cert" | "key" if scheme == "redlock" => {
                    return Err(config("ca=, cert= and key= need a URL that begins with redlocks:"));
                }
                _ if !OF_MEMBERS.contains(&key) => {
                    let known = OF_MEMBERS.join(", ");
                    return Err(config(format!(
                        "unknown option {key:?}; the options are timeout, max_ttl, {known}"
                    )));
                }
                _ => {
                    prefix |= key == "prefix";
                    options.query.push_str(raw);
                    options.query.push('&');
                }
            }
        }
        if !prefix {
            options.query.push_str("prefix=");
            options.query.push_str(PREFIX);
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    fn error(rest: &str) -> String {
        parse("redlock", rest).expect_err("it is refused").to_string()
    }

    #[test]
    fn a_url_names_at_least_three_servers() {
        assert!(parse("redlock", "//:secret@a,b:7001,[::1]:7002/2?timeout=20ms&max_ttl=5m").is_ok());
        assert!(error("//a").contains("one server is no quorum"));
        assert!(error("//a,b").contains("survive the loss of none"));
        assert!(error("//a,,c").contains("names no host"));
        assert!(error("a,b,c").contains("must be followed by //"));
        assert!(error("//me@a,b,c").contains(":PASSWORD@HOST"));
    }

    #[test]
    fn options_of_one_server_alone_are_refused() {
        for option in ["replicas=1", "retain=1s", "mode=getset", "max_ttl=soon", "colour=red"] {
            let key = option.split('=').next().unwrap();
            assert!(error(&format!("//u:secret@a,b,c?{option}")).contains(key), "{option}");
        }
    }

    /// Each of them is asked for by the URL of a quorum, so that an error about one server would mislead.
    #[test]
    fn errors_name_the_options_and_the_scheme_of_a_quorum() {
        let unknown = error("//a,b,c?tiemout=1s");
        assert!(unknown.contains("timeout, max_ttl, mode") && !unknown.contains("replicas"), "{unknown}");
        assert!(error("//a,b,c?ca=/x").contains("redlocks:"));
    }

    #[test]
    fn no_error_and_no_debug_shows_the_password() {
        let store = parse("redlock", "//u:secret@a,b,c").unwrap();
        assert!(!format!("{store:?}").contains("secret"));
        assert!(!error("//u:secret@a,b,c/x").contains("secret"));
    }
}
