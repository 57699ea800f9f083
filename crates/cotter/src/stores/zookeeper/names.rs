//! The nodes of a name.
//!
//! | node | what it is |
//! |---|---|
//! | `PREFIX/lock/NAME/…` | the places in the queue of the name, named as their layout says |
//! | `PREFIX/note/NAME/KEY` | a note |
//!
//! In the layouts of other clients the places are in `/NAME`. The data of a place are the label of its holder, and a line for
//! each thing that an operator has done to it.

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
        let marks = Marks { is_ours: self.layout != Layout::Own, ..Marks::default() };
        marks.on(label)
    }

    /// Whether the holder with these data reads marks.
    pub(super) fn is_ours(&self, data: &[u8]) -> bool {
        self.layout == Layout::Own || Marks::of(data) != Marks::default()
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

/// The marks on a node: the last lines of its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Marks {
    /// Its client waits, and has not taken the lock yet. The first mark: earlier versions take it for a part of the label.
    pub(super) waits: bool,
    /// It is of cotter, beside those of others.
    pub(super) is_ours: bool,
    /// The number of permits that was set while it was there.
    pub(super) limit: Option<u32>,
    /// An operator wants its holder to lose the lock. The last mark: earlier versions read only that.
    pub(super) is_evicted: bool,
}

const MARK: &str = "\ncotter: ";
const WAITS: &str = "waits";
const OURS: &str = "held";
const LIMIT: &str = "limit ";
const EVICTED: &str = "evicted";

impl Marks {
    pub(super) fn of(data: &[u8]) -> Self {
        split(data).1
    }

    /// The same data with these marks instead of others.
    pub(super) fn on(self, data: &[u8]) -> Vec<u8> {
        let limit = self.limit.map(|of| format!("{LIMIT}{of}"));
        let waits = self.waits.then(|| WAITS.to_owned());
        let is_ours = self.is_ours.then(|| OURS.to_owned());
        let is_evicted = self.is_evicted.then(|| EVICTED.to_owned());
        let marks = [waits, is_ours, limit, is_evicted].into_iter().flatten();
        marks.fold(label(data), |marked, mark| marked + MARK + &mark).into_bytes()
    }

    /// Adds the mark that a line says. Returns false for one that says none.
    fn add(&mut self, line: &str) -> bool {
        match line {
            WAITS => self.waits = true,
            OURS => self.is_ours = true,
            EVICTED => self.is_evicted = true,
            line => match line.strip_prefix(LIMIT).and_then(|of| of.parse().ok()) {
                Some(of) => self.limit = Some(of),
                None => return false,
            },
        }
        true
    }
}

/// The label of a holder, without marks.
pub(super) fn label(data: &[u8]) -> String {
    split(data).0
}

fn split(data: &[u8]) -> (String, Marks) {
    let text = String::from_utf8_lossy(data);
    let (mut label, mut marks) = (&*text, Marks::default());
    while let Some((before, line)) = label.rsplit_once(MARK)
        && marks.add(line)
    {
        label = before;
    }
    (label.to_owned(), marks)
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
    crate::stores::shared::net::decode("node", folder).ok()
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
    fn marks_are_apart_from_labels_and_from_each_other() {
        for label_ in ["", "host/1 (two\nlines)"] {
            let unmarked = (label_.to_owned(), Marks::default());
            assert_eq!(split(label_.as_bytes()), unmarked);
            for (is_ours, limit, is_evicted) in
                [(true, None, false), (false, Some(7), false), (false, Some(7), true), (true, None, true)]
            {
                let marks = Marks { waits: !is_evicted, is_ours, limit, is_evicted };
                let data = marks.on(label_.as_bytes());
                assert_eq!(split(&data), (label_.to_owned(), marks));
                let other = Marks { limit: Some(8), ..marks };
                assert_eq!(other.on(&data), other.on(label_.as_bytes()));
                assert_eq!(data.ends_with(b"\ncotter: evicted"), is_evicted);
                assert_eq!(Marks::default().on(&data), label_.as_bytes());
            }
        }
    }
}
