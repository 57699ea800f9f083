//! `cotter jobs list --watch`.

use super::list::{self, Width};
use cotter_console::{Console, Exit, Failure};
use cotter_scheduler::{JobStatus, Jobs, UnixTime};
use std::collections::HashMap;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;
use tokio::time::sleep;

/// Clears the screen of a terminal.
const CLEAR: &[u8] = b"\x1b[H\x1b[2J";

/// Prints the status of all jobs until interrupted. A store that does not answer is asked again.
pub(super) async fn run(
    jobs: &Jobs,
    every: Duration,
    width: Width,
    console: &Console,
) -> Result<Exit, Failure> {
    let (mut known, mut is_down) = (HashMap::new(), false);
    loop {
        match look(jobs).await {
            Ok((found, now)) => {
                is_down = false;
                print(&found, now, width, &mut known, console)?;
            }
            Err(failure) if failure.exit != Exit::Unreachable => return Err(failure),
            Err(failure) if !std::mem::replace(&mut is_down, true) => console.failure(&failure),
            Err(_) => {}
        }
        sleep(every).await;
    }
}

async fn look(jobs: &Jobs) -> Result<(Vec<JobStatus>, UnixTime), Failure> {
    Ok((jobs.list().await?, jobs.now().await?))
}

/// Prints what there is: in place of the last time on a terminal, after an empty line elsewhere, and what has changed as JSON.
fn print(
    found: &[JobStatus],
    now: UnixTime,
    width: Width,
    known: &mut HashMap<String, JobStatus>,
    console: &Console,
) -> Result<(), Failure> {
    let mut out = io::stdout();
    if console.json {
        print_changes(found, known, console)?;
    } else if out.is_terminal() {
        out.write_all(CLEAR)?;
        list::print(found, now, width, console)?;
    } else {
        list::print(found, now, width, console)?;
        writeln!(out)?;
    }
    Ok(out.flush()?)
}

/// Prints the jobs that have changed, and those that are gone.
fn print_changes(
    found: &[JobStatus],
    known: &mut HashMap<String, JobStatus>,
    console: &Console,
) -> Result<(), Failure> {
    let mut before = std::mem::take(known);
    for job in found {
        if before.remove(&job.name).as_ref() != Some(job) {
            writeln!(console.out(), "{}", list::object(job))?;
        }
        known.insert(job.name.clone(), job.clone());
    }
    let mut gone: Vec<_> = before.into_keys().collect();
    gone.sort_unstable();
    for name in gone {
        writeln!(console.out(), "{}", serde_json::json!({ "job": name, "gone": true }))?;
    }
    Ok(())
}
