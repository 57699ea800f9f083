//! A crowd of processes on one name of a Redis server.

use crate::setup::{on, show};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::Redis;
use cotter_testkit::sized;
use std::time::Duration;

/// Fifty processes with twenty tasks each want one name: all are served, in order of arrival.
#[test]
#[ignore = "needs redis-server"]
fn fifty_processes_of_twenty() {
    let server = Redis::start();
    let (_place, mut run) = on(&server.url(""));
    (run.processes, run.orders.tasks, run.orders.work_us) = (50, 20, 1000);
    run.acquisitions = sized(5_000, 50_000);
    run.patience = Duration::from_secs(sized(300, 1200) as u64);
    // There are many more processes than cores.
    run.limits.place_slack = Duration::from_secs(1);
    run.limits.idle = Duration::from_secs(1);
    let report = run.go().expect("the run can be made");
    show("fifty processes", &report);
    report.demand_clean();
    let served = report.shares("one").len();
    demand(served == 50, Kind::StuckWaiter, format!("{served} of 50 processes were served"));
}
