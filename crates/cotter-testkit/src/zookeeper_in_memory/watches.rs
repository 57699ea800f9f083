//! Who is told of a change: each connection that watches a node, once.

use std::collections::{BTreeMap, BTreeSet};

/// What has happened to a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Created = 1,
    Deleted = 2,
    Data = 3,
    Children = 4,
}

/// The connections that watch nodes.
#[derive(Debug, Default)]
pub(super) struct Watches {
    data: ByPath,
    children: ByPath,
}

type ByPath = BTreeMap<String, BTreeSet<u64>>;

/// A connection, and what it is told.
pub(super) type Told = (u64, Change, String);

impl Watches {
    /// Data, or that a node is there.
    pub(super) fn data(&mut self, path: &str, connection: u64) {
        self.data.entry(path.to_owned()).or_default().insert(connection);
    }

    pub(super) fn children(&mut self, path: &str, connection: u64) {
        self.children.entry(path.to_owned()).or_default().insert(connection);
    }

    /// Ends the watches that this sets off.
    pub(super) fn fire(&mut self, change: Change, path: &str) -> Vec<Told> {
        let all = |of: Option<BTreeSet<u64>>, change, path: &str| {
            let of = of.unwrap_or_default().into_iter();
            of.map(|connection| (connection, change, path.to_owned())).collect::<Vec<_>>()
        };
        let mut told = all(self.data.remove(path), change, path);
        if change == Change::Deleted {
            let mut of_children = self.children.remove(path).unwrap_or_default();
            told.iter().for_each(|(connection, ..)| _ = of_children.remove(connection));
            told.extend(all(Some(of_children), change, path));
        }
        if matches!(change, Change::Created | Change::Deleted) {
            let parent = super::paths::parent(path).filter(|parent| !parent.is_empty()).unwrap_or("/");
            told.extend(all(self.children.remove(parent), Change::Children, parent));
        }
        told
    }

    /// A connection has ended.
    pub(super) fn forget(&mut self, connection: u64) {
        for by_path in [&mut self.data, &mut self.children] {
            by_path.retain(|_, connections| {
                connections.remove(&connection);
                !connections.is_empty()
            });
        }
    }
}
