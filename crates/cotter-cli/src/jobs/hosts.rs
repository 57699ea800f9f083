//! `cotter jobs hosts`, and what is said where none is there.

use crate::table;
use cotter_console::duration::{millis, words};
use cotter_console::job::from_now;
use cotter_console::requests::{nobody, nobody_to_start};
use cotter_console::{Console, Failure, clean};
use cotter_scheduler::{Host, Jobs, UnixTime};
use serde_json::{Value, json};
use std::io::Write;

pub(super) async fn print(jobs: &Jobs, console: &Console) -> Result<(), Failure> {
    let hosts = jobs.hosts().await?;
    if console.json {
        for host in &hosts {
            writeln!(console.out(), "{}", object(host))?;
        }
        return Ok(());
    }
    if hosts.is_empty() {
        console.confirm(&nobody());
        return Ok(());
    }
    let now = jobs.now().await?;
    let head = ["HOST", "STARTED", "SEEN", "BUSY", "CLOCK OFF", "VERSION", "LABELS"];
    table::print(head, hosts.iter().map(|host| row(host, now)), console)
}

fn row(host: &Host, now: UnixTime) -> [String; 7] {
    [
        host.name.as_deref().map_or_else(|| "-".to_owned(), clean),
        from_now(host.since, now),
        from_now(host.seen, now),
        format!("{} of {}", host.busy, host.workers),
        words(host.clock_offset),
        clean(&host.version),
        if host.labels.is_empty() { "-".to_owned() } else { clean(&host.labels.join(" ")) },
    ]
}

fn object(host: &Host) -> Value {
    json!({
        "host": host.name,
        "since": format!("{:.3}", host.since),
        "seen": format!("{:.3}", host.seen),
        "workers": host.workers,
        "busy": host.busy,
        "no_worker_since": host.no_worker_since.map(|since| format!("{since:.3}")),
        "clock_offset_ms": millis(host.clock_offset),
        "version": host.version,
        "labels": host.labels,
    })
}

/// Says so where a run of a job is asked for, and no scheduler is there to start it.
pub(super) async fn remark_if_none(jobs: &Jobs, job: &str, console: &Console) {
    if let Some(none) = nobody_to_start(jobs, job).await {
        console.warning(&none);
    }
}
