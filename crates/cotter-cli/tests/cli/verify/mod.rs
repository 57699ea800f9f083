//! `cotter verify`: that it passes where locks are right, finds what is wrong with others, and says when it proves nothing.

mod check;
mod found;
mod museum;
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

/// Runs until one is not void, at first each longer than the last: on a busy machine, little happens in a short one. No run may be
/// as long as a command is waited for.
#[track_caller]
fn not_void(env: &TestEnv, options: &[&str]) -> Output {
    not_void_of(|options| verify(env, options), options)
}

/// The same of runs that begin in another way. The first is as long as the options ask for.
#[track_caller]
fn not_void_of(run: impl Fn(&[&str]) -> Output, options: &[&str]) -> Output {
    let own = (seconds(options) > 0).then(|| options.to_vec());
    let longer = ["4s", "8s", "15s", "15s", "15s", "15s"].map(|time| ["--time", time]);
    let longer = longer.iter().filter(|time| seconds(&time[..]) > seconds(options));
    let runs = own.into_iter().chain(longer.map(|time| with(options, time)));
    runs.map(|options| run(&options)).find(|output| output.code != 75).expect("a run that is not void")
}

/// The options, with another time.
fn with<'a>(options: &[&'a str], time: &[&'a str; 2]) -> Vec<&'a str> {
    let mut words = options.to_vec();
    if let Some(at) = words.iter().position(|word| *word == time[0]) {
        words.drain(at..at + 2);
    }
    [words, time.to_vec()].concat()
}

/// The time that options ask for.
fn seconds(options: &[&str]) -> u32 {
    let value = options.iter().skip_while(|word| **word != "--time").nth(1);
    value.map_or(0, |time| time.trim_end_matches('s').parse().expect("seconds"))
}

/// It is found, as these kinds, sooner or later: what goes wrong depends on who meets whom. Of two at once one may have been paused,
/// by the run or by a busy machine.
#[track_caller]
fn found(run: impl Fn() -> Output, due: &BTreeSet<&str>) -> Value {
    let mut runs = (0..60).map(|_| run());
    let output = runs.find(|output| output.code == 1).expect("a run that has found it").silent();
    let verdict = verdict(&output);
    assert_eq!(verdict["outcome"], "failed", "{output:?}");
    let kinds = kinds(&verdict);
    let overlaps = ["overlap", "overlap-after-pause"];
    let may_be = |kind: &&str| overlaps.contains(kind) && overlaps.iter().any(|kind| due.contains(kind));
    assert!(due.is_subset(&kinds) && kinds.difference(due).all(may_be), "{due:?}: {output:?}");
    verdict
}

/// A run on this store passes, with faults that met holders.
#[track_caller]
fn passes(env: &TestEnv, options: &[&str]) {
    let output = not_void(env, &[&["--json"], options].concat());
    let verdict = verdict(&output.code(0).silent());
    assert_eq!(verdict["outcome"], "passed", "{verdict}");
    for count in ["contended", "paused", "killed"] {
        assert!(verdict[count].as_u64().unwrap() > 0, "{count}: {verdict}");
    }
    assert!(env.run(["list", "--json"]).code(0).json().is_empty());
}

const PAGE: &str = include_str!("../../../../../docs/verify.md");

/// The blocks of a page in this language.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let begin = format!("```{language}\n");
    page.split(&begin).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}
