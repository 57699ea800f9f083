//! `file:` between processes that are paused and killed.

use crate::setup::{demand_all_back, on_files, show};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::holder::Habits;
use cotter_testkit::processes::{Injections, Report, Run};
use cotter_testkit::timing::Stopwatch;
use cotter_testkit::{Usage, sized};
use std::time::Duration;

/// Eight processes that do everything at random, and are killed and stopped at random.
fn erratic(run: &mut Run) {
    run.processes = 8;
    run.orders.habits = Habits::Erratic;
    run.orders.work_us = 2000;
    run.injections = Injections {
        kill_every: Some(10_000..60_000),
        kill_holders: 0.7,
        stop_every: Some(100_000..300_000),
        stop_for_us: 1000..60_000,
    };
}

/// Eight processes with eight tasks each do everything that can be done with a mutex, are killed and stopped at
/// random, and nobody ever believes to hold what somebody else holds.
#[test]
fn stress() {
    let (_place, mut run) = on_files();
    erratic(&mut run);
    run.orders.names = vec!["one".into(), "two".into()];
    run.after_kills = 20;
    run.acquisitions = sized(10_000, 100_000);
    run.patience = Duration::from_secs(sized(300, 1200) as u64);
    let watch = Stopwatch::of(Kind::SlowHandOver);
    let report = run.go().expect("the run can be made");
    show("stress", &report);
    report.demand_clean();
    let p99 = report.after_kill.at(99);
    let what = "after a kill the next holder runs, at the 99th percentile";
    watch.took_at_most(p99, Duration::from_millis(50), what);
}

/// The same with readers and writers on one name, and permits of a semaphore on another.
#[test]
fn stress_in_all_modes() {
    let (_place, mut run) = on_files();
    erratic(&mut run);
    run.orders.names = vec!["one".into(), "read".into(), "limited".into()];
    run.orders.usages =
        vec![Usage::Mutex, Usage::RwLock { writers: 0.2 }, Usage::Semaphore { of: 4, most: 3 }];
    run.limits.idle = Duration::from_secs(1);
    run.limits.place_slack = Duration::from_secs(5);
    run.acquisitions = sized(10_000, 200_000);
    run.patience = Duration::from_secs(sized(300, 2400) as u64);
    let report = run.go().expect("the run can be made");
    show("stress in all modes", &report);
    report.demand_clean();
    demand_all_back(&run, Duration::ZERO);
}

/// Twelve processes want a semaphore of three, and are killed: never more than three inside, and all permits come back.
#[test]
fn kills_of_holders_of_permits() {
    let (_place, mut run) = on_files();
    run.processes = 12;
    run.orders.usages = vec![Usage::Semaphore { of: 3, most: 2 }];
    // There are many more processes than cores.
    run.limits.idle = Duration::from_secs(1);
    (run.orders.tasks, run.orders.work_us) = (2, 2000);
    run.acquisitions = sized(2_000, 50_000);
    run.patience = Duration::from_secs(sized(300, 2400) as u64);
    // In a run of full length, once every two seconds.
    let every = sized(200_000, 2_000_000);
    run.injections =
        Injections { kill_every: Some(every..every + 1), kill_holders: 0.9, ..Injections::default() };
    let report = run.go().expect("the run can be made");
    show("kills of holders of permits", &report);
    report.demand_clean();
    demand_all_back(&run, Duration::ZERO);
}

/// Four saturated processes: each gets its share of the slices, in order of arrival.
#[test]
fn fair_shares() {
    let (_place, mut run) = on_files();
    run.orders.work_us = 300;
    run.acquisitions = sized(10_000, 100_000);
    let report = run.go().expect("the run can be made");
    show("fair shares", &report);
    report.demand_clean();
    let shares = report.shares("one");
    let all: usize = shares.values().sum();
    let least = shares.values().min().copied().unwrap_or(0);
    let text = format!("of {all} slices the least served process got {least}: {shares:?}");
    demand(shares.len() == 4 && least * 100 >= all * 15, Kind::UnfairShare, text);
}

/// The holder is killed again and again: nobody who waits sleeps on while the lock is free.
#[test]
fn kills_of_the_holder() {
    let kills = sized(500, 10_000);
    let report = kill_holders(kills, kills.div_ceil(3), Duration::from_secs(sized(300, 2400) as u64));
    show("kills of the holder", &report);
    report.demand_clean();
}

/// The same, but short.
#[test]
fn a_few_kills_of_the_holder() {
    kill_holders(100, 1, Duration::from_secs(120)).demand_clean();
}

fn kill_holders(kills: usize, after_kills: usize, patience: Duration) -> Report {
    let (_place, mut run) = on_files();
    run.processes = 6;
    run.orders.tasks = 2;
    run.orders.work_us = 4000;
    (run.kills, run.after_kills, run.acquisitions) = (kills, after_kills, kills);
    run.patience = patience;
    run.injections = Injections { kill_every: Some(0..20_000), kill_holders: 1.0, ..Injections::default() };
    run.go().expect("the run can be made")
}
