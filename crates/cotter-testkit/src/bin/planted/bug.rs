//! The bugs of the list, and what counts as found.

use serde::Deserialize;
use std::collections::BTreeSet;
use std::process::Output;

#[derive(Deserialize)]
pub(crate) struct List {
    pub(crate) bug: Vec<Bug>,
}

#[derive(Deserialize)]
pub(crate) struct Bug {
    pub(crate) name: String,
    patch: Option<String>,
    pub(crate) broken: String,
    pub(crate) test: String,
    pub(crate) violation: String,
}

/// Of the output of a test that did not find its bug.
const LAST_LINES: usize = 30;

/// `Err` says how a bug escaped.
pub(crate) type Verdict = Result<(), String>;

impl Bug {
    #[cfg(test)]
    pub(crate) fn for_tests(name: &str, test: &str, violation: &str) -> Self {
        let [name, test, violation] = [name, test, violation].map(String::from);
        Self { name, patch: None, broken: String::new(), test, violation }
    }

    /// The name of the patch: several tests may have to find the same bug.
    pub(crate) fn patch(&self) -> &str {
        self.patch.as_deref().unwrap_or(&self.name)
    }

    /// The arguments of `cargo test` that choose the test program, and the name of the test.
    pub(crate) fn program(&self) -> (Vec<&str>, &str) {
        let mut words: Vec<&str> = self.test.split(' ').collect();
        let test = words.pop().unwrap_or_default();
        (words, test)
    }

    pub(crate) fn judge(&self, output: &Output) -> Verdict {
        let text =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        if !text.contains("running 1 test") {
            return Err(with_output("there is no such test, or more than one", &text));
        }
        if output.status.success() {
            return Err(with_output("it survives", &text));
        }
        let found = kinds(&text);
        if found.is_empty() || !found.is_subset(&self.kinds()) {
            return Err(with_output(&format!("it was caught by {found:?}"), &text));
        }
        Ok(())
    }

    /// The kinds that are its own. A simulation looks for all of them, and which it meets first may change with any other commit.
    pub(crate) fn kinds(&self) -> BTreeSet<&str> {
        self.violation.split(" or ").collect()
    }
}

/// How it escaped, and the last lines of what the test printed: nobody should have to run it again for them.
pub(crate) fn with_output(how: &str, text: &str) -> String {
    let lines: Vec<_> = text.lines().collect();
    let last = lines[lines.len().saturating_sub(LAST_LINES)..].join("\n       ");
    format!("{how}\n       {last}")
}

fn kinds(text: &str) -> BTreeSet<&str> {
    let found = text.split("violation[").skip(1).filter_map(|rest| rest.split_once(']'));
    found.map(|(kind, _)| kind).collect()
}

#[cfg(test)]
mod tests {
    use super::{Bug, Output};
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    /// Whether a bug of these kinds is found by a test that fails and prints this.
    fn is_found(kinds: &str, said: &str) -> bool {
        let stdout = format!("running 1 test\n{said}").into_bytes();
        let output = Output { status: ExitStatus::from_raw(256), stdout, stderr: Vec::new() };
        Bug::for_tests("a", "--lib a", kinds).judge(&output).is_ok()
    }

    #[test]
    fn it_is_found_by_its_own_kind_and_by_no_other() {
        assert!(is_found("overlap", "violation[overlap]: two of them"));
        assert!(!is_found("overlap", "violation[untrue]: no"));
        assert!(!is_found("overlap", "violation[overlap]: two\nviolation[untrue]: no"));
        assert!(!is_found("overlap", "connection refused"));
    }

    #[test]
    fn where_several_are_its_own_each_of_them_is_enough() {
        let either = "overlap or permits-over-limit";
        assert!(is_found(either, "violation[permits-over-limit]: 4 of 3"));
        assert!(is_found(either, "violation[overlap]: two of them"));
        assert!(!is_found(either, "violation[untrue]: no"));
    }
}
