//! The note of an election: what the last leader has said.

use crate::{Error, ErrorKind, Name, Note, Result};

/// The key of the note beside the election's name.
pub(super) const KEY: &str = "cotter:leader";
/// The longest announcement, in bytes: a note less its first line.
pub(super) const MAX_ANNOUNCEMENT: usize = Note::MAX_BYTES - 64;

const HEADER: &str = "cotter leader 1 ";
const ELECTED: &str = "elected";
const ANNOUNCED: &str = "announced";
const RESIGNED: &str = "resigned";

/// The announcement of a leader to its observers, written under its token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Announcement {
    /// It has been elected, and has announced nothing so far.
    Elected,
    Made(Vec<u8>),
    /// It is about to release the lock.
    Resigned,
}

impl Announcement {
    /// Refuses one that is too long, before any I/O.
    pub(super) fn check_size(&self, name: &Name) -> Result<()> {
        match self {
            Self::Made(bytes) if bytes.len() > MAX_ANNOUNCEMENT => {
                let length = bytes.len();
                let why =
                    format!("an announcement of {length} bytes is too long, {MAX_ANNOUNCEMENT} are allowed");
                Err(Error::new(ErrorKind::InvalidInput, why).with_name(name))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let (word, bytes) = match self {
            Self::Elected => (ELECTED, &[][..]),
            Self::Made(bytes) => (ANNOUNCED, &bytes[..]),
            Self::Resigned => (RESIGNED, &[][..]),
        };
        [HEADER.as_bytes(), word.as_bytes(), b"\n", bytes].concat()
    }

    pub(super) fn read(name: &Name, note: &Note) -> Result<Self> {
        let end = note.bytes.iter().position(|b| *b == b'\n');
        let (head, rest) = note.bytes.split_at(end.map_or(0, |at| at + 1));
        let word = std::str::from_utf8(head).ok().and_then(|head| head.strip_prefix(HEADER));
        match word.map(str::trim_end) {
            Some(ELECTED) => Ok(Self::Elected),
            Some(ANNOUNCED) => Ok(Self::Made(rest.to_vec())),
            Some(RESIGNED) => Ok(Self::Resigned),
            _ => {
                let why = format!("the note {KEY:?} beside this name was not written by an election");
                Err(Error::new(ErrorKind::ForeignKey, why).with_name(name))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let name = Name::new("a").unwrap();
        let made = |bytes: &[u8]| Announcement::Made(bytes.to_vec());
        let longest = vec![b'\n'; MAX_ANNOUNCEMENT];
        for said in [Announcement::Elected, Announcement::Resigned, made(b""), made(b"a\nb"), made(&longest)]
        {
            assert!(said.bytes().len() <= Note::MAX_BYTES);
            assert_eq!(Announcement::read(&name, &Note::new(said.bytes(), 1, 1)).unwrap(), said);
        }
        let said = made(&[b'a'; MAX_ANNOUNCEMENT + 1]).check_size(&name).unwrap_err().to_string();
        assert!(said.contains("an announcement of 65473 bytes is too long, 65472 are allowed"), "{said}");
        assert!(made(&longest).check_size(&name).is_ok());
        let foreign = Announcement::read(&name, &Note::new(b"10.0.0.7".to_vec(), 1, 1)).unwrap_err();
        assert_eq!(foreign.kind(), ErrorKind::ForeignKey);
    }
}
