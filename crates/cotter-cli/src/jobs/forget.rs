//! `cotter jobs forget`.

use clap::Args;
use cotter_console::{Console, Exit, Failure, clean};
use cotter_scheduler::Jobs;
use serde_json::json;
use std::io::Write;

/// What is forgotten.
#[derive(Debug, Args)]
pub(super) struct Forget {
    /// The name of the job within the group
    #[arg(required_unless_present = "orphaned", conflicts_with = "orphaned")]
    job: Option<String>,
    /// All jobs that no scheduler has; exits with 75 if no scheduler runs, for then nobody can tell
    #[arg(long)]
    orphaned: bool,
    /// With --orphaned: only print the names of these jobs
    #[arg(long, requires = "orphaned")]
    dry_run: bool,
}

pub(super) async fn run(jobs: &Jobs, which: &Forget, console: &Console) -> Result<Exit, Failure> {
    let names = match &which.job {
        Some(job) => vec![job.clone()],
        None => orphans(jobs).await?,
    };
    if names.is_empty() {
        console.confirm("no job of this group is known to be without a scheduler");
    }
    for job in &names {
        if !which.dry_run {
            jobs.forget(job).await?;
        }
        if which.orphaned {
            print(job, !which.dry_run, console)?;
        } else {
            console.confirm(&format!("{job}: forgotten"));
        }
    }
    Ok(Exit::Done)
}

/// The jobs that no scheduler has, as those say that run.
async fn orphans(jobs: &Jobs) -> Result<Vec<String>, Failure> {
    let why = "no scheduler of this group runs, so nobody tells which jobs were removed; start one, or name the job";
    jobs.orphaned().await?.ok_or_else(|| Failure::new(Exit::Busy(Exit::BUSY), why))
}

fn print(job: &str, is_forgotten: bool, console: &Console) -> Result<(), Failure> {
    if console.json {
        writeln!(console.out(), "{}", json!({ "job": job, "forgotten": is_forgotten }))?;
    } else {
        let what = if is_forgotten { "forgotten" } else { "would be forgotten" };
        writeln!(console.out(), "{}: {what}", clean(job))?;
    }
    Ok(())
}
