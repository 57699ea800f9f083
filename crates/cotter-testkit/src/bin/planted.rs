//! Plants the bugs of `planted/list.toml` one after the other, and demands that each is found by its own violation.
//!
//! Works on a copy of the tracked files, so that the tree itself is never touched. Arguments: names of bugs; none =
//! all of them.

use serde::Deserialize;
use std::collections::BTreeSet;
use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};
use std::time::Instant;

type Result<T, E = Box<dyn Error>> = std::result::Result<T, E>;

#[derive(Deserialize)]
struct List {
    bug: Vec<Bug>,
}

#[derive(Deserialize)]
struct Bug {
    name: String,
    broken: String,
    #[serde(default = "ours")]
    package: String,
    test: String,
    violation: String,
}

/// The tests of most bugs are in this package.
fn ours() -> String {
    env!("CARGO_PKG_NAME").to_owned()
}

/// Where things are.
struct Places {
    root: PathBuf,
    scratch: PathBuf,
    build: PathBuf,
}

/// Longer than any of the tests takes; a planted bug may make one hang.
const SECONDS: &str = "120";

fn main() -> ExitCode {
    match run(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) => {
            say(&format!("planted: {e}"));
            ExitCode::FAILURE
        }
    }
}

fn run(only: &[String]) -> Result<bool> {
    let places = Places::new()?;
    let list: List = toml::from_str(&std::fs::read_to_string(places.root.join(FOLDER).join("list.toml"))?)?;
    let chosen = |b: &&Bug| only.is_empty() || only.contains(&b.name);
    let bugs: Vec<&Bug> = list.bug.iter().filter(chosen).collect();
    places.copy()?;
    places.build(&bugs.iter().map(|bug| bug.package.as_str()).collect())?;
    let mut all_found = true;
    let mut count = 0;
    for bug in bugs {
        let start = Instant::now();
        let verdict = try_bug(&places, bug)?;
        let mark = if verdict.is_ok() { "found" } else { "MISSED" };
        let what = verdict.as_ref().err().unwrap_or(&bug.broken);
        let seconds = start.elapsed().as_secs();
        say(&format!("{mark:6} {seconds:3} s  {:34} {:22} {what}", bug.name, bug.violation));
        all_found &= verdict.is_ok();
        count += 1;
    }
    if count == 0 {
        return Err("no bug of that name is on the list".into());
    }
    say(&format!(
        "{count} planted bugs, {}",
        if all_found { "each found by its own violation" } else { "not all found" }
    ));
    Ok(all_found)
}

const FOLDER: &str = "crates/cotter-testkit/planted";

/// `Err` says how it escaped.
fn try_bug(places: &Places, bug: &Bug) -> Result<std::result::Result<(), String>> {
    let patch = places.root.join(FOLDER).join(format!("{}.patch", bug.name));
    if let Err(why) = places.patch(&patch, false)? {
        return Ok(Err(format!("the patch does not apply: {why}")));
    }
    let output = places.test(bug)?;
    places.patch(&patch, true)??;
    Ok(judge(bug, &output))
}

fn judge(bug: &Bug, output: &Output) -> std::result::Result<(), String> {
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    if text.contains("error: could not compile") {
        return Err("it does not compile".into());
    }
    if !text.contains("running 1 test") {
        return Err("there is no such test, or more than one".into());
    }
    if output.status.success() {
        return Err("it survives".into());
    }
    let kinds = kinds(&text);
    if kinds != BTreeSet::from([bug.violation.as_str()]) {
        return Err(format!("it was caught by {kinds:?}"));
    }
    Ok(())
}

fn kinds(text: &str) -> BTreeSet<&str> {
    let found = text.split("violation[").skip(1).filter_map(|rest| rest.split_once("]: "));
    found.map(|(kind, _)| kind).collect()
}

impl Places {
    fn new() -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        let planted = root.join(target).join("planted");
        Ok(Self { scratch: planted.join("tree"), build: planted.join("build"), root })
    }

    /// A fresh copy of what is tracked, as it stands in the tree now.
    fn copy(&self) -> Result<()> {
        let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(&self.root).output()?;
        if !listed.status.success() {
            return Err("git does not list the tracked files".into());
        }
        if self.scratch.exists() {
            std::fs::remove_dir_all(&self.scratch)?;
        }
        for file in String::from_utf8(listed.stdout)?.split_terminator('\0') {
            let (from, to) = (self.root.join(file), self.scratch.join(file));
            std::fs::create_dir_all(to.parent().ok_or("a file has a folder")?)?;
            std::fs::copy(from, to)?;
        }
        Ok(())
    }

    /// Everything once without a bug, so that no test's time goes into it.
    fn build(&self, packages: &BTreeSet<&str>) -> Result<()> {
        let mut command = Command::new("cargo");
        command.args(["test", "--quiet", "--no-run"]);
        for package in packages {
            command.args(["-p", package]);
        }
        let built = command.env("CARGO_TARGET_DIR", &self.build).current_dir(&self.scratch).status()?;
        if built.success() { Ok(()) } else { Err("the tests do not build without any bug".into()) }
    }

    fn patch(&self, patch: &Path, back: bool) -> Result<std::result::Result<(), String>> {
        let mut command = Command::new("patch");
        let direction = if back { "--reverse" } else { "--forward" };
        command.args(["-p1", direction, "--no-backup-if-mismatch", "-i"]).arg(patch);
        let output = command.current_dir(&self.scratch).output()?;
        let why = || String::from_utf8_lossy(&output.stdout).trim().replace('\n', "; ");
        Ok(if output.status.success() { Ok(()) } else { Err(why()) })
    }

    fn test(&self, bug: &Bug) -> Result<Output> {
        let mut command = Command::new("timeout");
        command.args([SECONDS, "cargo", "test", "-p", &bug.package]);
        command.args(bug.test.split(' ')).args(["--", "--include-ignored", "--exact", "--nocapture"]);
        command.env("CARGO_TARGET_DIR", &self.build).env("RUST_BACKTRACE", "0");
        Ok(command.current_dir(&self.scratch).output()?)
    }
}

fn say(line: &str) {
    // Nobody reads it any more: then nobody misses it.
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}
