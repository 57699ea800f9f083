//! The keys of a name.
//!
//! | key | what it is |
//! |---|---|
//! | `PREFIX/lock/NAME/KINDCLAIM` | an entry of the queue: who was created first holds the lock |
//! | `PREFIX/doubt/LEASE` | how often requests of a lease were in doubt |
//!
//! With `dialect=concurrency` the entries are `NAME/CLAIM`, beside those of other clients.

use super::options::{Dialect, Options};
use crate::Name;
use crate::backend::Claim;

/// Makes the keys of one store.
#[derive(Debug)]
pub(super) struct Keys {
    prefix: String,
    dialect: Dialect,
}

/// The keys of the queue of one name.
#[derive(Debug)]
pub(super) struct Line(Vec<u8>);

/// The first letter of an entry that excludes all others.
const WRITER: u8 = b'w';

impl Keys {
    pub(super) fn new(options: &Options) -> Self {
        Self { prefix: options.prefix.clone(), dialect: options.dialect }
    }

    pub(super) fn line(&self, name: &Name) -> Line {
        let folder = match self.dialect {
            Dialect::Own => format!("{}/lock/{}/", self.prefix, encode(name)),
            Dialect::Concurrency => format!("{name}/"),
        };
        Line(folder.into_bytes())
    }

    pub(super) fn entry(&self, claim: &Claim) -> Vec<u8> {
        let mut key = self.line(&claim.name).0;
        if self.dialect == Dialect::Own {
            key.push(WRITER);
        }
        key.extend_from_slice(&claim.id.hex());
        key
    }

    pub(super) fn doubt(&self, lease: i64) -> Vec<u8> {
        format!("{}/doubt/{lease:x}", self.prefix).into_bytes()
    }
}

impl Line {
    /// The first key that may belong to it.
    pub(super) fn start(&self) -> Vec<u8> {
        self.0.clone()
    }

    /// The first key behind it: that with the sign after the slash.
    pub(super) fn end(&self) -> Vec<u8> {
        let mut end = self.0.clone();
        end.pop();
        end.push(b'/' + 1);
        end
    }
}

/// Percent-encodes the slash, so that the entries of `a/b` are not entries of `a`, and the percent sign itself, so that
/// different names stay different.
fn encode(name: &str) -> String {
    name.replace('%', "%25").replace('/', "%2F")
}
