//! Which bugs can be planted together, so that one build serves all of them.

use super::bug::Bug;
use super::{FOLDER, Result};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Bugs in different files, each with a violation of its own: one that another has caused is not taken for it.
#[derive(Default)]
pub(crate) struct Group<'a> {
    pub(crate) bugs: Vec<&'a Bug>,
    files: BTreeSet<String>,
}

/// All of them, as many as possible in each group, up to this number.
pub(crate) fn groups<'a>(root: &Path, bugs: &[&'a Bug], together: usize) -> Result<Vec<Group<'a>>> {
    let mut groups = Vec::<Group<'a>>::new();
    for bug in bugs {
        let files = files(&fs::read_to_string(root.join(FOLDER).join(format!("{}.patch", bug.patch())))?);
        match groups.iter_mut().find(|group| group.bugs.len() < together && group.has_room_for(bug, &files)) {
            Some(group) => group.add(bug, files),
            None => groups.push(Group { bugs: vec![bug], files }),
        }
    }
    Ok(groups)
}

impl<'a> Group<'a> {
    fn has_room_for(&self, bug: &Bug, files: &BTreeSet<String>) -> bool {
        self.files.is_disjoint(files) && self.bugs.iter().all(|other| other.violation != bug.violation)
    }

    fn add(&mut self, bug: &'a Bug, files: BTreeSet<String>) {
        self.bugs.push(bug);
        self.files.extend(files);
    }
}

/// The files that a patch changes.
fn files(patch: &str) -> BTreeSet<String> {
    patch.lines().filter_map(|line| line.strip_prefix("+++ ")).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::{Bug, Group, files};

    fn bug(violation: &str) -> Bug {
        let line = format!("name = 'a'\nbroken = 'b'\ntest = '--lib c'\nviolation = '{violation}'");
        toml::from_str(&line).expect("it is right")
    }

    #[test]
    fn bugs_are_in_one_build_if_neither_file_nor_violation_is_shared() {
        let of = |file: &str| files(&format!("--- a/{file}\n+++ b/{file}\n@@ -1 +1 @@\n-x\n+y\n"));
        let [overlap, late, same] = [bug("overlap"), bug("too-slow"), bug("overlap")];
        let mut group = Group::default();
        group.add(&overlap, of("one.rs"));
        assert!(group.has_room_for(&late, &of("two.rs")));
        assert!(!group.has_room_for(&late, &of("one.rs")), "the same file");
        assert!(!group.has_room_for(&same, &of("two.rs")), "the same violation");
    }
}
