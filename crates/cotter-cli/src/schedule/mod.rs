//! `cotter schedule`: the jobs of a file, each slot once on all hosts that run the same file.
//!
//! | file | concept |
//! |---|---|
//! | `file/` | the file of jobs, and every mistake in it |
//! | `next` | `--next` |
//! | `serve` | the jobs run, until a signal ends it |
//! | `work` | one run: a command under the lock of its job |
//! | `tell` | what happens, as lines |
//! | `systemd` | what the service manager is told |

pub(crate) mod file;
mod next;
mod serve;
mod systemd;
mod tell;
mod work;

use crate::exit::Exit;
use crate::global::Global;
use crate::output::{Console, Failure, clean};
use clap::Args;
use file::{File, Mistake};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Run the jobs of a file when they are due
///
/// Start it with the same file on as many hosts as you like: each slot of a job is run by one of them. Every job is a
/// command that runs as with `cotter run`, under the lock GROUP/JOB, with COTTER_SLOT (the instant that it is for, as
/// RFC 3339) and COTTER_ATTEMPT in its environment beside COTTER_NAME, COTTER_TOKEN and COTTER_URL.
///
/// TERM and INT let running commands end, stop what is left when the `grace` of the file is over, and end; a second
/// one stops them at once. HUP reads the file again: commands that run go on, and when it has mistakes everything stays as
/// it was. What happens is told in one line each, with --json as one object a line on standard output.
#[derive(Debug, Args)]
pub(crate) struct Schedule {
    /// The file of jobs; docs/jobs.md describes it
    pub(crate) file: PathBuf,
    /// Only check the file: tell every mistake with its line, and exit with 78 when there are some
    #[arg(long, conflicts_with = "next")]
    validate: bool,
    /// Only say what runs when, by the clock of this host
    ///
    /// Jobs whose slots are counted from what has run (fixed_rate, fixed_delay) are named at the end.
    #[arg(long)]
    next: bool,
    /// How many instants
    #[arg(short = 'n', long = "count", value_name = "N", requires = "next", default_value_t = 10)]
    count: usize,
}

/// Does what the arguments say.
pub(crate) async fn run(args: &Schedule, global: &Global, console: &Console) -> Result<Exit, Failure> {
    let file = match file::read(&args.file)? {
        Ok(file) => file,
        Err(mistakes) => {
            tell_mistakes(&args.file, &mistakes, console)?;
            return Ok(Exit::Config);
        }
    };
    if args.validate {
        return praise(&file, console);
    }
    if args.next {
        return next::print(&file.jobs, args.count, console);
    }
    serve::serve(file, global, console).await
}

/// All of them: on standard error for people, or as objects.
fn tell_mistakes(path: &Path, mistakes: &[Mistake], console: &Console) -> Result<(), Failure> {
    for mistake in mistakes {
        if console.json {
            let object = json!({ "file": path, "line": mistake.line, "mistake": mistake.message });
            writeln!(console.out(), "{object}")?;
        } else {
            console.failure(&Failure::config(mistake.of(path)));
        }
    }
    Ok(())
}

fn praise(file: &File, console: &Console) -> Result<Exit, Failure> {
    let (path, jobs) = (clean(&file.path.to_string_lossy()), file.jobs.len());
    if console.json {
        writeln!(console.out(), "{}", json!({ "file": file.path, "group": file.group, "jobs": jobs }))?;
    } else {
        let noun = if jobs == 1 { "job" } else { "jobs" };
        writeln!(console.out(), "{path}: {jobs} {noun} in group {:?}, no mistake", file.group)?;
    }
    Ok(Exit::Done)
}
