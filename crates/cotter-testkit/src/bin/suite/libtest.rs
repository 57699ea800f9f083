//! What a test program prints.

use std::collections::BTreeMap;

/// The results of a program that ran to its end.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Results {
    pub(crate) passed: usize,
    pub(crate) ignored: usize,
    /// The tests that failed, with what they printed.
    pub(crate) failed: BTreeMap<String, String>,
}

/// The name of the test that this line says has failed.
pub(crate) fn failed_test(line: &str) -> Option<&str> {
    let name = line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?;
    Some(name.strip_suffix(" - should panic").unwrap_or(name))
}

/// The name of the test that this line says takes long.
pub(crate) fn slow_test(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?.strip_suffix(" has been running for over 60 seconds")
}

/// `None`: the program did not get as far as its result.
pub(crate) fn results(output: &str) -> Option<Results> {
    let lines: Vec<_> = output.lines().collect();
    let end = lines.iter().rposition(|line| line.starts_with("test result: "))?;
    // The list before it. Lines above that say "FAILED" may come from a test program that a test has started.
    let names = lines[..end].iter().rev().skip_while(|line| line.is_empty());
    let names = names.map_while(|line| line.strip_prefix("    "));
    let mut results = Results {
        passed: count(lines[end], "passed")?,
        ignored: count(lines[end], "ignored")?,
        failed: names.map(|name| (name.to_owned(), String::new())).collect(),
    };
    if results.failed.len() != count(lines[end], "failed")? {
        results.failed =
            lines.iter().filter_map(|line| failed_test(line)).map(|n| (n.into(), String::new())).collect();
    }
    let mut of = None;
    for line in lines {
        if let Some(name) = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----")) {
            of = Some(name.to_owned());
        } else if line == "failures:" {
            of = None;
        } else if let Some(text) = of.as_ref().and_then(|name| results.failed.get_mut(name)) {
            text.push_str(line);
            text.push('\n');
        }
    }
    Some(results)
}

/// The number before this word.
fn count(summary: &str, word: &str) -> Option<usize> {
    let before = summary.split_once(&format!(" {word}"))?.0;
    before.rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{Results, failed_test, results, slow_test};

    const OUTPUT: &str = "
running 4 tests
test a::right ... ok
test a::wrong ... FAILED
test a::other ... FAILED
test a::absent ... ignored, needs a server

failures:

---- a::wrong stdout ----
thread 'a::wrong' panicked at src/a.rs:1:1:
violation[overlap]: two of them
---- a::other stdout ----
late

failures:
    a::other
    a::wrong

test result: FAILED. 1 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.10s
";

    #[test]
    fn what_failed_is_found_with_its_text() {
        let found = results(OUTPUT).expect("it ended");
        assert_eq!((found.passed, found.ignored, found.failed.len()), (1, 1, 2));
        assert!(found.failed["a::wrong"].contains("violation[overlap]"));
        assert_eq!(found.failed["a::other"], "late\n\n");
    }

    #[test]
    fn a_program_that_was_cut_short_has_no_results() {
        let cut = OUTPUT.split("test result").next().expect("the part before it");
        assert_eq!(results(cut), None);
        let green =
            "test result: ok. 7 passed; 0 failed; 0 ignored; 0 measured; 1 filtered out; finished in 0.00s";
        assert_eq!(results(green), Some(Results { passed: 7, ..Results::default() }));
    }

    #[test]
    fn a_program_that_a_test_has_started_is_not_this_one() {
        let inner = "running 1 test\ntest a::inner ... FAILED\n\nfailures:\n    a::inner\n\n\
                     test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 9 filtered out\n";
        let outer = "test a::outer ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";
        let found = results(&[inner, outer].concat()).expect("it ended");
        assert_eq!((found.passed, found.failed.len()), (1, 0));
    }

    #[test]
    fn lines_about_one_test() {
        assert_eq!(failed_test("test a::b - should panic ... FAILED"), Some("a::b"));
        assert_eq!(failed_test("test a::b ... ok"), None);
        assert_eq!(slow_test("test a::b has been running for over 60 seconds"), Some("a::b"));
    }
}
