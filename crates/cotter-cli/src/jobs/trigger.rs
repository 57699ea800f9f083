//! `cotter jobs trigger`.

use super::runs::Run;
use super::{arguments, hosts, refused};
use clap::Args;
use cotter_console::duration::words;
use cotter_console::{Console, Exit, Failure, clean};
use cotter_scheduler::{Ending, Entry, Jobs};
use std::io::Write;

/// What is run.
#[derive(Debug, Args)]
pub(super) struct Trigger {
    /// Wait until the run has ended, with its retries, unless the store goes away; exits with 1 unless it succeeded, and prints the end
    /// of its output
    #[arg(long)]
    wait: bool,
    /// The name of the job within the group
    job: String,
    /// Arguments: the command finds NAME=VALUE in its environment as COTTER_ARG_NAME
    #[arg(value_name = "NAME=VALUE", value_parser = arguments::parse)]
    arguments: Vec<(String, String)>,
}

pub(super) async fn run(jobs: &Jobs, which: &Trigger, console: &Console) -> Result<Exit, Failure> {
    let job = &which.job;
    let request = jobs.trigger_with(job, which.arguments.iter().cloned()).await.map_err(refused)?;
    console.confirm(&format!("{job}: triggered; a scheduler of the group will run it once"));
    hosts::remark_if_none(jobs, job, console).await;
    if !which.wait {
        return Ok(Exit::Done);
    }
    let Some(entry) = jobs.ended(&request).await? else {
        let why = "the history does not have its run: it was disabled before it could start, or many runs have followed";
        return Err(Failure::new(Exit::Unclean, format!("{job}: {why}")));
    };
    tell(job, &entry, console)
}

fn tell(job: &str, entry: &Entry, console: &Console) -> Result<Exit, Failure> {
    if console.json {
        writeln!(console.out(), "{}", Run { job, entry }.object())?;
    } else if let Some(output) = &entry.output {
        for line in output.lines() {
            writeln!(console.out(), "{}", clean(line))?;
        }
    }
    let host = if entry.host.is_empty() { String::new() } else { format!(" on {}", clean(&entry.host)) };
    let what = format!("{host} after {}: {}", words(entry.ended.since(entry.started)), entry.ending);
    match entry.ending {
        Ending::Ok => {
            console.confirm(&format!("{job}: ended{}", clean(&what)));
            Ok(Exit::Done)
        }
        _ => Err(Failure::new(Exit::Unclean, format!("{job}: ended{}", clean(&what)))),
    }
}
