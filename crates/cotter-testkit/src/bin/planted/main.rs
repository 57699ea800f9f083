//! Plants the bugs of `planted/list.toml`, and demands that each is found by its own violation.
//!
//! | file | concept |
//! |---|---|
//! | `bug` | the bugs of the list, and what counts as found |
//! | `choice` | which of them are tried |
//! | `selection` | what is compiled for a bug |
//! | `source` | where the test of a bug stands in the source |
//! | `tree` | a copy of the tracked files, in which bugs are planted |
//!
//! A few are tried at a time. Some bugs show in the timing of several processes only, and a machine that builds beside
//! them may hide them: a bug that was missed is tried once more with nothing beside it, and only that verdict counts.
//!
//! Works on copies, so that the tree itself is never touched. Arguments: names of bugs, none = all of them;
//! `--store STORE` are those whose tests need this store and no other; `--skip TEXT` leaves out the bugs whose test has this in
//! its name; with `--seconds N`, none is begun later than that, and those that were not tried are named at the end. Whatever was
//! chosen, every patch of the list has to apply, and every test has to exist.

mod bug;
mod choice;
mod selection;
mod source;
mod tree;

use bug::{Bug, List, Verdict};
use choice::Choice;
use selection::Selection;
use source::Sources;
use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;
use tree::Tree;

type Result<T, E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;

const FOLDER: &str = "crates/cotter-testkit/planted";

/// While some build, the tests of the others mostly sleep.
const TREES: usize = 3;
/// As many bugs for one tree at most: what they share is built once for them.
const LOT: usize = 16;

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

fn run(args: &[String]) -> Result<bool> {
    let choice = Choice::of(args)?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    let list: List = toml::from_str(&std::fs::read_to_string(root.join(FOLDER).join("list.toml"))?)?;
    let sources = Sources::read(&root)?;
    let is_fit = |bug| tree::applies(&root, bug).and_then(|()| sources.has(bug));
    let unplanted: Vec<_> = list.bug.iter().filter_map(|bug| is_fit(bug).err()).collect();
    if !unplanted.is_empty() {
        return Err(unplanted.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ").into());
    }
    let bugs: Vec<&Bug> = list.bug.iter().filter(|bug| choice.has(bug)).collect();
    if bugs.is_empty() {
        return Err("no bug of that name is on the list".into());
    }
    let (target, begin) = (root.join(target), Instant::now());
    let Outcome { mut missed, untried } =
        plant(&root, &target, &bugs, TREES, || choice.has_time(begin.elapsed()))?;
    if !missed.is_empty() {
        say(&format!("once more, one at a time: {}", missed.len()));
        missed = plant(&root, &target, &missed, 1, || true)?.missed;
    }
    if !untried.is_empty() {
        let names: Vec<_> = untried.iter().map(|bug| bug.name.as_str()).collect();
        say(&format!("no time was left for {}: {}", names.len(), names.join(" ")));
    }
    let all = if missed.is_empty() { "each found by its own violation" } else { "not all found" };
    say(&format!("{} planted bugs, {all}", bugs.len() - untried.len()));
    Ok(missed.is_empty())
}

/// What became of those that are not found.
#[derive(Default)]
struct Outcome<'a> {
    missed: Vec<&'a Bug>,
    untried: Vec<&'a Bug>,
}

/// Those that are built alike, in lots that keep all trees busy to the end.
fn lots<'a>(bugs: &[&'a Bug]) -> Vec<Vec<&'a Bug>> {
    let mut alike = BTreeMap::<Selection, Vec<&Bug>>::new();
    for bug in bugs {
        alike.entry(Selection::of(bug)).or_default().push(bug);
    }
    let mut lots: Vec<Vec<&Bug>> =
        alike.values().flat_map(|bugs| bugs.chunks(LOT)).map(<[&Bug]>::to_vec).collect();
    lots.sort_by_key(|lot| std::cmp::Reverse(lot.len()));
    lots
}

/// Tries them as long as there is time, each tree the next lot that is left.
fn plant<'a>(
    root: &Path,
    target: &Path,
    bugs: &[&'a Bug],
    trees: usize,
    has_time: impl Fn() -> bool + Sync,
) -> Result<Outcome<'a>> {
    let (lots, next) = (lots(bugs), AtomicUsize::new(0));
    let work = |number| -> Result<Outcome<'a>> {
        let (tree, mut outcome) = (Tree::copy(root, target, number)?, Outcome::default());
        while let Some(lot) = lots.get(next.fetch_add(1, Ordering::Relaxed)) {
            for bug in lot {
                if !has_time() {
                    outcome.untried.push(*bug);
                    continue;
                }
                let start = Instant::now();
                let verdict = tree.try_bug(bug)?;
                report(bug, &verdict, start);
                outcome.missed.extend(verdict.is_err().then_some(*bug));
            }
            tree.forget_steps()?;
        }
        Ok(outcome)
    };
    thread::scope(|scope| {
        let trees: Vec<_> = (1..=trees.min(lots.len()))
            .map(|number| {
                scope.spawn({
                    let work = &work;
                    move || work(number)
                })
            })
            .collect();
        let mut all = Outcome::default();
        for tree in trees {
            let outcome = tree.join().unwrap_or_else(|_| Err("a tree panicked".into()))?;
            all.missed.extend(outcome.missed);
            all.untried.extend(outcome.untried);
        }
        Ok(all)
    })
}

fn report(bug: &Bug, verdict: &Verdict, start: Instant) {
    let (mark, what) = match verdict {
        Ok(()) => ("found", &bug.broken),
        Err(how) => ("MISSED", how),
    };
    let seconds = start.elapsed().as_secs();
    say(&format!("{mark:6} {seconds:3} s  {:34} {:22} {what}", bug.name, bug.violation));
}

fn say(line: &str) {
    // Nobody reads it any more: then nobody misses it.
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}
