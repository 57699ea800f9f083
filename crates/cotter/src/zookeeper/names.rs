//! The nodes of a name.
//!
//! | node | what it is |
//! |---|---|
//! | `PREFIX/lock/NAME/…` | the places in the queue of the name, named as their layout says |
//! | `PREFIX/note/NAME/KEY` | a note |
//!
//! In the layouts of other clients the places are in `/NAME`. The data of a place are the label of its holder, and a line for
//! what an operator has done to it.

use super::layout::{Entry, Layout};
use super::messages::Kind;
use super::options::Options;
use crate::Name;
use crate::backend::{Claim, ClaimId};

/// Makes the paths of one store.
#[derive(Debug)]
pub(super) struct Keys {
    chroot: String,
    prefix: String,
    layout: Layout,
}

impl Keys {
    pub(super) fn new(options: &Options) -> Self {
        let Options { chroot, prefix, layout, .. } = options.clone();
        Self { chroot, prefix, layout }
    }

    /// The folder of all names.
    pub(super) fn lines(&self) -> String {
        match self.layout {
            Layout::Own => format!("{}/{}/lock", self.chroot, self.prefix),
            _ if self.chroot.is_empty() => "/".to_owned(),
            _ => self.chroot.clone(),
        }
    }

    /// The folder of the places of one name.
    pub(super) fn line(&self, name: &Name) -> String {
        match self.layout {
            Layout::Own => format!("{}/{}/lock/{}", self.chroot, self.prefix, encode(name)),
            _ => format!("{}/{}", self.chroot, encode(name)),
        }
    }

    /// The lifetime of an empty folder. kazoo makes one only once, and expects it to stay.
    pub(super) fn folder(&self) -> Kind {
        if self.layout == Layout::Kazoo { Kind::Persistent } else { Kind::Container }
    }

    /// The path of a place, without the number that the server appends.
    pub(super) fn place(&self, claim: &Claim) -> String {
        format!("{}/{}", self.line(&claim.name), self.layout.place(claim.id, claim.mode))
    }

    /// In front of the names of all nodes of a claim.
    pub(super) fn protection(&self, id: ClaimId) -> String {
        self.layout.protection(id)
    }

    /// The data of a new place. Beside those of others, it says that it is of cotter.
    pub(super) fn data(&self, claim: &Claim) -> Vec<u8> {
        let label = claim.label.as_bytes();
        if self.layout == Layout::Own { label.to_vec() } else { Mark::Held.on(label) }
    }

    /// Whether the holder with these data reads marks.
    pub(super) fn is_ours(&self, data: &[u8]) -> bool {
        self.layout == Layout::Own || Mark::of(data).is_some()
    }

    /// The places among the nodes of a folder, in order.
    pub(super) fn entries(&self, nodes: Vec<String>) -> Vec<Entry> {
        self.layout.entries(nodes)
    }

    pub(super) fn note(&self, name: &Name, key: &str) -> String {
        // A node has a name, a key may be empty.
        format!("{}/{}/note/{}/k{}", self.chroot, self.prefix, encode(name), encode(key))
    }

    /// The name of a folder of places.
    pub(super) fn name(&self, folder: &str) -> Option<Name> {
        if self.layout != Layout::Own && (folder == "zookeeper" || folder == self.prefix) {
            return None;
        }
        Name::new(decode(folder)?).ok()
    }
}

/// An operator's mark on a node: the last line of its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// Nothing.
    Held,
    Evicted,
    /// The number of permits was set while it was there.
    Limit(u32),
}

const MARK: &str = "\ncotter: ";

impl Mark {
    pub(super) fn of(data: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(data);
        match text.rsplit_once(MARK)?.1 {
            "held" => Some(Self::Held),
            "evicted" => Some(Self::Evicted),
            limit => limit.strip_prefix("limit ")?.parse().ok().map(Self::Limit),
        }
    }

    /// The same data with this mark.
    pub(super) fn on(self, data: &[u8]) -> Vec<u8> {
        let mark = match self {
            Self::Held => "held".to_owned(),
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
            for mark in [Mark::Held, Mark::Evicted, Mark::Limit(7)] {
                let data = mark.on(label_.as_bytes());
                assert_eq!((label(&data), Mark::of(&data)), (label_.to_owned(), Some(mark)));
                assert_eq!(Mark::Limit(8).on(&data), Mark::Limit(8).on(label_.as_bytes()));
            }
        }
    }
}
