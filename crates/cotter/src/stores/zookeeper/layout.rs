//! The nodes of places in a queue: how each layout names, reads and orders them.
//!
//! | layout | node of an exclusive claim | of a shared one | the rest of the folder |
//! |---|---|---|---|
//! | `Own` | `_c_CLAIM-__WRIT__NUMBER` | `_c_CLAIM-__READ__NUMBER` | is ignored |
//! | `CuratorMutex` | `_c_CLAIM-lock-NUMBER` | none | everything counts |
//! | `CuratorRwLock` | as `Own` | as `Own` | keeps writers waiting |
//! | `Kazoo` | `CLAIM__lock__NUMBER` | `CLAIM__rlock__NUMBER` | is ignored |
//!
//! `Own` also has permits, `_c_CLAIM-permits-TAKE-OF-NUMBER`.

use crate::backend::{ClaimId, Mode};
use std::cmp::Ordering;

/// Whose nodes the places of a queue are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// In a folder of cotter's own.
    Own,
    /// Curator's `InterProcessMutex`.
    CuratorMutex,
    /// Curator's `InterProcessReadWriteLock`.
    CuratorRwLock,
    /// kazoo's `WriteLock` and `ReadLock`.
    Kazoo,
}

/// A place in the queue of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// The name of its node.
    pub(super) node: String,
    pub(super) mode: Mode,
    order: Order,
}

/// The property that determines the order of nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Order {
    /// The number that the server has appended. Numbers start over after the largest one, so only their distance counts.
    Number(i32),
    /// Curator compares texts.
    Text(String),
}

const WRITER: &str = "__WRIT__";
const READER: &str = "__READ__";
const MUTEX: &str = "lock-";
const KAZOO_WRITER: &str = "__lock__";
const KAZOO_READER: &str = "__rlock__";
const PERMITS: &str = "permits-";
/// In front of a claim, and the length of a claim with its dashes.
const PROTECTED: &str = "_c_";
const CLAIM: usize = 36;
/// The length of the number that the server appends; one more if it is negative and has as many digits.
const DIGITS: usize = 10;

impl Layout {
    /// The name of the node of a claim, without the number that the server appends.
    pub(super) fn place(self, id: ClaimId, mode: Mode) -> String {
        let kind = match (self, mode) {
            (_, Mode::Permits { take, of }) => format!("{PERMITS}{take}-{of}-"),
            (Self::CuratorMutex, _) => MUTEX.to_owned(),
            (Self::Kazoo, Mode::Exclusive) => KAZOO_WRITER.to_owned(),
            (Self::Kazoo, Mode::Shared) => KAZOO_READER.to_owned(),
            (Self::Own | Self::CuratorRwLock, Mode::Exclusive) => WRITER.to_owned(),
            (Self::Own | Self::CuratorRwLock, Mode::Shared) => READER.to_owned(),
        };
        self.protection(id) + &kind
    }

    /// In front of all nodes of a claim, and of no others.
    pub(super) fn protection(self, id: ClaimId) -> String {
        let hex = id.to_string();
        if self == Self::Kazoo {
            return hex;
        }
        let part = |from: usize, to: usize| &hex[from..to];
        format!(
            "{PROTECTED}{}-{}-{}-{}-{}-",
            part(0, 8),
            part(8, 12),
            part(12, 16),
            part(16, 20),
            part(20, 32)
        )
    }

    /// The places among the nodes of a folder, in order.
    pub(super) fn entries(self, nodes: Vec<String>) -> Vec<Entry> {
        let mut entries: Vec<_> = nodes.into_iter().filter_map(|node| self.entry(node)).collect();
        entries.sort_by(Entry::order);
        entries
    }

    /// `None` for a node that does not count.
    fn entry(self, node: String) -> Option<Entry> {
        let (mode, order) = match self {
            Self::Own => {
                let (kind, number) = split_number(behind_claim(&node)?)?;
                let mode = match kind {
                    WRITER => Mode::Exclusive,
                    READER => Mode::Shared,
                    _ => permits(kind)?,
                };
                (mode, Order::Number(number))
            }
            Self::Kazoo => {
                let (front, number) = split_number(&node)?;
                let mode = match front {
                    front if front.ends_with(KAZOO_WRITER) => Mode::Exclusive,
                    front if front.ends_with(KAZOO_READER) => Mode::Shared,
                    _ => return None,
                };
                (mode, Order::Number(number))
            }
            Self::CuratorMutex => (Mode::Exclusive, Order::Text(behind(&node, &[MUTEX]))),
            Self::CuratorRwLock => {
                let mode = if node.contains(WRITER) { Mode::Exclusive } else { Mode::Shared };
                (mode, Order::Text(behind(&node, &[READER, WRITER])))
            }
        };
        Some(Entry { node, mode, order })
    }
}

impl Entry {
    fn order(&self, other: &Self) -> Ordering {
        match (&self.order, &other.order) {
            (Order::Number(one), Order::Number(other)) => one.wrapping_sub(*other).cmp(&0),
            (Order::Text(one), Order::Text(other)) => one.cmp(other),
            _ => Ordering::Equal,
        }
    }

    /// Whether a newcomer is behind it: whatever is in a folder of Curator counts, but not all of it comes first.
    pub(super) fn is_before_newcomers(&self) -> bool {
        match &self.order {
            Order::Number(_) => true,
            Order::Text(text) => self.is_place() || text.as_str() < "0000000000",
        }
    }

    /// Whether it is a place of somebody, rather than another node that counts.
    pub(super) fn is_place(&self) -> bool {
        match &self.order {
            Order::Number(_) => true,
            Order::Text(text) => text.len() == DIGITS && text.bytes().all(|b| b.is_ascii_digit()),
        }
    }
}

/// The text after the last of these words; all of it if there is none.
fn behind(node: &str, words: &[&str]) -> String {
    let found = words.iter().find_map(|word| node.rsplit_once(word));
    found.map_or(node, |(_, behind)| behind).to_owned()
}

/// The part of a node's name after the claim.
fn behind_claim(node: &str) -> Option<&str> {
    node.strip_prefix(PROTECTED)?.split_at_checked(CLAIM)?.1.strip_prefix('-')
}

/// The part of a node's name before the number that the server has appended, and that number.
fn split_number(rest: &str) -> Option<(&str, i32)> {
    let (front, number) = rest.split_at_checked(rest.len().checked_sub(DIGITS)?)?;
    let digits = number.strip_prefix('-').unwrap_or(number);
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    if digits != number {
        return Some((front, number.parse().ok()?));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn node(kind: &str) -> String {
        Layout::Own.protection(ClaimId::parse("00112233445566778899aabbccddeeff").unwrap()) + kind
    }

    #[test]
    fn a_node_tells_its_kind() {
        let of = |kind: &str| Layout::Own.entry(node(kind)).map(|entry| (entry.mode, entry.order));
        let number = |mode, number| Some((mode, Order::Number(number)));
        assert_eq!(of("__WRIT__0000000012"), number(Mode::Exclusive, 12));
        assert_eq!(of("__READ__0000000000"), number(Mode::Shared, 0));
        assert_eq!(of("permits-2-30-0000000007"), number(Mode::Permits { take: 2, of: 30 }, 7));
        assert_eq!(of("__WRIT__-2147483648"), number(Mode::Exclusive, i32::MIN));
        assert_eq!(of("__READ__-999999999"), number(Mode::Shared, -999_999_999));
        assert_eq!(of("permits-2-30--000000005"), number(Mode::Permits { take: 2, of: 30 }, -5));
        assert_eq!(of("__WRIT__+999999999"), None);
        assert_eq!(of("permits-2-30--2147483647"), number(Mode::Permits { take: 2, of: 30 }, i32::MIN + 1));
        assert_eq!(of("lock-0000000012"), None);
        assert_eq!(Layout::Own.entry("note".into()), None);
        assert!(node("").starts_with("_c_00112233-4455-6677-8899-aabbccddeeff-"));
    }

    #[test]
    fn numbers_start_over() {
        let line = ["__WRIT__-2147483648", "__WRIT__2147483646", "__WRIT__2147483647"].map(node);
        let orders: Vec<_> = Layout::Own.entries(line.into()).into_iter().map(|entry| entry.order).collect();
        assert_eq!(orders, [i32::MAX - 1, i32::MAX, i32::MIN].map(Order::Number));
        let line = ["__WRIT__0000000000", "__WRIT__-000000001", "__WRIT__-1000000000"].map(node);
        let orders: Vec<_> = Layout::Own.entries(line.into()).into_iter().map(|entry| entry.order).collect();
        assert_eq!(orders, [-1_000_000_000, -1, 0].map(Order::Number));
    }

    #[test]
    fn every_layout_reads_its_own_nodes() {
        let id = ClaimId::random();
        for layout in [Layout::Own, Layout::CuratorMutex, Layout::CuratorRwLock, Layout::Kazoo] {
            for mode in [Mode::Exclusive, Mode::Shared] {
                let mode = if layout == Layout::CuratorMutex { Mode::Exclusive } else { mode };
                let node = layout.place(id, mode) + "0000000003";
                assert!(node.starts_with(&layout.protection(id)));
                let entry = layout.entry(node).expect("its own");
                assert!(entry.mode == mode && entry.is_place() && entry.is_before_newcomers());
            }
        }
    }

    #[test]
    fn what_others_put_into_a_folder_of_curator_counts_as_it_does_there() {
        let nodes = ["zz", "00", "0note", "_c_x-lock-0000000004", "x-lock-0000000003"].map(str::to_owned);
        let entries = Layout::CuratorMutex.entries(nodes.to_vec());
        let order: Vec<_> = entries.iter().map(|entry| &*entry.node).collect();
        assert_eq!(order, ["00", "x-lock-0000000003", "_c_x-lock-0000000004", "0note", "zz"]);
        let first: Vec<_> = entries.iter().map(Entry::is_before_newcomers).collect();
        assert_eq!(first, [true, true, true, false, false]);
        assert_eq!(Layout::Kazoo.entries(nodes.to_vec()), []);
    }
}
