//! `mysql:` between processes, in the modes in which a lock lives with a session.

use super::six_with_leases_of_two_seconds;
use crate::setup::{on, show};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::processes::NoTrouble;
use cotter_testkit::servers::Mariadb;
use cotter_testkit::sized;

/// Six processes, whose sessions the server ends after two seconds of silence. One of them is stopped every second, for up to
/// twice that time, now and then one is killed. As long as the server ends no session for another reason, no two hold at once.
fn processes_in_trouble(mode: &str, acquisitions: usize) {
    let server = Mariadb::start();
    server.migrate("");
    let options = format!("mode={mode}&session_timeout=2s&timeout=1s&connect_timeout=1s");
    let (_place, mut run) = on(&server.url(&options));
    six_with_leases_of_two_seconds(&mut run, 700_000..1_300_000);
    run.orders.names = (0..16).map(|i| format!("name {i}")).collect();
    run.orders.tasks = 16;
    (run.acquisitions, run.faults) = (sized(acquisitions, 50_000), sized(8, 300));
    let report = run.go_under(&mut NoTrouble).expect("the run can be made");
    show(&format!("mysql in mode={mode}, processes in trouble"), &report);
    demand(report.contended >= sized(500, 15_000), Kind::Void, "too few had to wait for each other");
    report.demand_clean_but_for(|error| error.contains("unavailable: "));
}

#[test]
#[ignore = "needs mariadbd"]
fn rows_of_processes_in_trouble() {
    processes_in_trouble("row", 6_400);
}

#[test]
#[ignore = "needs mariadbd"]
fn advisory_locks_of_processes_in_trouble() {
    processes_in_trouble("advisory", 5_000);
}
