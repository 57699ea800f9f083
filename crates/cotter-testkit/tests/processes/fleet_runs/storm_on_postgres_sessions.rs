//! `postgres:` between processes, in the modes in which a lock lives with a session, while sessions are ended and the server crashes.

use super::six_with_leases_of_two_seconds;
use crate::setup::{beside_others_on, show};
use cotter_testkit::sized;
use cotter_testkit::storm::Sessions;
use std::time::Duration;

/// Six processes, whose sessions the server ends after two seconds of silence. One of them is stopped every second, for up to
/// twice that time, now and then one is killed. Every second a session is ended, sometimes all of them, and sometimes the server
/// crashes: only then do two believe to hold at once, and only until the first one has heard of it. Tokens tell them apart.
fn sessions_and_processes(mode: &str, acquisitions: usize) {
    let mut sessions = Sessions::on_postgres(1);
    let options = format!("mode={mode}&session_timeout=2s&timeout=1s&connect_timeout=1s");
    let (_place, mut run) = beside_others_on(&sessions.url(&options));
    six_with_leases_of_two_seconds(&mut run, 700_000..1_300_000);
    // A stopped process keeps up, for two seconds, all names that it holds or stands in line for: up to 16, one for each task.
    run.orders.names = (0..48).map(|i| format!("name {i}")).collect();
    run.orders.tasks = 16;
    // The end of a session is told at once. The rest is for a busy machine, and for asking whether somebody has evicted the holder.
    run.limits.unheard = Duration::from_millis(500);
    (run.acquisitions, run.faults) = (sized(acquisitions, 50_000), sized(16, 300));
    run.contended = sized(500, 15_000);
    let report = run.go_under(&mut sessions).expect("the run can be made");
    show(&format!("postgres in mode={mode}, sessions and processes in trouble"), &report);
    report.demand_clean_but_for(|error| error.contains("unavailable: "));
}

#[test]
#[ignore = "needs postgres"]
fn rows_of_processes_in_trouble() {
    sessions_and_processes("row", 5_200);
}

#[test]
#[ignore = "needs postgres"]
fn advisory_locks_of_processes_in_trouble() {
    sessions_and_processes("advisory", 5_200);
}
