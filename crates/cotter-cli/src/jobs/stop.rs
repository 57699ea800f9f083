//! `cotter jobs stop`.

use clap::Args;
use cotter_console::duration::parse;
use cotter_console::requests::{stopped, was_stopped};
use cotter_console::{Console, Exit, Failure, clean};
use cotter_scheduler::{Jobs, Stopping};
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
    let text = format!("{job}: {}", stopped(&told, which.wait));
    match told {
        Stopping::Ended(_) if was_stopped(&told) => console.confirm(&text),
        Stopping::Ended(_) => console.remark(&text),
        Stopping::Waiting { .. } => return Err(Failure::new(Exit::Unclean, text)),
        _ => return Err(Failure::new(Exit::Busy(Exit::BUSY), text)),
    }
    Ok(Exit::Done)
}

fn object(job: &str, told: &Stopping) -> Value {
    let object = |result: &str| json!({ "job": job, "result": result });
    match told {
        Stopping::Ended(entry) => {
            let entry = entry.as_ref();
            json!({
                "job": job,
                "result": if was_stopped(told) { "stopped" } else { "ended" },
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
