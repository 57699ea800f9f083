//! `cotter jobs trigger`.

use super::one_shots::instant;
use super::runs::Run;
use super::{arguments, hosts, refused};
use clap::Args;
use cotter_console::duration::words;
use cotter_console::requests::triggered;
use cotter_console::{Console, Exit, Failure, clean};
use cotter_scheduler::{Backfill, Ending, Entry, Jobs, Requested, UnixTime};
use serde_json::json;
use std::io::Write;

/// What is run.
#[derive(Debug, Args)]
pub(super) struct Trigger {
    /// Wait until the run has ended, with its retries, unless the store goes away; exits with 1 unless it succeeded, and prints the end
    /// of its output
    #[arg(long)]
    wait: bool,
    /// Run it for this slot of its trigger, which has passed, in RFC 3339 with an offset
    #[arg(long, value_name = "INSTANT", value_parser = instant, conflicts_with_all = ["from", "to", "arguments"])]
    slot: Option<UnixTime>,
    /// Run it for each slot from this instant on, one after the other, at most 16 of them
    #[arg(long, value_name = "INSTANT", value_parser = instant, requires = "to", conflicts_with = "arguments")]
    from: Option<UnixTime>,
    /// The end of these slots: one at this instant is not among them
    #[arg(long, value_name = "INSTANT", value_parser = instant, requires = "from")]
    to: Option<UnixTime>,
    /// The name of the job within the group
    job: String,
    /// Arguments: the command finds NAME=VALUE in its environment as COTTER_ARG_NAME
    #[arg(value_name = "NAME=VALUE", value_parser = arguments::parse)]
    arguments: Vec<(String, String)>,
}

pub(super) async fn run(jobs: &Jobs, which: &Trigger, console: &Console) -> Result<Exit, Failure> {
    let job = &which.job;
    let requests = request(jobs, which, console).await?;
    console.confirm(&format!("{job}: {}", triggered(&requests)));
    hosts::remark_if_none(jobs, job, console).await;
    match &requests[..] {
        _ if !which.wait => Ok(Exit::Done),
        [only] => wait(jobs, only, console).await,
        _ => wait_for_all(jobs, job, &requests, console).await,
    }
}

async fn request(jobs: &Jobs, which: &Trigger, console: &Console) -> Result<Vec<Requested>, Failure> {
    let job = &which.job;
    let one = match (which.slot, which.from.zip(which.to)) {
        (None, Some((from, to))) => {
            return match jobs.backfill(job, from, to).await.map_err(refused)? {
                Backfill::Requested(requests) => Ok(requests),
                Backfill::TooMany { slots, more, waiting } => {
                    Err(too_many(job, slots, more, waiting, console)?)
                }
                other => Err(Failure::new(Exit::Unclean, format!("{job}: {other:?}"))),
            };
        }
        (Some(slot), _) => jobs.trigger_slot(job, slot).await,
        (None, None) => jobs.trigger_with(job, which.arguments.iter().cloned()).await,
    };
    Ok(vec![one.map_err(refused)?])
}

/// The refusal of a request for too many slots. It may succeed later if that is because of others that wait.
fn too_many(
    job: &str,
    slots: usize,
    more: bool,
    waiting: usize,
    console: &Console,
) -> Result<Failure, Failure> {
    let most = Jobs::MAX_REQUESTS;
    if console.json {
        let object = json!({
            "job": job, "result": "too_many", "slots": slots, "more": more, "waiting": waiting, "most": most,
        });
        writeln!(console.out(), "{object}")?;
    }
    let count = if more { format!("more than {slots}") } else { slots.to_string() };
    let others = if waiting > 0 { format!(", besides {waiting} that wait already") } else { String::new() };
    let why = format!("{job}: {count} slots{others}: at most {most} can wait; nothing was requested");
    Ok(if slots > most { Failure::usage(why) } else { Failure::new(Exit::Busy(Exit::BUSY), why) })
}

async fn wait(jobs: &Jobs, request: &Requested, console: &Console) -> Result<Exit, Failure> {
    let job = match request.slot() {
        Some(slot) => format!("{}, {slot}", request.job()),
        None => request.job().to_owned(),
    };
    let Some(entry) = jobs.ended(request).await? else {
        let why = match request.slot() {
            Some(_) => {
                "the job was disabled or the slot cancelled before it could start, or many runs have followed"
            }
            None => "it was disabled before it could start, or many runs have followed",
        };
        return Err(Failure::new(Exit::Unclean, format!("{job}: the history does not have its run: {why}")));
    };
    tell(request.job(), &job, &entry, console)
}

/// Each is told when it has ended.
async fn wait_for_all(
    jobs: &Jobs,
    job: &str,
    requests: &[Requested],
    console: &Console,
) -> Result<Exit, Failure> {
    let mut failed = 0;
    for request in requests {
        match wait(jobs, request, console).await {
            Ok(_) => {}
            Err(failure) if failure.exit == Exit::Unclean => {
                console.problem(&failure.message);
                failed += 1;
            }
            Err(failure) => return Err(failure),
        }
    }
    match failed {
        0 => Ok(Exit::Done),
        _ => {
            let why = format!("{job}: {failed} of {} slots did not succeed", requests.len());
            Err(Failure::new(Exit::Unclean, why))
        }
    }
}

fn tell(job: &str, called: &str, entry: &Entry, console: &Console) -> Result<Exit, Failure> {
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
            console.confirm(&format!("{called}: ended{}", clean(&what)));
            Ok(Exit::Done)
        }
        _ => Err(Failure::new(Exit::Unclean, format!("{called}: ended{}", clean(&what)))),
    }
}
