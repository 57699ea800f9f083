//! The tests that docs/faq.md names exist.

use std::collections::BTreeSet;
use std::path::Path;
use std::{fs, io};

const PAGE: &str = include_str!("../../../../docs/faq.md");

/// The paragraphs that begin with `Tests:`, one for each answer.
fn proofs() -> impl Iterator<Item = &'static str> {
    PAGE.split("\n\n").filter_map(|paragraph| paragraph.strip_prefix("Tests: "))
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
fn every_answer_names_tests_that_exist() {
    let questions = PAGE.lines().filter(|line| line.starts_with("### ")).count();
    assert_eq!(proofs().count(), questions, "each answer ends with its tests");
    let mut known = BTreeSet::new();
    functions(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), &mut known)
        .expect("the sources can be read");
    let named = proofs().flat_map(|proof| proof.split('`').skip(1).step_by(2));
    let missing: Vec<_> = named.filter(|name| !known.contains(*name)).collect();
    assert!(missing.is_empty(), "docs/faq.md names tests that do not exist: {missing:?}");
}
