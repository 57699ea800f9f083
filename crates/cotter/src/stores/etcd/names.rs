//! The keys of a name.
//!
//! | key | what it is |
//! |---|---|
//! | `PREFIX/lock/NAME/wCLAIM` | an entry of the queue: who was created first holds the lock |
//! | `PREFIX/lock/NAME/rCLAIM` | the same of a reader |
//! | `PREFIX/lock/NAME/pCLAIM-TAKE-OF` | the same of permits |
//! | `PREFIX/limit/NAME` | the number of permits that was set while the name was in use |
//! | `PREFIX/evicted/CLAIM` | the claim with that entry was evicted |
//! | `PREFIX/note/NAME/KEY` | a note |
//! | `PREFIX/doubt/LEASE` | how often requests of a lease were in doubt |
//!
//! `CLAIM` is the id of a claim: of that one, or of one whose key it has taken over.
//!
//! With `dialect=concurrency` the entries are `NAME/CLAIM`, beside those of other clients.

use super::messages::KeyValue;
use super::options::{Dialect, Options};
use crate::Name;
use crate::backend::{Claim, ClaimId, Mode};

/// Makes the keys of one store.
#[derive(Debug)]
pub(super) struct Keys {
    prefix: String,
    dialect: Dialect,
}

/// The keys of the queue of one name, or of its entries of one kind.
#[derive(Debug)]
pub(super) struct Line {
    /// The first key that may belong to it.
    start: Vec<u8>,
    /// The first key behind it.
    end: Vec<u8>,
}

/// The first letters of entries.
const WRITER: u8 = b'w';
const READER: u8 = b'r';
const PERMITS: u8 = b'p';

impl Keys {
    pub(super) fn new(options: &Options) -> Self {
        Self { prefix: options.prefix.clone(), dialect: options.dialect }
    }

    pub(super) fn dialect(&self) -> Dialect {
        self.dialect
    }

    pub(super) fn line(&self, name: &Name) -> Line {
        let folder = match self.dialect {
            Dialect::Own => format!("{}/lock/{}/", self.prefix, encode(name)),
            Dialect::Concurrency => format!("{name}/"),
        };
        Line::below(folder.into_bytes())
    }

    /// Those entries of a line that exclude a reader which comes behind them: all that are not of readers.
    pub(super) fn no_readers(&self, name: &Name) -> [Line; 2] {
        let (line, readers) = (self.line(name), self.line(name).of(READER));
        [Line { start: line.start, end: readers.start }, Line { start: readers.end, end: line.end }]
    }

    /// The key of a claim's entry, which ends with the id of this claim or another one.
    pub(super) fn entry(&self, claim: &Claim, id: ClaimId) -> Vec<u8> {
        let mut key = self.line(&claim.name).start;
        if self.dialect == Dialect::Own {
            key.push(match claim.mode {
                Mode::Exclusive => WRITER,
                Mode::Shared => READER,
                Mode::Permits { .. } => PERMITS,
            });
        }
        key.extend_from_slice(&id.hex());
        if let Mode::Permits { take, of } = claim.mode {
            key.extend_from_slice(format!("-{take}-{of}").as_bytes());
        }
        key
    }

    /// The claim after which the key of an entry is called, if cotter wrote it.
    pub(super) fn claim(&self, entry: &[u8]) -> Option<ClaimId> {
        let last = entry.rsplit(|b| *b == b'/').next()?;
        let claim = if self.dialect == Dialect::Own { last.get(1..)? } else { last };
        ClaimId::parse(std::str::from_utf8(claim.get(..CLAIM)?).ok()?)
    }

    /// How an entry uses its name. What cotter has not written excludes all others.
    pub(super) fn mode(&self, entry: &[u8]) -> Mode {
        let last = entry.rsplit(|b| *b == b'/').next().unwrap_or_default();
        match (self.dialect, last.first()) {
            (Dialect::Own, Some(&READER)) => Mode::Shared,
            (Dialect::Own, Some(&PERMITS)) => permits(last).unwrap_or(Mode::Exclusive),
            _ => Mode::Exclusive,
        }
    }

    /// The number of permits that was set while the name was in use.
    pub(super) fn limit(&self, name: &Name) -> Vec<u8> {
        format!("{}/limit/{}", self.prefix, encode(name)).into_bytes()
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
    /// All keys that begin with these, whose last one is a slash.
    fn below(start: Vec<u8>) -> Self {
        let mut end = start.clone();
        // No byte of UTF-8 is the largest one.
        end.last_mut().into_iter().for_each(|last| *last += 1);
        Self { start, end }
    }

    fn of(mut self, kind: u8) -> Self {
        self.start.push(kind);
        Self::below(self.start)
    }

    pub(super) fn start(&self) -> Vec<u8> {
        self.start.clone()
    }

    pub(super) fn end(&self) -> Vec<u8> {
        self.end.clone()
    }
}

/// The number of digits of a claim.
const CLAIM: usize = 32;

/// Take and limit, behind the claim.
fn permits(entry: &[u8]) -> Option<Mode> {
    let (take, of) = std::str::from_utf8(entry.get(1 + CLAIM + 1..)?).ok()?.split_once('-')?;
    Some(Mode::Permits { take: take.parse().ok()?, of: of.parse().ok()? })
}

/// Percent-encodes the slash, so that the entries of `a/b` are not entries of `a`, and the percent sign itself, so that
/// different names stay different.
fn encode(name: &str) -> String {
    name.replace('%', "%25").replace('/', "%2F")
}

fn decode(name: &str) -> String {
    name.replace("%2F", "/").replace("%25", "%")
}
