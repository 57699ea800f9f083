//! `redis:` beside bare commands through the same driver.

mod cluster;
mod contended;
mod handover;
pub(crate) mod others;
pub(crate) mod pairs;
pub(crate) mod race;
pub(crate) mod raw;
mod renewal;
mod server_time;
mod shares;

pub(crate) use cluster::run as cluster_renewal;
pub(crate) use contended::run as contended;
pub(crate) use handover::{child as handover_child, run as handover};
pub(crate) use pairs::{on_one_thread as pairs, on_threads as pairs_on_threads};
pub(crate) use race::child as race_child;
pub(crate) use renewal::run as renewal;
pub(crate) use server_time::run as server_time;
pub(crate) use shares::run as shares;

use cotter_testkit::servers::Redis;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};
use std::time::Duration;
use tokio::runtime::Runtime;

/// A server of its own; it and its clients may use all cores.
fn server_anywhere() -> Redis {
    Redis::start()
}

/// A server of its own on the last core; this process stays on the others.
fn server() -> Redis {
    let server = server_anywhere();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if cores > 1 {
        let only = |cores: std::ops::Range<usize>| {
            let mut set = CpuSet::new();
            cores.for_each(|core| set.set(core));
            set
        };
        let pid = field(&server, "server", "process_id:").parse().unwrap();
        sched_setaffinity(Pid::from_raw(pid), &only(cores - 1..cores)).unwrap();
        sched_setaffinity(None, &only(0..cores - 1)).unwrap();
    }
    server
}

/// One value of `INFO`.
fn field(server: &Redis, section: &str, key: &str) -> String {
    let info = server.command(&["INFO", section]);
    let line = info.lines().find_map(|line| line.trim().strip_prefix(key));
    line.expect("the server says so").to_owned()
}

/// The processor time that it has used.
pub(crate) fn server_cpu(server: &Redis) -> Duration {
    let part = |key| Duration::from_secs_f64(field(server, "cpu", key).parse().unwrap());
    part("used_cpu_user:") + part("used_cpu_sys:")
}

/// What the server has counted for a command since its statistics were reset.
fn cost(server: &Redis, command: &str, figure: &str) -> f64 {
    let line = field(server, "commandstats", &format!("cmdstat_{command}:"));
    let figures = line.split(',').filter_map(|f| f.split_once('='));
    figures.into_iter().find(|(name, _)| *name == figure).unwrap().1.parse().unwrap()
}

pub(crate) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// What `#[tokio::main]` makes on a machine with two cores.
pub(crate) fn two_workers() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// Nanoseconds on a clock that all processes share.
pub(crate) fn nanos() -> u64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}
