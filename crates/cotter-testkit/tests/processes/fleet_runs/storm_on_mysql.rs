//! `mysql:` between processes, while sessions are ended and the server crashes.

use super::six_with_leases_of_two_seconds;
use crate::setup::{beside_others_on, show};
use cotter_testkit::sized;
use cotter_testkit::storm::Sessions;
use std::time::Duration;

/// Six processes with leases of 2 s; one of them is stopped every second, for up to twice its lease, now and then one is
/// killed. Every second a session is ended, sometimes all of them, and sometimes the server crashes.
fn sessions_and_processes(mode: &str, acquisitions: usize, place_slack: Duration) {
    let mut sessions = Sessions::on_mariadb(1);
    let (_place, mut run) =
        beside_others_on(&sessions.url(&format!("mode={mode}&timeout=1s&connect_timeout=1s")));
    six_with_leases_of_two_seconds(&mut run, 1_000_000..2_000_000);
    run.orders.names = (0..16).map(|i| format!("name {i}")).collect();
    run.orders.tasks = 16;
    run.limits.place_slack = place_slack;
    (run.acquisitions, run.faults) = (sized(acquisitions, 100_000), sized(20, 300));
    run.contended = sized(2_000, 30_000);
    let report = run.go_under(&mut sessions).expect("the run can be made");
    show(&format!("mysql in mode={mode}, sessions and processes in trouble"), &report);
    report.demand_clean_but_for(|error| error.contains("unavailable: "));
}

#[test]
#[ignore = "needs mariadbd"]
fn sessions_and_processes_in_trouble() {
    sessions_and_processes("lease", 5_200, Duration::from_secs(15));
}

/// The server has no queue: who asks at the right moment is served, in whatever order they came.
#[test]
#[ignore = "needs mariadbd"]
fn leases_of_shedlock_in_trouble() {
    sessions_and_processes("shedlock", 5_200, Duration::MAX);
}
