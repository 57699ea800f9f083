//! `zookeeper:` between processes, with three members that are stopped and killed.

use super::{leaders_are_paused, six_with_leases_of_two_seconds};
use crate::setup::{beside_others_on, show};
use cotter_testkit::servers::ZooKeeper;
use cotter_testkit::storm::Members;
use cotter_testkit::{Usage, sized};

/// Six processes with sessions of 2 s, on mutexes, a name with readers, and a semaphore; one of them is stopped every second,
/// for up to twice its session, now and then one is killed. One member after the other is stopped, for up to twice a session, or
/// killed: in most cases the leader.
#[test]
#[ignore = "needs zookeeper"]
fn members_and_processes_in_trouble() {
    let mut members = Members::begin(ZooKeeper::start(3), 1);
    let (_place, mut run) = beside_others_on(&members.url("session=2s&connect_timeout=700ms"));
    six_with_leases_of_two_seconds(&mut run, 700_000..1_300_000);
    run.orders.names = (0..6).map(|i| format!("name {i}")).collect();
    let (readers, permits) = (Usage::RwLock { writers: 0.3 }, Usage::Semaphore { of: 3, most: 2 });
    run.orders.usages = vec![Usage::Mutex, Usage::Mutex, Usage::Mutex, Usage::Mutex, readers, permits];
    run.orders.tasks = 9;
    (run.acquisitions, run.faults) = (sized(3_000, 60_000), sized(20, 300));
    run.contended = sized(1_200, 20_000);
    let report = run.go_under(&mut members).expect("the run can be made");
    show("zookeeper, members and processes in trouble", &report);
    report.demand_clean_but_for(|error| error.contains("unavailable: "));
}

#[test]
#[ignore = "needs zookeeper"]
fn leaders_are_paused_for_two_sessions() {
    let mut members = Members::pausing_leaders(ZooKeeper::start(3), 2);
    let url = members.url("session=2s&connect_timeout=700ms");
    leaders_are_paused("zookeeper", &url, &mut members);
}
