//! The Redis store against the contract, in all three modes.

use cotter::conformance::{self, Fixture};
use cotter::redis::Store;
use cotter_testkit::servers::Redis;

/// A store on a server of its own. Without a server the memory store stands in, after that was said aloud.
fn fixture(options: &str) -> Fixture {
    match Redis::start() {
        Some(server) => {
            let store = Store::from_url(server.url(options)).expect("a good URL");
            Fixture::keeping(store, server)
        }
        None => Fixture::sharing(cotter::memory::Store::new()),
    }
}

cotter::conformance_tests!(native, fixture(""));

/// The older protocols have no queue: they keep every rule but the ones about order.
const ABOUT_ORDER: &[&str] = &["order_of_arrival", "newcomer_does_not_pass_a_waiter"];

fn all_but_order(options: &str) {
    for case in conformance::CASES.iter().filter(|c| !ABOUT_ORDER.contains(c)) {
        conformance::run(case, fixture(options));
    }
}

#[test]
fn plain_keeps_every_rule_but_order() {
    all_but_order("mode=plain&retry=5ms");
}

#[test]
fn getset_keeps_every_rule_but_order() {
    all_but_order("mode=getset");
}
