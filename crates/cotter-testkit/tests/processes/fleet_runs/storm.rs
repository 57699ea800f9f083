//! `redis:` between processes, with everything going wrong at once.

use crate::setup::{on, show};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::holder::Habits;
use cotter_testkit::processes::Injections;
use cotter_testkit::servers::{FaultRates, Proxy, Redis};
use cotter_testkit::sized;
use cotter_testkit::storm::Storm;
use std::time::Duration;

const TTL: Duration = Duration::from_millis(300);

/// Eight processes on a server that drops and delays, kills subscriptions, runs out of memory and evicts; one of them is
/// stopped every 0.6 s, now and then one is killed.
#[test]
#[ignore = "needs redis-server"]
fn storm() {
    let server = Redis::start();
    let proxy = Proxy::start(server.port());
    let (_place, mut run) = on(&proxy.redis_url("timeout=250ms&connect_timeout=3s&retain=5s"));
    run.processes = 8;
    run.orders.names = (0..sized(4, 16)).map(|i| format!("name {i}")).collect();
    run.orders.tasks = 6;
    run.orders.habits = Habits::Erratic;
    run.orders.work_us = 2000;
    run.orders.ttl_ms = TTL.as_millis() as u64;
    run.acquisitions = sized(6_500, 200_000);
    run.patience = Duration::from_secs(sized(240, 3600) as u64);
    run.injections = Injections {
        kill_every: Some(2_000_000..4_000_000),
        kill_holders: 0.5,
        stop_every: Some(400_000..800_000),
        stop_for_us: 50_000..1_500_000,
    };
    // Whoever has trouble on its way comes late, and a machine that is busy tells late.
    run.limits.place_slack = Duration::from_secs(5);
    run.limits.idle = Duration::from_secs(4);
    run.limits.loss_margin = Duration::from_secs(1);
    let rates = FaultRates {
        late_requests: 0.03,
        late_by: TTL * 2,
        lost_replies: 0.05,
        lost_messages: 0.03,
        late_messages: 0.10,
    };
    let mut storm =
        Storm::begin(&server, &proxy, rates, &run.orders.names, run.orders.seed).expect("a storm");
    let report = run.go_under(&mut storm).expect("the run can be made");
    show("storm", &report);
    demand(report.contended >= sized(5_000, 80_000), Kind::Void, "too few had to wait for each other");
    demand(report.confirmed >= sized(1_000, 5_000), Kind::Void, "too little went wrong");
    report.demand_clean_but_for(|error| error.contains("unavailable: "));
}
