//! The keys of a name.
//!
//! | key | what it is |
//! |---|---|
//! | `PREFIX/lock/NAME/KINDCLAIM` | an entry of the queue: who was created first holds the lock |
//! | `PREFIX/evicted/CLAIM` | the claim was evicted |
//! | `PREFIX/note/NAME/KEY` | a note |
//! | `PREFIX/doubt/LEASE` | how often requests of a lease were in doubt |
//!
//! With `dialect=concurrency` the entries are `NAME/CLAIM`, beside those of other clients.

use super::messages::KeyValue;
use super::options::{Dialect, Options};
use crate::Name;
use crate::backend::{Claim, ClaimId};

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

    /// The claim of an entry, if cotter wrote it.
    pub(super) fn claim(&self, entry: &[u8]) -> Option<ClaimId> {
        let last = entry.rsplit(|b| *b == b'/').next()?;
        let claim = if self.dialect == Dialect::Own { last.strip_prefix(&[WRITER])? } else { last };
        ClaimId::parse(std::str::from_utf8(claim).ok()?)
    }

    /// The name of an entry; `None` for a key that is none.
    pub(super) fn name(&self, kv: &KeyValue) -> Option<Name> {
        let (name, last) = std::str::from_utf8(&kv.key).ok()?.rsplit_once('/')?;
        let name = match self.dialect {
            Dialect::Own => decode(name.strip_prefix(&*self.prefix)?.strip_prefix("/lock/")?),
            // Other clients end it with the id of their lease.
            Dialect::Concurrency if kv.lease != 0 && last.bytes().all(|b| b.is_ascii_hexdigit()) => {
                name.to_owned()
            }
            Dialect::Concurrency => return None,
        };
        Name::new(name).ok().filter(|name| self.dialect == Dialect::Own || !name.starts_with(&*self.prefix))
    }

    /// The first key of the entries of all names that begin with this, and the first key behind them.
    pub(super) fn lines(&self, beginning: &str) -> (Vec<u8>, Vec<u8>) {
        let start = match self.dialect {
            Dialect::Own => format!("{}/lock/{}", self.prefix, encode(beginning)).into_bytes(),
            Dialect::Concurrency if beginning.is_empty() => return (vec![0], vec![0]),
            Dialect::Concurrency => beginning.as_bytes().to_vec(),
        };
        let mut end = start.clone();
        // No byte of UTF-8 is the largest one.
        end.last_mut().into_iter().for_each(|last| *last += 1);
        (start, end)
    }

    pub(super) fn evicted(&self, id: ClaimId) -> Vec<u8> {
        format!("{}/evicted/{id}", self.prefix).into_bytes()
    }

    pub(super) fn note(&self, name: &Name, key: &str) -> Vec<u8> {
        format!("{}/note/{}/{}", self.prefix, encode(name), encode(key)).into_bytes()
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

fn decode(name: &str) -> String {
    name.replace("%2F", "/").replace("%25", "%")
}
