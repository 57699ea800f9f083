//! Which bugs are built together.

use super::bug::Bug;
use super::selection::Selection;
use super::{FOLDER, Result};
use std::fs;
use std::path::Path;

/// Bugs in one build, each of which has its own test.
pub(crate) struct Group<'a> {
    pub(crate) selection: Selection,
    pub(crate) bugs: Vec<&'a Bug>,
    areas: Vec<Option<String>>,
}

/// The stores that share code of their own.
const SHARED: [(&str, &str); 1] = [("quorum", "redis")];

impl<'a> Group<'a> {
    /// One bug, in the smallest build.
    pub(crate) fn alone(bug: &'a Bug) -> Self {
        Self { selection: Selection::of(bug), bugs: vec![bug], areas: vec![None] }
    }

    /// One bug, in the build that all can share.
    pub(crate) fn in_workspace(bug: &'a Bug) -> Self {
        Self { selection: Selection::workspace(), ..Self::alone(bug) }
    }
}

/// Bugs of different stores in each group, and every other bug by itself, all in the build that they can share. The tests of one
/// store do not come near the code of another.
pub(crate) fn by_store<'a>(root: &Path, bugs: &[&'a Bug]) -> Result<Vec<Group<'a>>> {
    let mut groups = Vec::<Group<'a>>::new();
    for &bug in bugs {
        let area = area(&fs::read_to_string(root.join(FOLDER).join(format!("{}.patch", bug.patch())))?);
        match groups.iter_mut().find(|group| area.is_some() && is_apart(&area, &group.areas)) {
            Some(group) => {
                group.bugs.push(bug);
                group.areas.push(area);
            }
            None => groups.push(Group { areas: vec![area], ..Group::in_workspace(bug) }),
        }
    }
    Ok(groups)
}

fn is_apart(area: &Option<String>, others: &[Option<String>]) -> bool {
    others.iter().all(|other| other.is_some() && other != area)
}

/// The store whose folder has all that a patch changes. What `memory:` and `file:` have, the tests of commands and jobs need as well.
fn area(patch: &str) -> Option<String> {
    let files = patch.lines().filter_map(|line| line.strip_prefix("+++ "));
    let stores = files.map(|file| {
        let store = file.split_once("crates/cotter/src/stores/")?.1.split_once('/')?.0;
        let shared = SHARED.iter().find(|(one, _)| *one == store);
        let store = shared.map_or(store, |(_, other)| *other);
        (!["shared", "memory", "file"].contains(&store)).then(|| store.to_owned())
    });
    let mut stores = stores.collect::<Option<Vec<_>>>()?;
    stores.dedup();
    if stores.len() == 1 { stores.pop() } else { None }
}

#[cfg(test)]
mod tests {
    use super::{area, is_apart};

    #[test]
    fn bugs_of_different_stores_are_built_together() {
        let of = |files: &[&str]| {
            let patch: String = files.iter().map(|file| format!("--- a/{file}\n+++ b/{file}\n")).collect();
            area(&patch)
        };
        let [etcd, redis, quorum] = ["etcd/line.rs", "redis/lua/a.lua", "quorum/votes.rs"]
            .map(|file| of(&[&format!("crates/cotter/src/stores/{file}")]));
        assert_eq!(etcd.as_deref(), Some("etcd"));
        assert!(is_apart(&etcd, std::slice::from_ref(&redis)));
        assert!(!is_apart(&quorum, &[etcd.clone(), redis]), "a quorum is one of Redis servers");
        for shared in ["crates/cotter/src/engine/mod.rs", "crates/cotter/src/stores/shared/net/link.rs"] {
            assert_eq!(of(&[shared]), None);
            assert_eq!(of(&["crates/cotter/src/stores/etcd/line.rs", shared]), None);
            assert!(!is_apart(&etcd, &[of(&[shared])]), "it may break any test");
        }
        assert_eq!(of(&["crates/cotter/src/stores/file/mod.rs"]), None, "jobs run on it in many tests");
    }
}
