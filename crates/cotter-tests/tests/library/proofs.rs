//! The table of docs/evidence.md: promises have tests, these exist, and its links lead somewhere.

use crate::links::{headings, pages, root};
use crate::shown;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::{fs, io};

const EVIDENCE: &str = include_str!("../../../../docs/evidence.md");

/// A row of the table: the page of the promise and the heading there, and the tests.
struct Proof {
    page: &'static str,
    heading: &'static str,
    tests: Vec<&'static str>,
}

fn proofs() -> Vec<Proof> {
    let table = EVIDENCE.split("\n\n").find(|part| part.starts_with("| promise |")).expect("the table");
    let proof = |row: &'static str| {
        let (promise, tests) = row.trim_matches(['|', ' ']).rsplit_once(" | ").expect("two cells");
        let link = promise.split("](").nth(1).and_then(|rest| rest.split(')').next());
        let (page, heading) = link.and_then(|link| link.split_once('#')).expect("a link to a heading");
        Proof { page, heading, tests: tests.split('`').skip(1).step_by(2).collect() }
    };
    table.lines().skip(2).map(proof).collect()
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

/// A question without a test is an opinion, and a store's page without one is an advertisement.
#[test]
fn every_answer_and_every_store_has_a_test() {
    let mut proved = BTreeMap::<_, BTreeSet<_>>::new();
    for proof in proofs() {
        proved.entry(proof.page).or_default().insert(proof.heading.to_owned());
    }
    assert_eq!(
        proved.get("faq.md"),
        Some(&headings(&root().join("docs/faq.md"), "### ")),
        "the questions of docs/faq.md"
    );
    let stores = fs::read_dir(root().join("docs/stores")).expect("a folder");
    for page in stores.map(|entry| format!("stores/{}", entry.expect("an entry").file_name().display())) {
        let promises = proved.get(page.as_str()).is_some_and(|of| of.contains("what-it-promises"));
        assert!(promises, "docs/evidence.md has no tests of docs/{page}");
    }
}

#[test]
fn the_promises_and_the_tests_that_are_named_exist() {
    let mut known = BTreeSet::new();
    functions(&root().join("crates"), &mut known).expect("the sources can be read");
    for Proof { page, heading, tests } in proofs() {
        assert!(
            headings(&root().join("docs").join(page), "#").contains(heading),
            "docs/evidence.md: docs/{page} has no heading {heading}"
        );
        let missing: Vec<_> = tests.iter().filter(|name| !known.contains(**name)).collect();
        assert!(
            !tests.is_empty() && missing.is_empty(),
            "docs/evidence.md, {page}#{heading}: no tests {missing:?}"
        );
    }
}

/// What is compiled is named where the scheduler sees both libraries, or is a part of a program.
#[test]
fn the_rust_of_every_page_is_compiled() {
    let compiled = fs::read_to_string(root().join("crates/cotter-scheduler/src/lib.rs")).expect("a file");
    for page in pages() {
        let text = fs::read_to_string(&page).expect("a page");
        let path = page.strip_prefix(root()).expect("a page of this repository").display().to_string();
        let is_compiled = compiled.contains(&format!("/{path}\")]")) || shown::PAGES.contains(&&*path);
        assert!(!text.contains("```rust") || is_compiled, "{path}");
    }
}
