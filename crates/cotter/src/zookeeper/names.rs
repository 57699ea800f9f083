//! The nodes of a name.
//!
//! | node | what it is |
//! |---|---|
//! | `PREFIX/lock/NAME/_c_CLAIM-__WRIT__NUMBER` | a place in the queue: the smallest number holds the lock |
//! | `PREFIX/lock/NAME/_c_CLAIM-__READ__NUMBER` | the same of a reader |
//! | `PREFIX/lock/NAME/_c_CLAIM-permits-TAKE-OF-NUMBER` | the same of permits |
//! | `PREFIX/note/NAME/KEY` | a note |
//!
//! Names and claims of readers and writers are those of Curator's read/write lock. The data of a place are the label of its
//! holder, and a line for what an operator has done to it.

use super::options::Options;
use crate::Name;
use crate::backend::{Claim, ClaimId, Mode};
use std::cmp::Ordering;

/// Makes the paths of one store.
#[derive(Debug)]
pub(super) struct Keys {
    root: String,
}

/// A place in the queue of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// The name of its node.
    pub(super) node: String,
    pub(super) mode: Mode,
    number: i32,
}

const WRITER: &str = "__WRIT__";
const READER: &str = "__READ__";
const PERMITS: &str = "permits-";
/// In front of a claim, and the length of a claim with its dashes.
const PROTECTED: &str = "_c_";
const CLAIM: usize = 36;
/// The digits that the server appends; more if the number is negative.
const DIGITS: usize = 10;

impl Keys {
    pub(super) fn new(options: &Options) -> Self {
        Self { root: format!("{}/{}", options.chroot, options.prefix) }
    }

    /// The folder of all names.
    pub(super) fn lines(&self) -> String {
        format!("{}/lock", self.root)
    }

    /// The folder of the places of one name.
    pub(super) fn line(&self, name: &Name) -> String {
        format!("{}/lock/{}", self.root, encode(name))
    }

    /// The path of a place, without the number that the server appends.
    pub(super) fn place(&self, claim: &Claim) -> String {
        let kind = match claim.mode {
            Mode::Exclusive => WRITER.to_owned(),
            Mode::Shared => READER.to_owned(),
            Mode::Permits { take, of } => format!("{PERMITS}{take}-{of}-"),
        };
        format!("{}/{}{kind}", self.line(&claim.name), protection(claim.id))
    }

    /// The places among the nodes of a folder, in order.
    pub(super) fn entries(&self, nodes: Vec<String>) -> Vec<Entry> {
        let mut entries: Vec<_> = nodes.into_iter().filter_map(Entry::parse).collect();
        entries.sort_by(Entry::order);
        entries
    }

    pub(super) fn note(&self, name: &Name, key: &str) -> String {
        // A node has a name, a key may be empty.
        format!("{}/note/{}/k{}", self.root, encode(name), encode(key))
    }

    /// The name of a folder of places.
    pub(super) fn name(&self, folder: &str) -> Option<Name> {
        Name::new(decode(folder)?).ok()
    }
}

impl Entry {
    /// `None` for a node that is no place.
    fn parse(node: String) -> Option<Self> {
        let kind = behind_claim(&node)?;
        let (kind, number) = split_number(kind)?;
        let mode = match kind {
            WRITER => Mode::Exclusive,
            READER => Mode::Shared,
            _ => permits(kind)?,
        };
        Some(Self { mode, number, node })
    }

    /// Numbers start over after the largest one, so only their distance counts.
    fn order(&self, other: &Self) -> Ordering {
        self.number.wrapping_sub(other.number).cmp(&0)
    }
}

/// What is behind the claim in the name of a node.
fn behind_claim(node: &str) -> Option<&str> {
    node.strip_prefix(PROTECTED)?.split_at_checked(CLAIM)?.1.strip_prefix('-')
}

/// What is in front of the number that the server has appended, and that number.
fn split_number(rest: &str) -> Option<(&str, i32)> {
    let (front, digits) = rest.split_at_checked(rest.len().checked_sub(DIGITS)?)?;
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let (front, sign) = match front.strip_suffix("--") {
        // A negative number of the most digits, behind a kind that ends with a dash.
        Some(shorter) => (&front[..=shorter.len()], -1),
        None => match front.strip_suffix("_-") {
            Some(shorter) => (&front[..=shorter.len()], -1),
            None => (front, 1),
        },
    };
    Some((front, i32::try_from(digits.parse::<i64>().ok()? * sign).ok()?))
}

/// Take and limit.
fn permits(kind: &str) -> Option<Mode> {
    let (take, of) = kind.strip_prefix(PERMITS)?.strip_suffix('-')?.split_once('-')?;
    Some(Mode::Permits { take: take.parse().ok()?, of: of.parse().ok()? })
}

/// In front of all nodes of a claim, and of no others.
pub(super) fn protection(id: ClaimId) -> String {
    let hex = id.to_string();
    let part = |from: usize, to: usize| &hex[from..to];
    format!("{PROTECTED}{}-{}-{}-{}-{}-", part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32))
}

/// What an operator has done to a place: the last line of its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Evicted,
    /// The number of permits was set while it was there.
    Limit(u32),
}

const MARK: &str = "\ncotter: ";

impl Mark {
    pub(super) fn of(data: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(data);
        match text.rsplit_once(MARK)?.1 {
            "evicted" => Some(Self::Evicted),
            limit => limit.strip_prefix("limit ")?.parse().ok().map(Self::Limit),
        }
    }

    /// The same data with this mark.
    pub(super) fn on(self, data: &[u8]) -> Vec<u8> {
        let mark = match self {
            Self::Evicted => "evicted".to_owned(),
            Self::Limit(of) => format!("limit {of}"),
        };
        format!("{}{MARK}{mark}", label(data)).into_bytes()
    }
}

/// The label of a holder, without a mark.
pub(super) fn label(data: &[u8]) -> String {
    let text = String::from_utf8_lossy(data);
    text.rsplit_once(MARK).map_or(&*text, |(label, _)| label).to_owned()
}

/// Percent-encodes what would be another node or none: the slash, whole names of dots, and what the server refuses; and the
/// percent sign itself, so that different names stay different.
fn encode(name: &str) -> String {
    let is_refused = |c: char| {
        matches!(c, '%' | '/' | '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{e000}'..='\u{f8ff}' | '\u{fff0}'..='\u{ffff}')
            || c > '\u{ffff}'
    };
    let is_dots = matches!(name, "." | "..");
    let mut encoded = String::with_capacity(name.len());
    for c in name.chars() {
        if is_refused(c) || is_dots {
            let mut bytes = [0; 4];
            c.encode_utf8(&mut bytes).bytes().for_each(|byte| encoded += &format!("%{byte:02X}"));
        } else {
            encoded.push(c);
        }
    }
    encoded
}

fn decode(folder: &str) -> Option<String> {
    crate::net::decode("node", folder).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(kind: &str) -> String {
        format!("{}{kind}", protection(ClaimId::parse("00112233445566778899aabbccddeeff").unwrap()))
    }

    #[test]
    fn a_node_tells_its_claim_and_kind() {
        let of = |kind: &str| Entry::parse(node(kind)).map(|entry| (entry.mode, entry.number));
        assert_eq!(of("__WRIT__0000000012"), Some((Mode::Exclusive, 12)));
        assert_eq!(of("__READ__0000000000"), Some((Mode::Shared, 0)));
        assert_eq!(of("permits-2-30-0000000007"), Some((Mode::Permits { take: 2, of: 30 }, 7)));
        assert_eq!(of("__WRIT__-2147483648"), Some((Mode::Exclusive, i32::MIN)));
        assert_eq!(of("permits-2-30--2147483647"), Some((Mode::Permits { take: 2, of: 30 }, i32::MIN + 1)));
        assert_eq!(of("lock-0000000012"), None);
        assert_eq!(Entry::parse("note".into()), None);
        assert!(node("").starts_with("_c_00112233-4455-6677-8899-aabbccddeeff-"));
    }

    #[test]
    fn numbers_start_over() {
        let line = ["__WRIT__-2147483648", "__WRIT__2147483646", "__WRIT__2147483647"].map(node);
        let numbers: Vec<_> =
            Keys { root: String::new() }.entries(line.into()).iter().map(|entry| entry.number).collect();
        assert_eq!(numbers, [i32::MAX - 1, i32::MAX, i32::MIN]);
    }

    #[test]
    fn different_names_are_different_nodes_that_the_server_takes() {
        for (name, folder) in [
            ("a/b", "a%2Fb"),
            ("a%2Fb", "a%252Fb"),
            (".", "%2E"),
            ("..", "%2E%2E"),
            ("a.b", "a.b"),
            ("größer", "größer"),
            ("\u{f8ff}", "%EF%A3%BF"),
            ("🔒", "%F0%9F%94%92"),
        ] {
            assert_eq!(encode(name), folder);
            assert_eq!(decode(folder).as_deref(), Some(name));
        }
    }

    #[test]
    fn marks_are_apart_from_labels() {
        for label_ in ["", "host/1 (two\nlines)"] {
            assert_eq!((label(label_.as_bytes()), Mark::of(label_.as_bytes())), (label_.to_owned(), None));
            for mark in [Mark::Evicted, Mark::Limit(7)] {
                let data = mark.on(label_.as_bytes());
                assert_eq!((label(&data), Mark::of(&data)), (label_.to_owned(), Some(mark)));
                assert_eq!(Mark::Limit(8).on(&data), Mark::Limit(8).on(label_.as_bytes()));
            }
        }
    }
}
