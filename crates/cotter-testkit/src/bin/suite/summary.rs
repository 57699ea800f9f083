//! The last lines, and the file of unsteady tests.

use super::libtest::Results;
use super::programs::Program;
use super::verdict::Verdict;
use super::{Result, say};
use std::fmt;
use std::fs;
use std::io::Write;
use std::path::Path;

/// A test that failed, or a program that crashed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) test: String,
    /// What one types to run it alone.
    pub(crate) command: String,
    /// What it printed when it failed first.
    pub(crate) text: String,
    pub(crate) verdict: Verdict,
}

impl Failure {
    /// A program that gave no results: nothing is known about its tests.
    pub(crate) fn of_program(program: &Program, text: String) -> Self {
        let test = format!("(all of {})", program.name);
        Self { test, command: program.command(""), text, verdict: Verdict::NotRepeated }
    }

    /// The line that tells most.
    fn first_line(&self) -> &str {
        let lines = || self.text.lines().map(str::trim).filter(|line| !line.is_empty());
        let violation = lines().find(|line| line.contains("violation["));
        let said = || lines().skip_while(|line| !line.contains("panicked at")).nth(1);
        violation.or_else(said).or_else(|| lines().next()).unwrap_or("it printed nothing")
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.verdict.is_red() { "FAILED" } else { "unsteady" };
        writeln!(f, "{word}: {}, first failure: {}", self.test, self.first_line())?;
        write!(f, "  {}; alone: {}", self.verdict, self.command)
    }
}

/// What all programs have reported.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    passed: usize,
    ignored: usize,
    failures: Vec<Failure>,
}

impl Summary {
    pub(crate) fn take(&mut self, (results, failures): (Results, Vec<Failure>)) {
        let unsteady = failures.iter().filter(|failure| !failure.verdict.is_red()).count();
        self.passed += results.passed + unsteady;
        self.ignored += results.ignored;
        self.failures.extend(failures);
    }

    pub(crate) fn is_green(&self) -> bool {
        self.passed > 0 && !self.failures.iter().any(|failure| failure.verdict.is_red())
    }

    /// Writes the summary, and adds to `unsteady.txt` what unsteady tests printed when they failed.
    pub(crate) fn write(&self, folder: &Path, name: &str) -> Result<()> {
        let mut unsteady =
            fs::OpenOptions::new().create(true).append(true).open(folder.join("unsteady.txt"))?;
        for failure in self.failures.iter().filter(|failure| !failure.verdict.is_red()) {
            writeln!(unsteady, "{failure}\n{}", failure.text)?;
        }
        say(&self.to_string());
        Ok(fs::write(folder.join(name).with_extension("txt"), format!("{self}\n"))?)
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (red, unsteady): (Vec<_>, Vec<_>) =
            self.failures.iter().partition(|failure| failure.verdict.is_red());
        for failure in unsteady.iter().chain(&red) {
            writeln!(f, "{failure}")?;
        }
        write!(f, "{} passed, {} failed, {} skipped", self.passed, red.len(), self.ignored)
    }
}

#[cfg(test)]
mod tests {
    use super::{Failure, Summary};
    use crate::libtest::Results;
    use crate::verdict::Verdict;

    fn failure(verdict: Verdict) -> Failure {
        let text = "thread 'a' panicked at src/a.rs:1:1:\nviolation[late-loss]: 3 s\nnote: run with\n";
        Failure { test: "a".into(), command: "cargo test a".into(), text: text.into(), verdict }
    }

    fn summary(verdicts: &[Verdict]) -> Summary {
        let mut summary = Summary::default();
        let results = Results { passed: 2, ..Results::default() };
        summary.take((results, verdicts.iter().map(|verdict| failure(*verdict)).collect()));
        summary
    }

    #[test]
    fn unsteady_tests_are_listed_and_do_not_fail_the_run() {
        let unsteady = summary(&[Verdict::Unsteady]);
        assert!(unsteady.is_green());
        let text = unsteady.to_string();
        assert!(text.contains("unsteady: a, first failure: violation[late-loss]: 3 s"), "{text}");
        assert!(text.ends_with("3 passed, 0 failed, 0 skipped"), "{text}");
    }

    #[test]
    fn one_red_test_fails_the_run() {
        let red = summary(&[Verdict::Unsteady, Verdict::Repeated { failures: 1 }]);
        assert!(!red.is_green());
        assert!(red.to_string().ends_with("3 passed, 1 failed, 0 skipped"), "{red}");
        assert!(!Summary::default().is_green(), "no test at all is no success");
    }
}
