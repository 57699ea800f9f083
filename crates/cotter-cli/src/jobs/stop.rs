//! `cotter jobs stop`.

use clap::Args;
use cotter_console::duration::{parse, words};
use cotter_console::{Console, Exit, Failure, clean};
use cotter_scheduler::{Ending, Entry, Jobs, Stopping};
use serde_json::{Value, json};
use std::io::Write;
use std::time::Duration;

/// What is stopped.
#[derive(Debug, Args)]
pub(super) struct Stop {
    /// The name of the job within the group
    job: String,
    /// How long to wait for the end of the run; after that, the request stands in the store
    #[arg(short, long, value_name = "DURATION", default_value = "30s", value_parser = parse)]
    wait: Duration,
}

pub(super) async fn run(jobs: &Jobs, which: &Stop, console: &Console) -> Result<Exit, Failure> {
    let job = clean(&which.job);
    let told = jobs.stop(&which.job, which.wait).await?;
    if console.json {
        writeln!(console.out(), "{}", object(&which.job, &told))?;
    }
    match told {
        Stopping::Ended(entry) => {
            let (is_stopped, how) = ending(entry.as_deref());
            let text = format!("{job}: {how}");
            if is_stopped {
                console.confirm(&text)
            } else {
                console.remark(&text)
            }
            Ok(Exit::Done)
        }
        Stopping::Waiting { host, started } => {
            let host = host.map_or_else(|| "its host".to_owned(), |host| format!("host {}", clean(&host)));
            let why = format!(
                "{job}: the run that began at {started:.0} has not ended within {}: {host} has not reacted, or the run takes longer \
                 to stop; the request stands",
                words(which.wait)
            );
            Err(Failure::new(Exit::Unclean, why))
        }
        _ => Err(Failure::new(Exit::Busy(Exit::BUSY), format!("{job}: no run is in progress"))),
    }
}

/// Whether it was stopped, and how it has ended.
fn ending(entry: Option<&Entry>) -> (bool, String) {
    let Some(entry) = entry else {
        return (false, "the run has ended, and is no longer in the history".to_owned());
    };
    let host = if entry.host.is_empty() { String::new() } else { format!(" on {}", clean(&entry.host)) };
    let took = words(entry.ended.since(entry.started));
    match &entry.ending {
        Ending::StoppedBy(_) => (true, format!("stopped{host} after {took}")),
        other => {
            let how = clean(&other.to_string());
            (false, format!("not stopped: the run has ended{host} after {took} in another way: {how}"))
        }
    }
}

fn object(job: &str, told: &Stopping) -> Value {
    let object = |result: &str| json!({ "job": job, "result": result });
    match told {
        Stopping::Ended(entry) => {
            let is_stopped = entry.as_ref().is_some_and(|entry| matches!(entry.ending, Ending::StoppedBy(_)));
            let entry = entry.as_ref();
            json!({
                "job": job,
                "result": if is_stopped { "stopped" } else { "ended" },
                "host": entry.map(|entry| &entry.host),
                "token": entry.map(|entry| entry.token.to_string()),
                "outcome": entry.map(|entry| entry.ending.word()),
                "reason": entry.and_then(|entry| entry.ending.reason()),
            })
        }
        Stopping::Waiting { host, .. } => json!({ "job": job, "result": "waiting", "host": host }),
        _ => object("not_running"),
    }
}
