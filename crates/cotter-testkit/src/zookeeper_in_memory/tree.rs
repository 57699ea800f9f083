//! Nodes, and how they change.

use super::jute::Writer;
use super::paths::{is_special, is_valid, parent};
use std::collections::{BTreeMap, BTreeSet};

/// The code of an error.
pub(super) type Code = i32;

const BAD_ARGUMENTS: Code = -8;
pub(super) const NO_NODE: Code = -101;
const BAD_VERSION: Code = -103;
const NO_CHILDREN_FOR_EPHEMERALS: Code = -108;
const NODE_EXISTS: Code = -110;
const NOT_EMPTY: Code = -111;

/// What containers have in the place of a session.
const CONTAINER: i64 = i64::MIN;

/// All nodes, by their paths. The root is also there with an empty one.
#[derive(Debug, Clone)]
pub(super) struct Tree(BTreeMap<String, Node>);

#[derive(Debug, Clone, Default)]
pub(super) struct Node {
    pub(super) data: Vec<u8>,
    pub(super) children: BTreeSet<String>,
    created: i64,
    modified: i64,
    created_at: i64,
    modified_at: i64,
    version: i32,
    /// How many children were created.
    births: i32,
    /// The session that it is deleted with, 0, or [`CONTAINER`].
    owner: i64,
    /// When a child was created or deleted.
    family: i64,
}

/// The transaction that changes something.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transaction {
    pub(super) zxid: i64,
    /// Milliseconds since 1970.
    pub(super) at: i64,
    pub(super) session: i64,
}

/// The node that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) is_ephemeral: bool,
    pub(super) is_sequential: bool,
    pub(super) is_container: bool,
}

impl Default for Tree {
    fn default() -> Self {
        let mut tree = Self(BTreeMap::new());
        let mut add = |path: &str, children: &[&str]| {
            let children = children.iter().map(|&child| child.to_owned()).collect();
            tree.0.insert(path.to_owned(), Node { children, ..Node::default() });
        };
        add("", &["zookeeper"]);
        add("/zookeeper", &["config", "quota"]);
        add("/zookeeper/config", &[]);
        add("/zookeeper/quota", &[]);
        tree
    }
}

impl Tree {
    pub(super) fn get(&self, path: &str) -> Result<&Node, Code> {
        self.0.get(if path == "/" { "" } else { path }).ok_or(NO_NODE)
    }

    fn get_mut(&mut self, path: &str) -> Result<&mut Node, Code> {
        self.0.get_mut(if path == "/" { "" } else { path }).ok_or(NO_NODE)
    }

    /// Returns the path with the number that a sequential node gets.
    pub(super) fn create(
        &mut self,
        path: &str,
        data: &[u8],
        kind: Kind,
        by: Transaction,
    ) -> Result<String, Code> {
        let above = parent(path).filter(|_| !path.contains('\0')).ok_or(BAD_ARGUMENTS)?;
        let folder = self.get(above)?;
        let path = match kind.is_sequential {
            true => format!("{path}{:010}", folder.births),
            false => path.to_owned(),
        };
        if !is_valid(&path) {
            return Err(BAD_ARGUMENTS);
        }
        if self.get(&path).is_ok() {
            return Err(NODE_EXISTS);
        }
        if !matches!(folder.owner, 0 | CONTAINER) {
            return Err(NO_CHILDREN_FOR_EPHEMERALS);
        }
        let owner = match kind {
            Kind { is_container: true, .. } => CONTAINER,
            Kind { is_ephemeral: true, .. } => by.session,
            _ => 0,
        };
        let folder = self.get_mut(above)?;
        folder.births += 1;
        folder.family = by.zxid;
        folder.children.insert(path[above.len() + 1..].to_owned());
        let node = Node {
            data: data.to_vec(),
            created: by.zxid,
            modified: by.zxid,
            family: by.zxid,
            created_at: by.at,
            modified_at: by.at,
            owner,
            ..Node::default()
        };
        self.0.insert(path.clone(), node);
        Ok(path)
    }

    pub(super) fn delete(&mut self, path: &str, version: i32, by: Transaction) -> Result<(), Code> {
        let above =
            parent(path).filter(|_| !is_special(path) && !path.contains('\0')).ok_or(BAD_ARGUMENTS)?;
        self.get(above)?;
        let node = self.get(path)?;
        node.check(version)?;
        if !node.children.is_empty() {
            return Err(NOT_EMPTY);
        }
        self.0.remove(path);
        let folder = self.get_mut(above)?;
        folder.children.remove(&path[above.len() + 1..]);
        folder.family = by.zxid;
        Ok(())
    }

    pub(super) fn set(
        &mut self,
        path: &str,
        data: &[u8],
        version: i32,
        by: Transaction,
    ) -> Result<&Node, Code> {
        self.check(path, version)?;
        let node = self.get_mut(path)?;
        data.clone_into(&mut node.data);
        (node.version, node.modified, node.modified_at) = (node.version + 1, by.zxid, by.at);
        Ok(node)
    }

    pub(super) fn check(&self, path: &str, version: i32) -> Result<(), Code> {
        if !is_valid(path) {
            return Err(BAD_ARGUMENTS);
        }
        self.get(path)?.check(version)
    }

    /// The nodes that end with a session.
    pub(super) fn of(&self, session: i64) -> Vec<String> {
        let own = self.0.iter().filter(|(_, node)| node.owner == session);
        own.map(|(path, _)| path.clone()).collect()
    }

    /// The containers that have had children and have none any more.
    pub(super) fn deserted(&self) -> Vec<String> {
        let is_deserted =
            |node: &Node| node.owner == CONTAINER && node.births > 0 && node.children.is_empty();
        self.0.iter().filter(|(_, node)| is_deserted(node)).map(|(path, _)| path.clone()).collect()
    }
}

impl Node {
    fn check(&self, version: i32) -> Result<(), Code> {
        if version == -1 || version == self.version { Ok(()) } else { Err(BAD_VERSION) }
    }

    /// What is known of it.
    pub(super) fn stat(&self, to: Writer) -> Writer {
        let (length, children) = (self.data.len() as i32, self.children.len() as i32);
        to.long(self.created)
            .long(self.modified)
            .long(self.created_at)
            .long(self.modified_at)
            .int(self.version)
            // Deletions count too: as many as there were more births than there are children.
            .int(self.births * 2 - children)
            .int(0)
            // That it is a container is not shown.
            .long(if self.owner == CONTAINER { 0 } else { self.owner })
            .int(length)
            .int(children)
            .long(self.family)
    }
}
