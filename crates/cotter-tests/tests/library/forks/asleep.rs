//! A child that sleeps on the clock of its parent.

use super::{MS, fork, forking};
use cotter::{Client, Lease, memory};
use cotter_testkit::history::Kind;
use cotter_testkit::timing::{FAR, Stopwatch};

/// The alarm is a descriptor, which both have.
#[test]
#[ignore = "needs cc"]
fn a_child_that_sleeps_does_not_delay_what_its_parent_is_told() {
    const TEST: &str = "forks::asleep::a_child_that_sleeps_does_not_delay_what_its_parent_is_told";
    forking(TEST, || {
        let client = Client::builder().connect_to(memory::Store::new()).wait().unwrap();
        // Nothing is due at the moment of the fork.
        let child = fork(|| {
            std::thread::sleep(300 * MS);
            let (clock, watch) = (client.clock(), Stopwatch::start());
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(clock.sleep_until(clock.now() + 4000 * MS));
            watch.at_least(3900 * MS, "it has slept for 4 s");
        });
        let (lease, watch) = (Lease::fixed(1000 * MS), Stopwatch::of(Kind::LateLoss));
        let held = client.mutex("a").lease(lease).lock().wait().unwrap();
        assert!(held.lost().wait_for(FAR).is_some());
        watch.at_most(2500 * MS, "the end of a lease of 1 s is told");
        child.end();
    });
}
