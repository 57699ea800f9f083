//! `cotter jobs list --watch`.

use super::list::{self, Width};
use crate::watching::{Changes, page, watch};
use cotter_console::{Console, Exit, Failure};
use cotter_scheduler::{JobStatus, Jobs, UnixTime};
use std::io::Write;
use std::time::Duration;

/// Prints the status of all jobs until interrupted.
pub(super) async fn run(
    jobs: &Jobs,
    every: Duration,
    width: Width,
    console: &Console,
) -> Result<Exit, Failure> {
    let mut known = Changes::default();
    watch(every, console, async || {
        let (found, now) = look(jobs).await?;
        match console.json {
            true => print_changes(found, &mut known, console),
            false => page(|| list::print(&found, now, width, console)),
        }
    })
    .await
}

async fn look(jobs: &Jobs) -> Result<(Vec<JobStatus>, UnixTime), Failure> {
    Ok((jobs.list().await?, jobs.now().await?))
}

/// Prints the jobs that have changed, and those that are gone.
fn print_changes(
    found: Vec<JobStatus>,
    known: &mut Changes<JobStatus>,
    console: &Console,
) -> Result<(), Failure> {
    let (changed, gone) = known.take(found.iter().map(|job| (job.name.clone(), job.clone())).collect());
    for job in found.iter().filter(|job| changed.contains(&job.name)) {
        writeln!(console.out(), "{}", list::object(job))?;
    }
    for name in gone {
        writeln!(console.out(), "{}", serde_json::json!({ "job": name, "gone": true }))?;
    }
    Ok(console.out().flush()?)
}
