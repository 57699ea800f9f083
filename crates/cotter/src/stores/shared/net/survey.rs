//! Which servers the addresses of a URL lead to: a diagnosis for `doctor`.

use crate::backend::Finding;
use crate::{Error, ErrorKind, Result};
use std::collections::BTreeSet;

/// An address of a host, and what a connection to it has found.
#[derive(Debug, Clone)]
pub(crate) struct Surveyed {
    /// The host, as the URL has it.
    pub(crate) host: String,
    pub(crate) address: String,
    /// What tells the server from any other, if it says so; an error if it accepts no writes.
    pub(crate) who: Result<Option<String>>,
}

const SUBJECT: &str = "addresses";
const READ_ONLY: &str = "this server is a replica, or read-only, and does not accept writes";

/// The error for a server that accepts no writes, with what to do about it.
pub(crate) fn read_only(scheme: &'static str, remedy: &str) -> Error {
    Error::new(ErrorKind::Unavailable, format!("{READ_ONLY}{remedy}")).with_backend(scheme)
}

/// An address of a host, as text and as the driver takes it; an error if the host has none.
pub(crate) type Place<A> = (String, Result<(String, A)>);

/// Asks each of these which server it leads to, if there are several.
pub(crate) async fn ask_all<A, F: Future<Output = Result<Option<String>>>>(
    places: Vec<Place<A>>,
    who_is_at: impl Fn(A) -> F,
) -> Vec<Surveyed> {
    let mut asked = Vec::new();
    if places.len() < 2 {
        return asked;
    }
    for (host, place) in places {
        let (address, who) = match place {
            Ok((address, place)) => (address, who_is_at(place).await),
            Err(e) => (host.clone(), Err(e)),
        };
        asked.push(Surveyed { host, address, who });
    }
    asked
}

/// What is to be said of the addresses, each of which was asked. A single one is the one that all else is about.
pub(crate) fn of_addresses(asked: &[Surveyed]) -> Vec<Finding> {
    if asked.len() < 2 {
        return Vec::new();
    }
    let writers: Vec<_> = asked.iter().filter(|asked| asked.who.is_ok()).collect();
    let servers: BTreeSet<&String> = writers.iter().filter_map(|a| a.who.as_ref().ok()?.as_ref()).collect();
    let mut findings = Vec::new();
    if servers.len() > 1 {
        let addresses: Vec<_> = writers.iter().map(|asked| &*asked.address).collect();
        let message = format!(
            "{} different servers accept writes ({}), and a lock on one of them is not seen on the other: leave one of them in \
             the URL, or make the others its replicas",
            servers.len(),
            addresses.join(", ")
        );
        findings.push(Finding::voids(SUBJECT, message));
    }
    findings.extend(asked.iter().map(|one| of_address(one, asked)));
    findings
}

fn of_address(asked: &Surveyed, all: &[Surveyed]) -> Finding {
    let Surveyed { host, address, who } = asked;
    let error = match who {
        Ok(Some(server)) => return Finding::ok(SUBJECT, format!("{address} accepts writes ({server})")),
        Ok(None) => {
            let message = format!("{address} accepts writes, and does not say which server it is");
            return Finding::ok(SUBJECT, message);
        }
        Err(e) if is_read_only(e) => {
            return Finding::ok(SUBJECT, format!("{address} accepts no writes: a replica, for example"));
        }
        Err(e) => e,
    };
    // One address of `localhost`, for example, usually leads nowhere.
    let host_is_there = all.iter().any(|other| other.host == *host && other.who.is_ok());
    let message = format!("{address} cannot be used: {error}");
    if host_is_there { Finding::ok(SUBJECT, message) } else { Finding::limits(SUBJECT, message) }
}

fn is_read_only(e: &Error) -> bool {
    e.to_string().contains(READ_ONLY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Level, Severity};

    /// The host is the first letter of the address.
    fn said(asked: &[(&str, Result<Option<&str>>)]) -> Vec<(Severity, Option<Level>)> {
        let asked = asked.iter().map(|(address, who)| Surveyed {
            host: address[..1].to_owned(),
            address: (*address).to_owned(),
            who: who.as_ref().map(|who| who.map(str::to_owned)).map_err(Clone::clone),
        });
        of_addresses(&asked.collect::<Vec<_>>()).iter().map(|f| (f.severity, f.level)).collect()
    }

    #[test]
    fn two_servers_that_accept_writes_void_the_exclusion_and_two_addresses_of_one_do_not() {
        let (ok, away) = ((Severity::Ok, None), (Severity::Warning, None));
        let replica = || Err(read_only("redis", ""));
        let gone = || Err(Error::new(ErrorKind::Unavailable, "no answer"));
        assert_eq!(said(&[("a", Ok(Some("1")))]), []);
        assert_eq!(said(&[("a", Ok(Some("1"))), ("b", Ok(Some("1")))]), [ok, ok]);
        assert_eq!(said(&[("a", replica()), ("b", Ok(Some("1"))), ("c", gone())]), [ok, ok, away]);
        assert_eq!(said(&[("a1", gone()), ("a2", Ok(Some("1")))]), [ok, ok]);
        assert_eq!(said(&[("a", Ok(None)), ("b", Ok(Some("1")))]), [ok, ok]);
        let void = (Severity::Problem, Some(Level::BestEffort));
        assert_eq!(said(&[("a", Ok(Some("1"))), ("b", Ok(Some("2")))]), [void, ok, ok]);
    }
}
