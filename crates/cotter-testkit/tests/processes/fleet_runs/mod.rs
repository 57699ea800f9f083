//! Runs that mostly wait, and in which a busy machine does not matter.

mod replicas;
mod storm_on_etcd;
mod storm_on_mysql;
mod storm_on_mysql_sessions;
mod storm_on_postgres;
mod storm_on_postgres_sessions;
mod storm_on_redis;
mod storm_on_redlock;
mod storm_on_zookeeper;

use crate::setup::{beside_others_on, show};
use cotter_testkit::holder::Habits;
use cotter_testkit::processes::{Injections, Run, Trouble};
use cotter_testkit::sized;
use std::ops::Range;
use std::time::Duration;

/// Six processes that do everything at random. One of them is stopped so many microseconds after the last one was, for up to
/// twice its lease; now and then one is killed.
fn six_with_leases_of_two_seconds(run: &mut Run, stop_every: Range<u64>) {
    run.processes = 6;
    run.orders.habits = Habits::Erratic;
    run.orders.work_us = 2000;
    run.orders.ttl_ms = 2_000;
    run.patience = Duration::from_secs(sized(600, 7200) as u64);
    run.injections = Injections {
        kill_every: Some(3_000_000..6_000_000),
        kill_holders: 0.5,
        stop_every: Some(stop_every),
        stop_for_us: 50_000..4_000_000,
    };
    // Whoever is stopped for longer than its lease, or than it may be silent, loses its place, and that may happen to a process
    // three times in a row; and while the server is away, or a leader is chosen that sets all leases anew, nobody is served.
    run.limits.place_slack = Duration::from_secs(15);
    run.limits.idle = Duration::from_secs(15);
    run.limits.loss_margin = Duration::from_secs(1);
}

/// Six processes on mutexes, to which nothing happens, while the leader of their cluster is stopped for two leases, 50 times at
/// full length: what it says when it goes on makes nobody believe in a lock that somebody else has.
fn leaders_are_paused(store: &str, url: &str, trouble: &mut dyn Trouble) {
    let (_place, mut run) = beside_others_on(url);
    six_with_leases_of_two_seconds(&mut run, 0..1);
    run.injections = Injections::default();
    run.orders.names = (0..4).map(|i| format!("name {i}")).collect();
    (run.acquisitions, run.faults) = (sized(300, 5_000), sized(3, 50));
    run.contended = sized(100, 2_000);
    let report = run.go_under(trouble).expect("the run can be made");
    show(&format!("{store}, leaders are paused"), &report);
    report.demand_clean_but_for(|error| error.contains("unavailable: "));
}
