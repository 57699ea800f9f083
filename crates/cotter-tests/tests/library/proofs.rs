//! The tests that pages name as proofs exist.

use std::collections::BTreeSet;
use std::path::Path;
use std::{fs, io};

const FAQ: &str = include_str!("../../../../docs/faq.md");
const MIGRATING: &str = include_str!("../../../../docs/migrating.md");

/// The paragraphs of a page that begin with `Tests:`.
fn proofs(page: &'static str) -> impl Iterator<Item = &'static str> {
    page.split("\n\n").filter_map(|paragraph| paragraph.strip_prefix("Tests: "))
}

/// The names of all functions below a directory.
fn functions(of: &Path, into: &mut BTreeSet<String>) -> io::Result<()> {
    for entry in fs::read_dir(of)? {
        let path = entry?.path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            functions(&path, into)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path)?;
            let names = text.split("fn ").skip(1).map(|rest| {
                rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default().to_owned()
            });
            into.extend(names);
        }
    }
    Ok(())
}

#[test]
fn every_answer_names_its_tests() {
    let questions = FAQ.lines().filter(|line| line.starts_with("### ")).count();
    assert_eq!(proofs(FAQ).count(), questions, "each answer of docs/faq.md ends with its tests");
}

#[test]
fn the_tests_that_are_named_exist() {
    let mut known = BTreeSet::new();
    functions(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), &mut known)
        .expect("the sources can be read");
    for (page, text) in [("faq.md", FAQ), ("migrating.md", MIGRATING)] {
        let named: Vec<_> = proofs(text).flat_map(|proof| proof.split('`').skip(1).step_by(2)).collect();
        let missing: Vec<_> = named.iter().filter(|name| !known.contains(**name)).collect();
        assert!(!named.is_empty() && missing.is_empty(), "docs/{page} names no such tests: {missing:?}");
    }
}

/// What is compiled is named where the scheduler sees both libraries.
#[test]
fn the_rust_of_every_page_is_compiled() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let compiled = fs::read_to_string(root.join("crates/cotter-scheduler/src/lib.rs")).expect("a file");
    let docs =
        fs::read_dir(root.join("docs")).expect("a folder").map(|entry| entry.expect("an entry").path());
    for page in docs.chain([root.join("README.md")]).filter(|path| path.is_file()) {
        let text = fs::read_to_string(&page).expect("a page");
        let path = page.strip_prefix(&root).expect("a page of this repository").display().to_string();
        assert!(!text.contains("```rust") || compiled.contains(&format!("/{path}\")]")), "{path}");
    }
}
