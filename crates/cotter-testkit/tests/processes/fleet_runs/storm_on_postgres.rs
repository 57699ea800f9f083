//! `postgres:` between processes, while sessions are ended and the server crashes.

use crate::setup::{on, show};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::holder::Habits;
use cotter_testkit::processes::Injections;
use cotter_testkit::sized;
use cotter_testkit::storm::Sessions;
use std::time::Duration;

/// Six processes with leases of 2 s; one of them is stopped every second, for up to twice its lease, now and then one is
/// killed. Every half second a session is ended, sometimes all of them, and sometimes the server crashes.
#[test]
#[ignore = "needs postgres"]
fn sessions_and_processes_in_trouble() {
    let mut sessions = Sessions::begin(1);
    let (_place, mut run) = on(&sessions.url("timeout=1s&connect_timeout=1s"));
    run.processes = 6;
    run.orders.names = (0..16).map(|i| format!("name {i}")).collect();
    run.orders.tasks = 16;
    run.orders.habits = Habits::Erratic;
    run.orders.work_us = 2000;
    run.orders.ttl_ms = 2_000;
    run.acquisitions = sized(5_200, 150_000);
    run.patience = Duration::from_secs(sized(180, 3600) as u64);
    run.injections = Injections {
        kill_every: Some(3_000_000..6_000_000),
        kill_holders: 0.5,
        stop_every: Some(1_000_000..2_000_000),
        stop_for_us: 50_000..4_000_000,
    };
    // A process that is stopped for longer than it may be silent loses its place.
    run.limits.place_slack = Duration::from_secs(8);
    run.limits.idle = Duration::from_secs(15);
    run.limits.loss_margin = Duration::from_secs(1);
    let report = run.go_under(&mut sessions).expect("the run can be made");
    show("postgres, sessions and processes in trouble", &report);
    demand(report.contended >= sized(2_000, 50_000), Kind::Void, "too few had to wait for each other");
    demand(report.confirmed >= sized(20, 300), Kind::Void, "too little went wrong");
    report.demand_clean_but_for(|error| error.contains("unavailable: "));
}
