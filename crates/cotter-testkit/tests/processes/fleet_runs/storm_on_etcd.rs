//! `etcd:` between processes, with three members that are stopped and killed.

use super::{leaders_are_paused, six_with_leases_of_two_seconds};
use crate::setup::{beside_others_on, show};
use cotter_testkit::processes::Run;
use cotter_testkit::servers::Etcd;
use cotter_testkit::storm::Members;
use cotter_testkit::{Usage, sized};

/// Six processes with leases of 2 s, on mutexes, a name with readers, and a semaphore; one of them is stopped every second,
/// for up to twice its lease, now and then one is killed. One member after the other is stopped, for up to twice a lease, or
/// killed: in most cases the leader.
#[test]
#[ignore = "needs etcd"]
fn members_and_processes_in_trouble() {
    in_trouble("members and processes in trouble", |run| {
        (run.acquisitions, run.contended) = (sized(1_000, 60_000), sized(400, 20_000));
    });
}

/// The same with leases of 4 s, which are not those of waiters, and with work that is so long that the entries of holders are moved
/// to them.
#[test]
#[ignore = "needs etcd"]
fn members_and_processes_with_long_leases_in_trouble() {
    in_trouble("long leases in trouble", |run| {
        (run.orders.ttl_ms, run.orders.work_us) = (4_000, 300_000);
        (run.acquisitions, run.contended) = (sized(200, 10_000), sized(100, 5_000));
    });
}

fn in_trouble(name: &str, change: impl FnOnce(&mut Run)) {
    let mut members = Members::begin(Etcd::start(3), 1);
    let (_place, mut run) = beside_others_on(&members.url("timeout=700ms&connect_timeout=700ms"));
    six_with_leases_of_two_seconds(&mut run, 700_000..1_300_000);
    run.orders.names = (0..6).map(|i| format!("name {i}")).collect();
    let (readers, permits) = (Usage::RwLock { writers: 0.3 }, Usage::Semaphore { of: 3, most: 2 });
    run.orders.usages = vec![Usage::Mutex, Usage::Mutex, Usage::Mutex, Usage::Mutex, readers, permits];
    run.orders.tasks = 9;
    run.faults = sized(20, 300);
    change(&mut run);
    let report = run.go_under(&mut members).expect("the run can be made");
    show(&format!("etcd, {name}"), &report);
    report.demand_clean_but_for(|error| error.contains("unavailable: "));
}

#[test]
#[ignore = "needs etcd"]
fn leaders_are_paused_for_two_leases() {
    let mut members = Members::pausing_leaders(Etcd::start(3), 2);
    let url = members.url("timeout=700ms&connect_timeout=700ms");
    leaders_are_paused("etcd", &url, &mut members);
}
