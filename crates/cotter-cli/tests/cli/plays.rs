//! What the tests of `cotter demo` share.

use crate::env::{Output, Running, TestEnv};
use rustix::process::Pid;
use serde_json::Value;
use std::fs;

/// A demonstration on this store, told for programs.
pub(crate) fn play(env: &TestEnv, url: &str, demo: &str, options: &[&str]) -> Output {
    let mut command = env.cotter([&["demo", demo, "--json"], options].concat());
    Running::start(command.env("COTTER_URL", url)).end()
}

/// The audit, and the lines before it, which are all of that kind.
#[track_caller]
pub(crate) fn parts(output: &Output, kind: &str) -> (Value, Vec<Value>) {
    let mut lines = output.json();
    let audit = lines.pop().unwrap();
    assert_eq!(audit["type"], "audit", "{output:?}");
    assert!(lines.iter().all(|line| line["type"] == kind), "{output:?}");
    (audit, lines)
}

/// What the audit has found.
#[track_caller]
pub(crate) fn kinds(audit: &Value) -> Vec<&str> {
    let findings = audit["findings"].as_array().unwrap();
    findings.iter().map(|finding| finding["kind"].as_str().unwrap()).collect()
}

/// The processes that play in it.
pub(crate) fn children(of: Pid) -> Vec<Pid> {
    let pid = of.as_raw_nonzero();
    let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    list.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)).collect()
}
