//! `cotter jobs`: the jobs of a group, seen and steered from outside.

use crate::duration::words;
use crate::exit::Exit;
use crate::global::Global;
use crate::output::{Console, Failure, clean};
use crate::schedule::file;
use crate::store::{self, Place};
use crate::table;
use clap::{ArgGroup, Args, Subcommand};
use cotter::Client;
use cotter_scheduler::{Entry, JobStatus, UnixTime};
use rustix::process::getuid;
use rustix::system::uname;
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;

/// See and steer scheduled jobs
///
/// What is asked here is written into the store, and heard by all who run the group within a second or so.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("which").required(true).args(["file", "group"])))]
pub(crate) struct Jobs {
    /// The group and the store of this file of jobs
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// The group, in the store that is chosen as for other commands
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// List the jobs that were started once
    #[command(visible_alias = "ls")]
    List,
    /// Start no more slots of a job until it is resumed; a run that goes on is left alone
    Pause {
        /// Its name within the group
        job: String,
    },
    /// Start slots again, from now on
    Resume {
        /// Its name within the group
        job: String,
    },
    /// Run a job once as soon as possible, also when it is paused
    Trigger {
        /// Its name within the group
        job: String,
    },
    /// Show the last runs of a job, the oldest first
    History {
        /// Its name within the group
        job: String,
    },
}

/// Does what the arguments say.
pub(crate) async fn run(args: &Jobs, global: &Global, console: &Console) -> Result<Exit, Failure> {
    let (group, place) = args.group()?;
    let chosen = store::choose(global, place.as_ref(), |key| std::env::var_os(key))?;
    let client = chosen.connect(Client::builder(), console).await?;
    let jobs = cotter_scheduler::Jobs::new(&client, group).by(who());
    match &args.what {
        What::List => list(&jobs.list().await?, console)?,
        What::Pause { job } => {
            jobs.pause(job).await?;
            console.answer(&format!("{job}: paused, no run begins until it is resumed"));
        }
        What::Resume { job } => {
            jobs.resume(job).await?;
            console.answer(&format!("{job}: resumed"));
        }
        What::Trigger { job } => {
            jobs.trigger(job).await?;
            console.answer(&format!("{job}: asked to run once, a scheduler of the group will do so"));
        }
        What::History { job } => history(&jobs.history(job).await?, console)?,
    }
    Ok(Exit::Done)
}

impl Jobs {
    fn group(&self) -> Result<(String, Option<Place>), Failure> {
        let Some(path) = &self.file else { return Ok((self.group.clone().unwrap_or_default(), None)) };
        match file::read(path)? {
            Ok(file) => Ok((file.group, file.place)),
            Err(mistakes) => {
                let first = mistakes.first().map(|mistake| mistake.of(path)).unwrap_or_default();
                let more = mistakes.len().saturating_sub(1);
                let rest = if more > 0 {
                    format!("; {more} more with `cotter schedule --validate`")
                } else {
                    String::new()
                };
                Err(Failure::config(format!("{first}{rest}")))
            }
        }
    }
}

/// For others to read.
fn who() -> String {
    let name = std::env::var("LOGNAME").or_else(|_| std::env::var("USER"));
    let name = name.unwrap_or_else(|_| format!("user {}", getuid().as_raw()));
    clean(&format!("{name} on {}", uname().nodename().to_string_lossy()))
}

fn list(jobs: &[JobStatus], console: &Console) -> Result<(), Failure> {
    if console.json {
        for job in jobs {
            writeln!(console.out(), "{}", as_json(job))?;
        }
        return Ok(());
    }
    let rows = jobs.iter().map(|job| {
        [clean(&job.name), state(job), last(job.started), took(job), ending(job), clean(&job.trigger)]
    });
    table::print(["JOB", "STATE", "LAST RUN", "TOOK", "OUTCOME", "TRIGGER"], rows, console)
}

fn as_json(job: &JobStatus) -> serde_json::Value {
    let time = |at: Option<UnixTime>| at.map(|at| at.to_string());
    json!({
        "job": job.name,
        "trigger": job.trigger,
        "generation": job.generation,
        "paused": job.paused,
        "asked_by": job.asked_by,
        "requests": job.requests,
        "last_slot": time(job.last_slot),
        "started": time(job.started),
        "ended": time(job.ended),
        "outcome": job.ending.as_ref().map(cotter_scheduler::Ending::word),
        "reason": job.ending.as_ref().and_then(cotter_scheduler::Ending::reason),
    })
}

fn state(job: &JobStatus) -> String {
    let runs = job.started.is_some() && job.ended.is_none();
    let by = || job.asked_by.as_deref().map(|by| format!(" by {}", clean(by))).unwrap_or_default();
    match (job.paused, runs) {
        (true, true) => format!("runs, paused{}", by()),
        (true, false) => format!("paused{}", by()),
        (false, true) => "runs".to_owned(),
        (false, false) if job.requests > 0 => format!("asked for{}", by()),
        (false, false) => "waits".to_owned(),
    }
}

fn last(at: Option<UnixTime>) -> String {
    at.map_or_else(|| "-".to_owned(), |at| format!("{at:.3}"))
}

fn took(job: &JobStatus) -> String {
    match (job.started, job.ended) {
        (Some(started), Some(ended)) => words(ended.since(started)),
        _ => "-".to_owned(),
    }
}

fn ending(job: &JobStatus) -> String {
    job.ending.as_ref().map_or_else(|| "-".to_owned(), |ending| clean(&ending.to_string()))
}

fn history(entries: &[Entry], console: &Console) -> Result<(), Failure> {
    if console.json {
        for entry in entries {
            writeln!(
                console.out(),
                "{}",
                json!({
                    "slot": entry.slot.to_string(),
                    "asked": entry.asked,
                    "attempt": entry.attempt,
                    "token": entry.token,
                    "started": entry.started.to_string(),
                    "ended": entry.ended.to_string(),
                    "outcome": entry.ending.word(),
                    "reason": entry.ending.reason(),
                })
            )?;
        }
        return Ok(());
    }
    let rows = entries.iter().map(|entry| {
        let asked = if entry.asked { " (asked for)" } else { "" };
        [
            format!("{:.3}{asked}", entry.slot),
            entry.attempt.to_string(),
            entry.token.to_string(),
            format!("{:.3}", entry.started),
            words(entry.ended.since(entry.started)),
            clean(&entry.ending.to_string()),
        ]
    });
    table::print(["SLOT", "ATTEMPT", "TOKEN", "STARTED", "TOOK", "OUTCOME"], rows, console)
}
