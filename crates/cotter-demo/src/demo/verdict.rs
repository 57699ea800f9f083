//! The result of an audit and its output.

use cotter_console::{Console, Failure, clean};
use serde_json::{Value, json};
use std::io::Write;

/// A violation found by an audit.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Finding {
    /// For programs.
    pub(super) kind: &'static str,
    /// For people.
    pub(super) text: String,
}

/// The result of an audit: its counts and findings.
#[derive(Debug)]
pub(super) struct Verdict {
    /// For people: the counts if there are no findings, and if there are.
    pub(super) good: String,
    pub(super) bad: String,
    /// For programs: an object with the counts.
    pub(super) facts: Value,
    pub(super) findings: Vec<Finding>,
}

impl Verdict {
    pub(super) fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }

    pub(super) fn print(&self, console: &Console) -> Result<(), Failure> {
        let text = if console.json { self.json() } else { self.text() };
        console.out().write_all(text.as_bytes())?;
        Ok(())
    }

    fn json(&self) -> String {
        let findings: Vec<_> =
            self.findings.iter().map(|f| json!({ "kind": f.kind, "message": f.text })).collect();
        let mut all = self.facts.clone();
        all["type"] = "audit".into();
        all["clean"] = self.is_clean().into();
        all["findings"] = findings.into();
        format!("{all}\n")
    }

    pub(super) fn text(&self) -> String {
        if self.is_clean() {
            return format!("audit: clean: {}\n", self.good);
        }
        let findings = self.findings.iter().map(|finding| format!("  {}\n", clean(&finding.text)));
        format!("audit: FAILED: {}\n{}", self.bad, findings.collect::<String>())
    }
}
