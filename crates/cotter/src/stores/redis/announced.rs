//! Addresses that servers announce and that are not reached from here: behind NAT, in containers, through a tunnel. The option
//! `announce=` says where to connect instead.

use crate::error::config;
use crate::stores::shared::net::HostPort;
use crate::{Error, ErrorKind, Result};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};

/// What is announced, and what is connected to instead: a host with a port, or any port of a host.
#[derive(Debug, Clone, Default)]
pub(crate) struct Announced(BTreeMap<Place, Place>);

type Place = (String, Option<u16>);

impl Announced {
    /// Adds the pairs of one option: `FROM=TO,FROM=TO`.
    pub(super) fn add(&mut self, pairs: &str) -> Result<()> {
        for pair in pairs.split(',') {
            let parts = pair.split_once('=').and_then(|(from, to)| Some((place(from)?, place(to)?)));
            let Some((from, to)) = parts else { return Err(no_pair(pair)) };
            if from.1.is_none() && to.1.is_some() {
                return Err(config(format!(
                    "announce={pair} has a port only on the right, where all nodes of {} would be looked for: write \
                     announce={}:PORT={}, with the port that is announced",
                    from.0,
                    bracketed(&from.0),
                    written(&to)
                )));
            }
            let from = (canonical(&from.0), from.1);
            if self.0.get(&from).is_some_and(|known| *known != to) {
                return Err(config(format!("announce= has two addresses for {}: leave one", written(&from))));
            }
            self.0.insert(from, to);
        }
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Where a server is connected to that announces this address.
    pub(super) fn reach(&self, host: &str, port: u16) -> HostPort {
        let host_alone = (canonical(host), None);
        let in_full = (host_alone.0.clone(), Some(port));
        match self.0.get(&in_full).or_else(|| self.0.get(&host_alone)) {
            Some((to, to_port)) => HostPort::new(to, to_port.unwrap_or(port)),
            None => HostPort::new(host, port),
        }
    }

    /// Adds to the error of a server that was never connected to what to write if it is reached elsewhere, or by another name.
    pub(super) fn advise(&self, e: Error, at: &HostPort) -> Error {
        let is_misnamed = || e.to_string().contains("not valid for name");
        let (if_so, to) = match e.kind() {
            ErrorKind::Unavailable => ("this host reaches it at another one", "HOST:PORT".to_owned()),
            ErrorKind::Denied if is_misnamed() => {
                ("its certificate has a name that leads to it", format!("NAME:{}", at.port))
            }
            _ => return e,
        };
        let (from, why) = match self.from(at) {
            Some(from) => {
                let why = format!("announce= in the URL has {at} for {from}");
                (from, why)
            }
            None => (at.to_string(), "the servers announce this address".to_owned()),
        };
        e.with_remark(&format!("{why}: if {if_so}, write announce={from}={to} in the URL"))
    }

    /// What is announced where this is connected to.
    fn from(&self, at: &HostPort) -> Option<String> {
        let leads_here = |to: &Place| to.0 == at.name && to.1.is_none_or(|port| port == at.port);
        let ((host, port), _) = self.0.iter().find(|(_, to)| leads_here(to))?;
        Some(written(&(host.clone(), port.or(Some(at.port)))))
    }
}

fn no_pair(pair: &str) -> Error {
    // It may be anything, even the end of a password.
    let what = if pair.contains('@') { String::new() } else { format!("{pair:?} in ") };
    config(format!(
        "{what}announce= is not FROM=TO: write what is announced and where to connect instead, as in \
         announce=10.0.0.2:6379=localhost:7002 or, for any port, announce=10.0.0.2=localhost; IPv6 addresses are in brackets, and \
         several pairs are separated by commas"
    ))
}

fn place(text: &str) -> Option<Place> {
    let (host, port) = match text.strip_prefix('[').and_then(|text| text.split_once(']')) {
        Some((host, "")) => (host, None),
        Some((host, port)) => (host, Some(port.strip_prefix(':')?)),
        None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
    };
    let is_host = match text.starts_with('[') {
        true => host.parse::<Ipv6Addr>().is_ok(),
        false => !host.is_empty() && host.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c)),
    };
    let port = port.map(|port| port.parse().ok().filter(|port: &u16| *port > 0));
    match port {
        Some(None) => None,
        port => is_host.then(|| (host.to_owned(), port.flatten())),
    }
}

/// One spelling for an address.
fn canonical(host: &str) -> String {
    host.parse().map_or_else(|_| host.to_lowercase(), |ip: IpAddr| ip.to_string())
}

fn bracketed(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

fn written((host, port): &Place) -> String {
    bracketed(host) + &port.map(|port| format!(":{port}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn announced(pairs: &[&str]) -> Result<Announced> {
        let mut announced = Announced::default();
        pairs.iter().try_for_each(|pairs| announced.add(pairs))?;
        Ok(announced)
    }

    #[test]
    fn the_closest_pair_counts_and_nothing_is_translated_twice() {
        let pairs =
            ["10.0.0.2:6379=localhost:7002,Redis-3=[::1]", "10.0.0.2=gateway", "[FD00:0::1]:1=h,gateway=no"];
        let announced = announced(&pairs).expect("good");
        for (host, port, expected) in [
            ("10.0.0.2", 6379, "localhost:7002"),
            ("10.0.0.2", 6380, "gateway:6380"),
            ("redis-3", 7, "[::1]:7"),
            ("fd00::1", 1, "h:1"),
            ("fd00::1", 2, "[fd00::1]:2"),
            ("10.0.0.3", 6379, "10.0.0.3:6379"),
        ] {
            assert_eq!(announced.reach(host, port).to_string(), expected, "{host} {port}");
        }
    }

    #[test]
    fn what_is_no_pair_is_refused_with_what_to_write() {
        let example = "announce=10.0.0.2:6379=localhost:7002";
        for bad in
            ["", "a", "a=", "=b", "a=b,", "a:0=b:1", "a:x=b", "a=b:65536", "::1=b", "a=[h]", "[::1]x=b"]
        {
            let error = announced(&[bad]).expect_err(bad).to_string();
            assert!(error.contains(example), "{bad}: {error}");
        }
        let secret = announced(&["u:canary@h=b"]).expect_err("no host").to_string();
        assert!(secret.contains(example) && !secret.contains("canary"), "{secret}");
        let error = announced(&["::1=b", "a=b"]).expect_err("no brackets").to_string();
        assert!(error.contains("\"::1=b\""), "{error}");
        let error = announced(&["a=b:1"]).expect_err("one port for all").to_string();
        assert!(error.contains("write announce=a:PORT=b:1"), "{error}");
        let error = announced(&["a:1=b:1,A:1=c:1"]).expect_err("two places").to_string();
        assert!(error.contains("two addresses for a:1"), "{error}");
        announced(&["a:1=b:1", "a:1=b:1"]).expect("said twice");
    }

    #[test]
    fn an_error_says_what_to_write() {
        let announced = announced(&["10.0.0.2:6379=h:7002"]).expect("good");
        let advice = |kind, why: &str, at: HostPort| announced.advise(Error::new(kind, why), &at).to_string();
        let away = |at| advice(ErrorKind::Unavailable, "refused", at);
        assert!(away(HostPort::new("::1", 1)).contains("write announce=[::1]:1=HOST:PORT"));
        assert!(away(HostPort::new("h", 7002)).contains("write announce=10.0.0.2:6379=HOST:PORT"));
        let misnamed = "certificate not valid for name \"10.0.0.3\"";
        let at = || HostPort::new("10.0.0.3", 1);
        assert!(advice(ErrorKind::Denied, misnamed, at()).contains("announce=10.0.0.3:1=NAME:1"));
        assert!(!advice(ErrorKind::Denied, "wrong password", at()).contains("announce="));
    }
}
