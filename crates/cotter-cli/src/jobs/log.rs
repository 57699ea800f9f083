//! `cotter jobs log`.

use crate::table;
use clap::Args;
use cotter_console::{Console, Failure, clean};
use cotter_scheduler::{Jobs, Logged};
use serde_json::json;
use std::io::Write;

/// Which requests.
#[derive(Debug, Args)]
pub(super) struct Which {
    /// The name of a job within the group: only requests to it, and to the whole group [default: all jobs]
    job: Option<String>,
    /// Show only this many: the last ones
    #[arg(short = 'n', long, value_name = "N")]
    last: Option<usize>,
}

pub(super) async fn print(jobs: &Jobs, which: &Which, console: &Console) -> Result<(), Failure> {
    let mut log = jobs.log(which.job.as_deref()).await?;
    log.drain(..log.len().saturating_sub(which.last.unwrap_or(usize::MAX)));
    if console.json {
        for Logged { at, by, job, action, about, .. } in &log {
            let at = format!("{at:.3}");
            let object = json!({ "at": at, "by": by, "job": job, "action": action, "about": about });
            writeln!(console.out(), "{object}")?;
        }
        return Ok(());
    }
    if log.is_empty() {
        console.confirm("no request is in the log");
    }
    table::print_with_lines(&["TIME", "BY", "JOB", "ACTION"], log.iter().map(row).collect(), console)
}

/// What is said about it has a line of its own.
fn row(request: &Logged) -> (Vec<String>, Option<String>) {
    let job = request.job.as_deref().map_or_else(|| "(all)".to_owned(), clean);
    let row = vec![format!("{:.0}", request.at), clean(&request.by), job, clean(&request.action)];
    (row, request.about.as_deref().map(clean))
}
