//! Bugs that are planted together, so that one build serves several.
//!
//! What one bug breaks must not show in the test of another: it would be missed, and tried once more by itself, or found where
//! it is not. So those of a batch change different files, are to be found by different tests of one program, each by a kind of
//! its own, and at most one of them is in code that all stores share.

use super::bug::Bug;
use std::collections::BTreeSet;

/// The larger a batch, the more of its bugs hide each other.
pub(crate) const SIZE: usize = 4;

/// What of a bug decides with which others it is planted.
pub(crate) struct Planted<'a> {
    pub(crate) bug: &'a Bug,
    files: BTreeSet<String>,
}

impl<'a> Planted<'a> {
    pub(crate) fn new(bug: &'a Bug, patch: &str) -> Self {
        let files = patch.lines().filter_map(|line| line.strip_prefix("+++ b/"));
        Self { bug, files: files.map(String::from).collect() }
    }

    fn is_apart(&self, other: &Self) -> bool {
        let ((program, test), (others, another)) = (self.bug.program(), other.bug.program());
        program == others
            && test != another
            && self.bug.kinds().is_disjoint(&other.bug.kinds())
            && self.files.is_disjoint(&other.files)
            && !(self.is_shared() && other.is_shared())
    }

    /// Whether it is in what every lock goes through.
    fn is_shared(&self) -> bool {
        let library = self.files.iter().filter_map(|file| file.strip_prefix("crates/cotter/src/"));
        library.into_iter().any(|file| match file.strip_prefix("stores/") {
            Some(store) => store.starts_with("shared/"),
            None => true,
        })
    }
}

/// Each bug is in one of them, at most `size` in each.
pub(crate) fn batches(bugs: Vec<Planted<'_>>, size: usize) -> Vec<Vec<&Bug>> {
    let mut batches: Vec<Vec<Planted<'_>>> = Vec::new();
    for bug in bugs {
        let fits = |batch: &&mut Vec<Planted<'_>>| {
            batch.len() < size && batch.iter().all(|other| bug.is_apart(other))
        };
        match batches.iter_mut().find(fits) {
            Some(batch) => batch.push(bug),
            None => batches.push(vec![bug]),
        }
    }
    batches.into_iter().map(|batch| batch.into_iter().map(|planted| planted.bug).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::{Planted, SIZE, batches};
    use crate::bug::Bug;

    /// The names of each batch, of bugs that are given as name, test, kind and files.
    fn grouped(bugs: &[(&str, &str, &str, &[&str])]) -> Vec<String> {
        let list: Vec<(Bug, String)> = bugs
            .iter()
            .map(|(name, test, kind, files)| {
                let bug = Bug::for_tests(name, test, kind);
                (bug, files.iter().map(|file| format!("--- a/{file}\n+++ b/{file}\n@@\n")).collect())
            })
            .collect();
        let planted = list.iter().map(|(bug, patch)| Planted::new(bug, patch)).collect();
        let names = |batch: Vec<&Bug>| batch.iter().map(|bug| bug.name.as_str()).collect::<String>();
        batches(planted, SIZE).into_iter().map(names).collect()
    }

    const ETCD: &str = "crates/cotter/src/stores/etcd/look.rs";
    const REDIS: &str = "crates/cotter/src/stores/redis/live.rs";

    #[test]
    fn what_has_nothing_in_common_is_planted_together() {
        let apart = grouped(&[("a", "--lib a", "overlap", &[ETCD]), ("b", "--lib b", "untrue", &[REDIS])]);
        assert_eq!(apart, ["ab"]);
    }

    #[test]
    fn what_could_be_taken_for_each_other_is_not() {
        let first = ("a", "--lib a", "overlap", &[ETCD][..]);
        for second in [
            ("b", "--lib b", "untrue", &[REDIS, ETCD][..]),
            ("b", "--lib b", "overlap", &[REDIS][..]),
            ("b", "--lib a", "untrue", &[REDIS][..]),
            ("b", "--test library b", "untrue", &[REDIS][..]),
        ] {
            assert_eq!(grouped(&[first, second]), ["a", "b"], "{second:?}");
        }
    }

    #[test]
    fn of_what_all_stores_share_only_one_patch_is_in_a_batch() {
        let (engine, line) = ("crates/cotter/src/engine/hold.rs", "crates/cotter/src/stores/shared/line.rs");
        let mixed = grouped(&[
            ("a", "--lib a", "overlap", &[engine]),
            ("b", "--lib b", "untrue", &[line]),
            ("c", "--lib c", "left-behind", &[ETCD]),
            ("d", "--lib d", "refused", &["crates/cotter-cli/src/list.rs"]),
        ]);
        assert_eq!(mixed, ["acd", "b"]);
    }

    #[test]
    fn a_batch_has_an_end() {
        let names: Vec<String> = (0..=SIZE).map(|number| number.to_string()).collect();
        let tests: Vec<String> = names.iter().map(|name| format!("--lib {name}")).collect();
        let files: Vec<[&str; 1]> = names.iter().map(|name| [name.as_str()]).collect();
        let bugs: Vec<_> = (0..=SIZE).map(|n| (&*names[n], &*tests[n], &*names[n], &files[n][..])).collect();
        assert_eq!(grouped(&bugs).len(), 2);
    }
}
