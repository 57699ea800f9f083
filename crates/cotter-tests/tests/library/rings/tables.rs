//! The tables of files in the heads of folders.

use super::source::{PACKAGES, files};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The names of files in the first column of the table in a module's head.
fn table(text: &str) -> BTreeSet<String> {
    let rows = text.lines().filter_map(|l| l.trim_start_matches(['/', '!', ' ']).strip_prefix("| `"));
    rows.filter_map(|row| row.split('|').next())
        .flat_map(|cell| cell.split('`').filter(|w| !w.trim().is_empty() && !w.contains(',')))
        .map(|w| w.trim_end_matches('/').to_owned())
        .filter(|w| !w.contains(['=', '.', ':']))
        .collect()
}

/// The files and folders beside the head of a folder.
fn beside(head: &Path) -> BTreeSet<String> {
    let stem = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    let folder = head.parent().unwrap();
    let mut there: BTreeSet<String> =
        fs::read_dir(folder).unwrap().map(|entry| stem(&entry.unwrap().path())).collect();
    there.remove(&stem(head));
    // The tests of a folder are not part of what it offers.
    there.retain(|name| !name.ends_with("tests"));
    there
}

/// A fault of the table in the head of a folder. Without a table, at most three files may be there.
fn fault(head: &Path) -> Option<String> {
    let (text, there) = (fs::read_to_string(head).unwrap(), beside(head));
    if !text.contains("| file |") && !text.contains("| module |") {
        // The twins have the table of the folder that they are in.
        let is_twin = ["linux", "portable"].iter().any(|twin| head.parent().unwrap().ends_with(twin));
        return (there.len() > 3 && !is_twin).then(|| format!("{} has no table", head.display()));
    }
    let listed = table(&text);
    let missing: Vec<_> = there.difference(&listed).collect();
    (!missing.is_empty()).then(|| format!("{} does not list {missing:?}", head.display()))
}

#[test]
fn the_table_of_every_folder_is_true() {
    let mut wrong = Vec::new();
    for package in PACKAGES {
        let mut heads = Vec::new();
        files(&package.root(), &mut heads);
        let is_head = |path: &&std::path::PathBuf| {
            // The head of a library describes what it offers to users.
            path.file_name().is_some_and(|name| name == "mod.rs" || name == "main.rs")
        };
        let heads: Vec<_> = heads.iter().filter(is_head).collect();
        assert!(heads.len() >= package.folders, "{}: only {} folders were found", package.name, heads.len());
        wrong.extend(heads.into_iter().filter_map(|head| fault(head)));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
