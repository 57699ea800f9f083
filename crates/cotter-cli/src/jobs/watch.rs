//! `cotter jobs list --watch`.

use super::list::{self, Width};
use crate::watching::{Changes, page, watch};
use cotter_console::{Console, Exit, Failure};
use cotter_scheduler::{JobStatus, Jobs, UnixTime};
use std::collections::BTreeMap;
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
            true => {
                let jobs: BTreeMap<_, _> = found.into_iter().map(|job| (job.name.clone(), job)).collect();
                let object = |name: &str| jobs.get(name).map(|job| list::object(job).to_string());
                known.print("job", jobs.clone(), object, console)
            }
            false => page(|| list::print(&found, now, width, console)),
        }
    })
    .await
}

async fn look(jobs: &Jobs) -> Result<(Vec<JobStatus>, UnixTime), Failure> {
    Ok((jobs.list().await?, jobs.now().await?))
}
