//! `cotter jobs add-once`, `pending` and `cancel`.

use super::{arguments, refused};
use crate::table;
use clap::{ArgGroup, Args};
use cotter_console::duration::parse;
use cotter_console::{Console, Exit, Failure, clean};
use cotter_scheduler::{Jobs, OneShot, Pending, UnixTime};
use serde_json::{Value, json};
use std::io::Write;
use std::time::Duration;

/// A run to add.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("time").required(true).args(["after", "at"])))]
pub(super) struct AddOnce {
    /// The name of the job within the group
    pub(super) job: String,
    /// Run it after this time
    #[arg(long, value_name = "DUR", value_parser = parse)]
    after: Option<Duration>,
    /// Run it at this instant, in RFC 3339 with an offset
    #[arg(long, value_name = "INSTANT", value_parser = instant)]
    at: Option<UnixTime>,
    /// The id of the run; if a run with this id is pending, nothing is added [default: a random id]
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Arguments: the command finds NAME=VALUE in its environment as COTTER_ARG_NAME
    #[arg(value_name = "NAME=VALUE", value_parser = arguments::parse)]
    arguments: Vec<(String, String)>,
}

/// An instant of the command line.
pub(super) fn instant(text: &str) -> Result<UnixTime, String> {
    text.parse().map_err(|e: cotter_scheduler::TimeError| e.to_string())
}

pub(super) async fn add(jobs: &Jobs, run: &AddOnce, console: &Console) -> Result<(), Failure> {
    let one_shot = match (run.after, run.at) {
        (_, Some(at)) => OneShot::at(at),
        (after, None) => OneShot::after(after.unwrap_or_default()),
    };
    let one_shot = run.id.iter().fold(one_shot, |one_shot, id| one_shot.id(id));
    let with = |one_shot: OneShot, (name, value): &(String, String)| one_shot.argument(name, value);
    let added = jobs.add(&run.job, run.arguments.iter().fold(one_shot, with)).await;
    let id = added.map_err(refused)?;
    match console.json {
        true => writeln!(console.out(), "{}", json!({ "id": id, "job": run.job }))?,
        false => writeln!(console.out(), "{}", clean(&id))?,
    }
    Ok(())
}

pub(super) async fn cancel(jobs: &Jobs, id: &str, console: &Console) -> Result<Exit, Failure> {
    if jobs.cancel(id).await? {
        console.confirm(&format!("{}: cancelled", clean(id)));
        return Ok(Exit::Done);
    }
    let why = format!(
        "no run with the id {:?} is waiting: it has started, was cancelled, or was never added",
        clean(id)
    );
    Err(Failure::new(Exit::Busy(Exit::BUSY), why))
}

pub(super) fn print(pending: &[Pending], console: &Console) -> Result<(), Failure> {
    if console.json {
        for run in pending {
            writeln!(console.out(), "{}", object(run))?;
        }
        return Ok(());
    }
    if pending.is_empty() {
        console.confirm("no run is pending");
    }
    table::print(["ID", "JOB", "AT", "STATE", "ADDED BY", "ARGUMENTS"], pending.iter().map(row), console)
}

fn row(run: &Pending) -> [String; 6] {
    let arguments: Vec<_> = run.arguments.iter().map(|(name, value)| format!("{name}={value}")).collect();
    [
        clean(&run.id),
        clean(&run.job),
        run.at.to_string(),
        if run.taken { "started" } else { "waiting" }.to_owned(),
        clean(&run.added_by),
        clean(&arguments.join(" ")),
    ]
}

fn object(run: &Pending) -> Value {
    json!({
        "id": run.id,
        "job": run.job,
        "at": run.at.to_string(),
        "started": run.taken,
        "added_by": run.added_by,
        "arguments": run.arguments,
    })
}
