//! What a test needs is there in every run, unless it is in a module `long_run`.

use super::source::{PACKAGES, files};
use std::fs;

/// The packages that `scripts/servers` installs for long runs only.
fn of_long_runs(script: &str) -> Vec<&str> {
    let block = script
        .split_once(r#"if [ -n "${COTTER_LONG:-}" ]; then"#)
        .and_then(|(_, rest)| rest.split_once("fi\n"));
    let (_, needs) =
        block.and_then(|(block, _)| block.split_once("needs+=(")).expect("packages of long runs");
    let needs = needs.split(')').next().unwrap_or_default();
    needs.split_whitespace().filter_map(|need| Some(need.split_once(':')?.0)).collect()
}

#[test]
fn only_a_long_run_needs_what_it_alone_installs() {
    let (mut wrong, mut in_long_runs) = (Vec::new(), 0);
    let crates = PACKAGES[0].root().ancestors().nth(2).unwrap().to_owned();
    let script = fs::read_to_string(crates.parent().unwrap().join("scripts/servers")).unwrap();
    let packages = of_long_runs(&script);
    assert!(packages.contains(&"pgpool2"), "{packages:?}");
    for package in PACKAGES {
        let mut found = Vec::new();
        let tests = package.root().parent().unwrap().join("tests");
        if tests.is_dir() {
            files(&tests, &mut found);
        }
        for path in found {
            let name = path.strip_prefix(&crates).unwrap().to_str().unwrap();
            let text = fs::read_to_string(&path).unwrap();
            let needs = |line: &&str| {
                line.trim_start().starts_with("#[ignore")
                    && packages.iter().any(|package| line.contains(package))
            };
            let lines: Vec<_> = text.lines().filter(needs).collect();
            if name.contains("/long_run") {
                in_long_runs += lines.len();
            } else {
                wrong.extend(lines.into_iter().map(|line| format!("{name}: {}", line.trim())));
            }
        }
    }
    assert!(in_long_runs > 3, "only {in_long_runs} tests were found");
    assert!(wrong.is_empty(), "these belong to a module `long_run`: {wrong:#?}");
}
