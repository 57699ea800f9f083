//! `redis:` between processes, with everything going wrong at once.

use crate::setup::{beside_others_on, demand_all_back, show};
use cotter_testkit::holder::Habits;
use cotter_testkit::processes::{Injections, Run};
use cotter_testkit::servers::{FaultRates, Proxy, Redis};
use cotter_testkit::storm::Storm;
use cotter_testkit::{Usage, sized};
use std::time::Duration;

const TTL: Duration = Duration::from_millis(300);
/// All leases have ended then, also on a machine that is busy.
const LEASES_END: Duration = Duration::from_millis(1500);

const OPTIONS: &str = "timeout=250ms&connect_timeout=3s&retain=5s";

const RATES: FaultRates = FaultRates {
    late_requests: 0.03,
    late_by: Duration::from_millis(600),
    lost_replies: 0.05,
    lost_messages: 0.03,
    late_messages: 0.10,
};

/// Eight processes on a server that drops and delays, kills subscriptions, runs out of memory and evicts; one of them is
/// stopped every 0.6 s, now and then one is killed.
#[test]
#[ignore = "needs redis-server"]
fn storm() {
    let server = Redis::start();
    let proxy = Proxy::start(server.port());
    let (_place, mut run) = beside_others_on(&proxy.redis_url(OPTIONS));
    stormy(&mut run);
    run.orders.names = (0..sized(4, 16)).map(|i| format!("name {i}")).collect();
    (run.acquisitions, run.faults) = (sized(7_000, 200_000), sized(1_000, 5_000));
    let mut storm =
        Storm::begin(&server, &proxy, RATES, &run.orders.names, run.orders.seed).expect("a storm");
    run.contended = sized(5_000, 80_000);
    let report = run.go_under(&mut storm).expect("the run can be made");
    show("storm", &report);
    report.demand_clean_but_for(|error| error.contains("unavailable: "));
}

/// The same with readers and writers, and with permits, beside mutexes. The order of arrival is watched for the mutexes, whose
/// holders are also evicted.
#[test]
#[ignore = "needs redis-server"]
fn storm_in_all_modes() {
    let server = Redis::start();
    let proxy = Proxy::start(server.port());
    let (_place, mut run) = beside_others_on(&proxy.redis_url(OPTIONS));
    stormy(&mut run);
    run.orders.names = ["one", "read", "limited", "one at a time"].map(String::from).to_vec();
    run.orders.usages = vec![
        Usage::Mutex,
        Usage::RwLock { writers: 0.2 },
        Usage::Semaphore { of: 4, most: 3 },
        Usage::Semaphore { of: 1, most: 1 },
    ];
    (run.acquisitions, run.faults) = (sized(3_500, 200_000), sized(500, 5_000));
    let mut storm =
        Storm::begin(&server, &proxy, RATES, &run.orders.names[..1], run.orders.seed).expect("a storm");
    run.contended = sized(1_700, 60_000);
    let report = run.go_under(&mut storm).expect("the run can be made");
    show("storm in all modes", &report);
    report.demand_clean_but_for(|error| error.contains("unavailable: "));
    demand_all_back(&run, LEASES_END);
}

/// Twelve processes want a semaphore of three, and are killed: never more than three inside, and all permits come back soon
/// after their leases have ended.
#[test]
#[ignore = "needs redis-server"]
fn kills_of_holders_of_permits_on_redis() {
    let server = Redis::start();
    let (_place, mut run) = beside_others_on(&server.url(""));
    run.processes = 12;
    run.orders.usages = vec![Usage::Semaphore { of: 3, most: 2 }];
    (run.orders.tasks, run.orders.work_us, run.orders.ttl_ms) = (2, 2000, TTL.as_millis() as u64);
    // The permits of the dead are held until their leases end.
    (run.limits.idle, run.limits.place_slack) = (Duration::from_secs(4), Duration::from_secs(5));
    run.acquisitions = sized(2_000, 50_000);
    run.kills = sized(15, 100);
    run.patience = Duration::from_secs(sized(300, 2400) as u64);
    let every = sized(200_000, 2_000_000);
    run.injections =
        Injections { kill_every: Some(every..every + 1), kill_holders: 0.9, ..Injections::default() };
    let report = run.go().expect("the run can be made");
    show("kills of holders of permits on redis", &report);
    report.demand_clean();
    demand_all_back(&run, LEASES_END);
}

/// Eight processes whose tasks do everything at random, and which are stopped and killed.
fn stormy(run: &mut Run) {
    run.processes = 8;
    run.orders.tasks = 6;
    run.orders.habits = Habits::Erratic;
    run.orders.work_us = 2000;
    run.orders.ttl_ms = TTL.as_millis() as u64;
    run.patience = Duration::from_secs(sized(600, 10_000) as u64);
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
}
