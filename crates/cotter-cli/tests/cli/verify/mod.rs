//! `cotter verify`: that it passes where locks are right, finds what is wrong with others, and says when it proves nothing.

mod check;
mod found;
mod runs;
#[cfg(all(feature = "etcd", feature = "mysql", feature = "postgres", feature = "zookeeper"))]
mod stores;

use crate::env::{Output, TestEnv};
use serde_json::Value;
use std::collections::BTreeSet;

/// Short, and with a ttl that lets a few pauses and kills happen, unless it has another one.
fn verify(env: &TestEnv, options: &[&str]) -> Output {
    let is_set = |option| options.contains(&option);
    let usual = [["--time", "4s"], ["--ttl", "500ms"], ["--min-contended", "5"]];
    let usual = usual.iter().filter(|usual| !is_set(usual[0])).flatten();
    env.run(["verify"].iter().chain(usual).chain(options))
}

/// The verdict, told for programs.
#[track_caller]
fn verdict(output: &Output) -> Value {
    let lines = output.json();
    assert!(lines.len() == 1 && lines[0]["type"] == "verdict", "{output:?}");
    lines[0].clone()
}

/// The kinds of what was wrong.
fn kinds(verdict: &Value) -> BTreeSet<&str> {
    let violations = verdict["violations"].as_array().unwrap();
    violations.iter().map(|violation| violation["kind"].as_str().unwrap()).collect()
}

/// A run on this store passes, with faults that met holders. On a busy machine, a run may be too short for them.
#[track_caller]
fn passes(env: &TestEnv, options: &[&str]) {
    let times = if options.contains(&"--time") {
        [&[][..], &[]]
    } else {
        [&["--time", "4s"][..], &["--time", "15s"]]
    };
    let run = |time: &&[&str]| verify(env, &[&["--json"], options, time].concat());
    let output = times.iter().map(run).find(|output| output.code != 75).expect("a run that is not void");
    let verdict = verdict(&output.code(0).silent());
    assert_eq!(verdict["outcome"], "passed", "{verdict}");
    for count in ["contended", "paused", "killed"] {
        assert!(verdict[count].as_u64().unwrap() > 0, "{count}: {verdict}");
    }
    assert!(env.run(["list", "--json"]).code(0).json().is_empty());
}

const PAGE: &str = include_str!("../../../../../docs/verify.md");

/// The blocks of the page in this language.
fn blocks(language: &str) -> Vec<&'static str> {
    let begin = format!("```{language}\n");
    PAGE.split(&begin).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}
