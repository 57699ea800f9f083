//! `cotter jobs`: inspection and control of the jobs of a group.

use crate::duration::words;
use crate::exit::Exit;
use crate::global::Global;
use crate::output::{Console, Failure, clean};
use crate::schedule::file;
use crate::store::{self, StoreRef};
use crate::table;
use clap::{ArgGroup, Args, Subcommand};
use cotter::Client;
use cotter_scheduler::{Entry, JobStatus, UnixTime};
use rustix::process::getuid;
use rustix::system::uname;
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;

/// Inspect and control scheduled jobs
///
/// Requests are written to the store; every scheduler of the group sees them within a second or so.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("which").required(true).args(["file", "group"])))]
pub(crate) struct Jobs {
    /// The job file, for its group and store
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// The group, in the store that is chosen as for other commands
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List all jobs that were ever started
    #[command(visible_alias = "ls")]
    List,
    /// Start no more slots of a job until it is resumed; a run in progress is not affected
    Pause {
        /// Its name within the group
        job: String,
    },
    /// Start slots again, from now on
    Resume {
        /// Its name within the group
        job: String,
    },
    /// Run a job once as soon as possible, even if it is paused
    Trigger {
        /// Its name within the group
        job: String,
    },
    /// Show the last runs of a job, oldest first
    History {
        /// Its name within the group
        job: String,
    },
}

/// Executes the command.
pub(crate) async fn run(args: &Jobs, global: &Global, console: &Console) -> Result<Exit, Failure> {
    let (group, place) = args.group()?;
    let chosen = store::choose(global, place.as_ref(), |key| std::env::var_os(key))?.set_explicitly()?;
    let client = chosen.connect(Client::builder(), console).await?;
    let jobs = cotter_scheduler::Jobs::new(&client, group).by(operator());
    match &args.action {
        Action::List => list(&jobs.list().await?, console)?,
        Action::Pause { job } => {
            jobs.pause(job).await?;
            console.confirm(&format!("{job}: paused; no runs are started until it is resumed"));
        }
        Action::Resume { job } => {
            jobs.resume(job).await?;
            console.confirm(&format!("{job}: resumed"));
        }
        Action::Trigger { job } => {
            jobs.trigger(job).await?;
            console.confirm(&format!("{job}: triggered; a scheduler of the group will run it once"));
        }
        Action::History { job } => history(&jobs.history(job).await?, console)?,
    }
    Ok(Exit::Done)
}

impl Jobs {
    fn group(&self) -> Result<(String, Option<StoreRef>), Failure> {
        let Some(path) = &self.file else { return Ok((self.group.clone().unwrap_or_default(), None)) };
        match file::read(path)? {
            Ok(file) => Ok((file.group, file.place)),
            Err(mistakes) => {
                let first = mistakes.first().map(|mistake| mistake.of(path)).unwrap_or_default();
                let more = mistakes.len().saturating_sub(1);
                let rest = if more > 0 {
                    format!("; {more} more, see `cotter schedule --validate`")
                } else {
                    String::new()
                };
                Err(Failure::config(format!("{first}{rest}")))
            }
        }
    }
}

/// The name of the operator, for others to read.
fn operator() -> String {
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
    if jobs.is_empty() {
        console.confirm("no job of this group was ever started");
    }
    let rows = jobs.iter().map(|job| {
        [
            clean(&job.name),
            state(job),
            job.next_slot.map_or_else(|| "-".to_owned(), short),
            last(job.started),
            took(job),
            ending(job),
            clean(&job.trigger),
        ]
    });
    table::print(["JOB", "STATE", "NEXT SLOT", "LAST RUN", "TOOK", "OUTCOME", "TRIGGER"], rows, console)
}

fn as_json(job: &JobStatus) -> serde_json::Value {
    let time = |at: Option<UnixTime>| at.map(|at| format!("{at:.3}"));
    json!({
        "job": job.name,
        "trigger": job.trigger,
        "generation": job.generation,
        "paused": job.paused,
        "paused_by": job.paused_by,
        "asked_by": job.asked_by,
        "requests": job.requests,
        "last_slot": job.last_slot.map(|slot| slot.to_string()),
        "next_slot": job.next_slot.map(|slot| slot.to_string()),
        "started": time(job.started),
        "ended": time(job.ended),
        "outcome": job.ending.as_ref().map(cotter_scheduler::Ending::word),
        "reason": job.ending.as_ref().and_then(cotter_scheduler::Ending::reason),
    })
}

fn state(job: &JobStatus) -> String {
    let runs = job.started.is_some() && job.ended.is_none();
    let by = |who: &Option<String>| who.as_deref().map(|by| format!(" by {}", clean(by))).unwrap_or_default();
    match (job.paused, runs) {
        (true, true) => format!("running, paused{}", by(&job.paused_by)),
        (true, false) => format!("paused{}", by(&job.paused_by)),
        (false, true) => "running".to_owned(),
        (false, false) if job.requests > 0 => format!("triggered{}", by(&job.asked_by)),
        (false, false) => "waiting".to_owned(),
    }
}

/// A slot, with milliseconds unless it is a whole second.
pub(crate) fn short(slot: UnixTime) -> String {
    if slot.subsec_nanos() == 0 { slot.to_string() } else { format!("{slot:.3}") }
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
                    "token": entry.token.to_string(),
                    "started": format!("{:.3}", entry.started),
                    "ended": format!("{:.3}", entry.ended),
                    "outcome": entry.ending.word(),
                    "reason": entry.ending.reason(),
                })
            )?;
        }
        return Ok(());
    }
    if entries.is_empty() {
        console.confirm("no run of this job has ended yet");
    }
    let rows = entries.iter().map(|entry| {
        let asked = if entry.asked { " (triggered)" } else { "" };
        [
            format!("{}{asked}", short(entry.slot)),
            entry.attempt.to_string(),
            entry.token.to_string(),
            format!("{:.3}", entry.started),
            words(entry.ended.since(entry.started)),
            clean(&entry.ending.to_string()),
        ]
    });
    table::print(["SLOT", "ATTEMPT", "TOKEN", "STARTED", "TOOK", "OUTCOME"], rows, console)
}
