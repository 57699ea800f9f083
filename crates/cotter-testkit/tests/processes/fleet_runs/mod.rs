//! Runs that mostly wait, and in which a busy machine does not matter.

mod replicas;
mod storm;
mod storm_on_etcd;
mod storm_on_mysql;
mod storm_on_mysql_sessions;
mod storm_on_postgres;
mod storm_on_postgres_sessions;
mod storm_on_zookeeper;

use cotter_testkit::holder::Habits;
use cotter_testkit::processes::{Injections, Run};
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
    run.patience = Duration::from_secs(sized(180, 3600) as u64);
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
    run.limits.inherited = Duration::from_secs(2);
}
