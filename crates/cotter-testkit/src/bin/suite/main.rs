//! Runs every test of the workspace, and repeats what fails: a red run means a fault, not bad luck.
//!
//! | file | concept |
//! |---|---|
//! | `options` | what is asked for |
//! | `programs` | the test programs that cargo builds |
//! | `program_run` | one program: its output, its time limit, what the machine was doing when a test failed |
//! | `libtest` | what a test program prints |
//! | `verdict` | what a failure and its repeats mean |
//! | `suite_run` | which programs run, in which order, and what is repeated |
//! | `summary` | the last lines, and the file of unsteady tests |
//!
//! A test that fails is run again three times, alone. A failure that shows a broken guarantee is red, whatever the repeats
//! say; any other is red if it happens once more. Otherwise the test is *unsteady*: it is listed at the end and in
//! `target/unsteady.txt`, and the run is green. An unsteady test is a fault too, in the product or in the test, and has to
//! be understood.
//!
//! `suite [--skip TEXT]... [--report NAME] [--command WORDS [--without-ignored] [--only TEXT]... -- CHOICE...]`
//!
//! The summary goes to `target/NAME.txt`. With a command, such as `scripts/portable test`, only those tests run that
//! `cargo test CHOICE...` chooses; the command is what one types to run them.

mod libtest;
mod options;
mod program_run;
mod programs;
mod suite_run;
mod summary;
mod verdict;

use options::Options;
use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use summary::Summary;

type Result<T, E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;

fn main() -> ExitCode {
    match run() {
        Ok(summary) if summary.is_green() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(e) => {
            say(&format!("suite: {e}"));
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<Summary> {
    let options = Options::of(std::env::args().skip(1))?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    let programs = programs::build(&root, &options)?;
    let summary = match &options.part {
        None => suite_run::all(&programs, &options.skipped)?,
        Some(part) => suite_run::some(&programs, &part.only, &options.skipped)?,
    };
    summary.write(&root.join(target), &options.report)?;
    Ok(summary)
}

fn say(text: &str) {
    // Nobody reads it any more: then nobody misses it.
    let _ = writeln!(std::io::stdout().lock(), "{text}");
}
