//! Plants the bugs of `planted/list.toml`, and demands that each is found by its own violation.
//!
//! | file | concept |
//! |---|---|
//! | `batch` | the bugs that are planted together |
//! | `bug` | the bugs of the list, and what counts as found |
//! | `choice` | which of them are tried |
//! | `selection` | what is compiled for a bug |
//! | `source` | where the test of a bug stands in the source |
//! | `tree` | a copy of the tracked files, in which bugs are planted |
//!
//! Several are planted in one build, and a few builds are made at a time. A bug of a batch that is not found as it should be
//! may be hidden by another one of it, and is tried by itself at once. Some bugs show in the timing of several processes only, and
//! a machine that builds beside them may hide them: what was missed by itself is tried once more with nothing beside it, and
//! only that verdict counts.
//!
//! Works on copies, so that the tree itself is never touched. Arguments: names of bugs, none = all of them;
//! `--store STORE` are those whose tests need this store and no other; `--skip TEXT` leaves out the bugs whose test has this in
//! its name; `--part 0/8` are the first eighth of those that are left; `--alone` plants each by itself; with `--seconds N`, none is begun later than that, and those that were not tried
//! are named at the end. Whatever was chosen, every patch of the list has to apply, and every test has to exist.

mod batch;
mod bug;
mod choice;
mod selection;
mod source;
mod tree;

use batch::{Planted, batches};
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
/// As many batches cost about what building the rest in another tree does.
const LOT: usize = 10;

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
    let bugs = choice.of_list(&list.bug);
    if bugs.is_empty() {
        return Err("no bug of that name is on the list".into());
    }
    let (target, begin) = (root.join(target), Instant::now());
    let first = lots(&root, &bugs, choice.is_alone())?;
    let Outcome { mut missed, untried } =
        plant(&root, &target, &first, TREES, || choice.has_time(begin.elapsed()))?;
    if !missed.is_empty() {
        say(&format!("once more, one at a time: {}", missed.len()));
        missed = plant(&root, &target, &lots(&root, &missed, true)?, 1, || true)?.missed;
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

/// Batches that are built alike.
type Lot<'a> = Vec<Vec<&'a Bug>>;

/// All of them, in lots that keep all trees busy to the end.
fn lots<'a>(root: &Path, bugs: &[&'a Bug], alone: bool) -> Result<Vec<Lot<'a>>> {
    let mut alike = BTreeMap::<Selection, Vec<Planted<'a>>>::new();
    for bug in bugs {
        alike.entry(Selection::of(bug)).or_default().push(Planted::new(bug, &tree::patch_text(root, bug)?));
    }
    let size = if alone { 1 } else { batch::SIZE };
    let mut lots: Vec<Lot<'a>> = Vec::new();
    for bugs in alike.into_values() {
        let batches = batches(bugs, size);
        let trees = batches.len().div_ceil(LOT).min(TREES);
        lots.extend(batches.chunks(batches.len().div_ceil(trees)).map(<[_]>::to_vec));
    }
    lots.sort_by_key(|lot| std::cmp::Reverse(lot.len()));
    Ok(lots)
}

/// Tries them as long as there is time, each tree the next lot that is left.
fn plant<'a>(
    root: &Path,
    target: &Path,
    lots: &[Lot<'a>],
    trees: usize,
    has_time: impl Fn() -> bool + Sync,
) -> Result<Outcome<'a>> {
    let next = AtomicUsize::new(0);
    let work = |number| -> Result<Outcome<'a>> {
        let (tree, mut outcome) = (Tree::copy(root, target, number)?, Outcome::default());
        while let Some(lot) = lots.get(next.fetch_add(1, Ordering::Relaxed)) {
            for batch in lot {
                match has_time() {
                    true => outcome.missed.extend(missed(&tree, batch)?),
                    false => outcome.untried.extend(batch),
                }
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

/// Those of a batch that are not found by themselves either.
fn missed<'a>(tree: &Tree<'_>, batch: &[&'a Bug]) -> Result<Vec<&'a Bug>> {
    let mut missed = Vec::new();
    let start = Instant::now();
    for (bug, verdict) in batch.iter().zip(tree.try_batch(batch)?) {
        report(bug, &verdict, batch.len(), start);
        if verdict.is_ok() {
            continue;
        }
        let start = Instant::now();
        let is_missed = batch.len() == 1 || {
            let verdict = tree.try_batch(&[bug])?.remove(0);
            report(bug, &verdict, 1, start);
            verdict.is_err()
        };
        missed.extend(is_missed.then_some(*bug));
    }
    Ok(missed)
}

fn report(bug: &Bug, verdict: &Verdict, batch: usize, start: Instant) {
    let (mark, what) = match verdict {
        Ok(()) => ("found", &bug.broken),
        Err(how) if batch > 1 => ("hidden", how),
        Err(how) => ("MISSED", how),
    };
    let seconds = start.elapsed().as_secs();
    say(&format!("{mark:6} {seconds:3} s for {batch}  {:34} {:22} {what}", bug.name, bug.violation));
}

fn say(line: &str) {
    // Nobody reads it any more: then nobody misses it.
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}
