//! The note of a latch: the parties that have counted down.

use crate::{Error, ErrorKind, Name, Note, Result, random};
use std::fmt::Write;

/// The key of the note beside the latch's name.
pub(super) const KEY: &str = "cotter:latch";
/// The longest id of a party, in bytes.
pub(super) const MAX_ID: usize = 64;
/// The most parties whose ids fit into a note, with room for its first line.
pub(super) const MAX_PARTIES: u32 = 1000;

const _: () = assert!(MAX_PARTIES as usize * (MAX_ID + 1) + 256 <= Note::MAX_BYTES);

const HEADER: &str = "cotter latch 1 ";
const DELETED: &str = "deleted";

/// A latch that exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Parties {
    /// Tells a latch from a later one of the same name.
    pub(super) id: u128,
    /// The number of parties that open it.
    pub(super) of: u32,
    /// Those that have counted down, in this order.
    pub(super) ids: Vec<String>,
}

impl Parties {
    pub(super) fn new(of: u32) -> Self {
        Self { id: random::bits(), of, ids: Vec::new() }
    }

    /// Reads the note; `None` if there is no latch. Deleted ones leave a note behind.
    pub(super) fn read(name: &Name, note: Option<&Note>) -> Result<Option<Self>> {
        let Some(note) = note else { return Ok(None) };
        let text = std::str::from_utf8(&note.bytes).ok().and_then(|text| text.strip_prefix(HEADER));
        match text {
            Some(DELETED) => Ok(None),
            Some(text) => Self::parse(text).map(Some).ok_or_else(|| foreign(name)),
            None => Err(foreign(name)),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let (id, of) = lines.next()?.split_once(' ')?;
        let (id, of) = (u128::from_str_radix(id, 16).ok()?, of.parse().ok()?);
        Some(Self { id, of, ids: lines.map(str::to_owned).collect() })
    }

    pub(super) fn text(latch: Option<&Self>) -> String {
        let Some(Self { id, of, ids }) = latch else { return format!("{HEADER}{DELETED}") };
        let mut text = format!("{HEADER}{id:032x} {of}");
        for id in ids {
            write!(text, "\n{id}").expect("writing to a string succeeds");
        }
        text
    }

    /// Adds a party, unless it has counted down before or the latch is open. Returns whether it was added.
    pub(super) fn add(&mut self, party: &str) -> bool {
        let added = self.left() > 0 && !self.ids.iter().any(|id| id == party);
        if added {
            self.ids.push(party.to_owned());
        }
        added
    }

    pub(super) fn left(&self) -> u32 {
        self.of.saturating_sub(u32::try_from(self.ids.len()).unwrap_or(u32::MAX))
    }
}

fn foreign(name: &Name) -> Error {
    let why = format!("the note {KEY:?} beside this name was not written by a latch");
    Error::new(ErrorKind::ForeignKey, why).with_name(name)
}

/// Refuses an id that does not fit into the note.
pub(super) fn check_id(party: &str) -> Result<()> {
    let why = if party.is_empty() {
        "a party needs an id of at least one byte".to_owned()
    } else if party.len() > MAX_ID {
        format!("the id of the party has {} bytes, {MAX_ID} are allowed", party.len())
    } else if let Some(c) = party.chars().find(|c| c.is_control()) {
        format!("the id of the party has the control character {c:?}; leave it out")
    } else {
        return Ok(());
    };
    Err(Error::new(ErrorKind::InvalidInput, why))
}

/// Refuses a number of parties that does not make a latch.
pub(super) fn check_parties(of: u32) -> Result<()> {
    if (1..=MAX_PARTIES).contains(&of) {
        return Ok(());
    }
    let why = format!("a latch takes 1 to {MAX_PARTIES} parties, not {of}");
    Err(Error::new(ErrorKind::InvalidInput, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let name = Name::new("a").unwrap();
        let mut latch = Parties::new(MAX_PARTIES);
        for n in 0..MAX_PARTIES {
            let id = format!("{n:0width$}", width = MAX_ID);
            assert!(latch.add(&id) && !latch.add(&id));
        }
        assert!(!latch.add("another"), "an open latch takes no more");
        let text = Parties::text(Some(&latch));
        assert!(text.len() <= Note::MAX_BYTES);
        assert_eq!(Parties::read(&name, Some(&Note::new(text.into(), 0, 1))).unwrap(), Some(latch));
        let deleted = Parties::text(None).into();
        assert_eq!(Parties::read(&name, Some(&Note::new(deleted, 0, 1))).unwrap(), None);
        let foreign = Parties::read(&name, Some(&Note::new(b"{}".to_vec(), 0, 1))).unwrap_err();
        assert_eq!(foreign.kind(), ErrorKind::ForeignKey);
    }
}
