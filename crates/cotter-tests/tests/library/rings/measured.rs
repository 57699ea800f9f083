//! Who compares an elapsed time: nobody but the stopwatch of the test kit, which knows how busy the machine was.

use super::source::{PACKAGES, files};
use std::fs;
use std::path::Path;

/// Files with an elapsed time of their own: the stopwatch, and what runs in virtual time.
const OTHERS: &[&str] = &["cotter-testkit/src/timing/", "cotter-testkit/src/simulation/"];
/// What a comparison looks like, as it is formatted.
const OPERATORS: [&str; 6] = [" < ", " > ", " <= ", " >= ", ".contains(&", "assert_eq!("];

/// The lines that compare an elapsed time, or a variable that is one. To do something for so long is no assertion.
fn comparisons(text: &str) -> Vec<&str> {
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    let lines: Vec<&str> = text.lines().filter(is_code).collect();
    let named = lines.iter().filter(|line| line.ends_with(".elapsed();")).filter_map(|line| {
        let name = line.trim().strip_prefix("let ")?.split_once(" = ")?.0;
        name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_').then_some(name)
    });
    let named: Vec<_> = named.collect();
    let is_elapsed = |line: &str| {
        let of_name = |name: &&str| {
            line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|word| word == *name)
        };
        line.contains(".elapsed()") || named.iter().any(of_name)
    };
    let compares = |line: &str| OPERATORS.iter().any(|operator| line.contains(operator));
    let does_something = |line: &str| line.trim_start().starts_with("while ");
    lines.into_iter().filter(|line| is_elapsed(line) && compares(line) && !does_something(line)).collect()
}

/// What tests a package: its `tests`, the tests inside of its sources, and what runs in the tests of others.
fn tests_in(path: &str, text: &str) -> String {
    let is_all_test = ["/tests/", "/tests.rs", "/conformance/"].iter().any(|part| path.contains(part))
        || (path.starts_with("cotter-testkit/src/") && !path.contains("/bin/"));
    let inside = || text.split_once("#[cfg(test)]\nmod tests {").map_or("", |(_, tests)| tests);
    if is_all_test { text.to_owned() } else { inside().to_owned() }
}

#[test]
fn only_the_stopwatch_compares_an_elapsed_time() {
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for package in PACKAGES {
        let (root, mut found) = (package.root(), Vec::new());
        files(&root, &mut found);
        let tests = root.parent().unwrap().join("tests");
        if tests.is_dir() {
            files(&tests, &mut found);
        }
        let crates = root.ancestors().nth(2).unwrap();
        for path in found {
            let name = path.strip_prefix(crates).unwrap().to_str().unwrap().to_owned();
            if OTHERS.iter().any(|other| name.starts_with(other)) || is_this(&name) {
                continue;
            }
            let text = tests_in(&name, &fs::read_to_string(&path).unwrap());
            seen += usize::from(!text.is_empty());
            wrong.extend(comparisons(&text).into_iter().map(|line| format!("{name}: {}", line.trim())));
        }
    }
    assert!(seen > 500, "only {seen} files were looked at");
    assert!(wrong.is_empty(), "use cotter_testkit::timing instead: {wrong:#?}");
}

/// It has comparisons to look for.
fn is_this(name: &str) -> bool {
    Path::new(name).ends_with(Path::new(file!()).file_name().unwrap())
}

#[test]
fn every_kind_of_comparison_is_seen() {
    let text = "    let took = start.elapsed();\n    demand(\n        took < LIMIT,\n    );\n\
        // start.elapsed() < COMMENT\n    assert!(began.elapsed().as_secs() >= 3);\n    while start.elapsed() < ROUND {}\n\
        waits.push(start.elapsed());\n    assert!((LEAST..MOST).contains(&took));\n    assert!(other < LIMIT);\n";
    let found: Vec<_> = comparisons(text).into_iter().map(str::trim).collect();
    let all = [
        "took < LIMIT,",
        "assert!(began.elapsed().as_secs() >= 3);",
        "assert!((LEAST..MOST).contains(&took));",
    ];
    assert_eq!(found, all);
    assert_eq!(
        tests_in("cotter/src/a.rs", "code\n#[cfg(test)]\nmod tests {\n    tests\n}"),
        "\n    tests\n}"
    );
    assert_eq!(tests_in("cotter/src/a.rs", "code"), "");
}
