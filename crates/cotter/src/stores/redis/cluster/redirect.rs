//! What a node says of a name that it does not have, or not just now.

use crate::stores::shared::net::HostPort;
use crate::{Error, ErrorKind};
use redis::RedisError;
use std::error::Error as _;

/// What to do about a refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Redirect {
    /// The slot is there, and stays there.
    Moved(HostPort),
    /// The slot is about to be there, and this key is already.
    Ask(HostPort),
    /// Some of the keys have moved, or the cluster is about to choose another master.
    Later,
}

impl Redirect {
    /// `reach`: where to connect to a node that is named.
    pub(super) fn of(e: &Error, reach: impl Fn(&str, u16) -> HostPort) -> Option<Self> {
        let e = e.source()?.downcast_ref::<RedisError>()?;
        let there = || {
            let (host, port) = e.detail()?.split(' ').nth(1)?.rsplit_once(':')?;
            Some(reach(host.trim_matches(['[', ']']), port.parse().ok()?))
        };
        match e.code()? {
            "MOVED" => there().map(Self::Moved),
            "ASK" => there().map(Self::Ask),
            "TRYAGAIN" | "CLUSTERDOWN" => Some(Self::Later),
            _ => None,
        }
    }
}

/// The error of a request that was sent to and fro until its time was over, the last time to the node at `asked`.
pub(super) fn given_up(e: Error, redirect: Option<&Redirect>, asked: Option<&HostPort>) -> Error {
    let (Some(Redirect::Moved(there) | Redirect::Ask(there)), Some(source)) = (redirect, e.source()) else {
        return e;
    };
    let why = match asked {
        Some(asked) if asked == there => format!(
            "the node at {asked} says that the slot of the name is on another one, which is connected to at the same address: \
             several nodes need an address each, such as announce= in the URL gives them ({source})"
        ),
        _ => {
            format!("the slot of the name is moving to {there}, which does not answer for it yet ({source})")
        }
    };
    let error = Error::new(ErrorKind::Unavailable, why).with_backend(super::super::SCHEME);
    match e.name() {
        Some(name) => error.with_name(name),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stores::redis::errors::{Sent, explain};
    use redis::make_extension_error;

    fn of(code: &str, said: &str) -> Option<Redirect> {
        let e = make_extension_error(code.into(), Some(said.into()));
        Redirect::of(&explain(e, Sent::Yes), |host, port| HostPort::new(host, port))
    }

    #[test]
    fn redirects() {
        let at = |host: &str| HostPort::new(host, 7001);
        assert_eq!(of("MOVED", "3999 10.0.0.2:7001"), Some(Redirect::Moved(at("10.0.0.2"))));
        assert_eq!(of("ASK", "3999 ::1:7001"), Some(Redirect::Ask(at("::1"))));
        assert_eq!(of("MOVED", "3999 :7001"), Some(Redirect::Moved(at(""))));
        assert_eq!(of("TRYAGAIN", "Multiple keys request during rehashing of slot"), Some(Redirect::Later));
        assert_eq!(of("LOADING", "Redis is loading the dataset in memory"), None);
    }
}
