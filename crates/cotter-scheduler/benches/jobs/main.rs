//! What scheduled jobs cost: `cargo bench -p cotter-scheduler --bench jobs [PART]…`.
#![allow(clippy::print_stdout, reason = "a benchmark talks")]

mod idle;
mod starts;

use cotter::Client;
use cotter_scheduler::{Job, Scheduler};
use std::time::Duration;
use tokio::runtime::Runtime;

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let parts: [(&str, fn()); 4] = [
        ("jobs-idle", idle::run),
        ("jobs-memory", starts::memory),
        ("jobs-file", starts::file),
        ("jobs-redis", starts::redis),
    ];
    for (name, part) in parts {
        if wanted.is_empty() || wanted.iter().any(|w| w == name) {
            println!("\n## {name}");
            part();
        }
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime")
}

/// Runs these jobs while `watch` looks on.
async fn scheduled(client: &Client, jobs: Vec<Job>, watch: impl Future) {
    let scheduler = Scheduler::new(client, "bench").workers(1000).jobs(jobs).observe(|_| {});
    scheduler.run_until(watch, Duration::from_secs(10)).await.expect("the jobs can be run");
}
