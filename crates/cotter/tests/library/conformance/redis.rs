//! The Redis store against the contract, in all three modes.

use cotter::Name;
use cotter::conformance::{self, Fixture};
use cotter::redis::Store;
use cotter_testkit::servers::Redis;
use std::sync::Arc;

/// A store on a server of its own.
fn fixture(options: &str) -> Fixture {
    let server = Arc::new(Redis::start());
    let store = Store::from_url(server.url(options)).expect("a good URL");
    let native = !options.contains("mode=");
    let key = move |name: &Name| if native { format!("cotter:{{{name}}}") } else { name.to_string() };
    let removing = server.clone();
    Fixture::keeping(store, server).removing(move |name| {
        assert_eq!(removing.command(&["DEL", &key(name)]), "1");
    })
}

cotter::conformance_tests!(
    #[ignore = "needs redis-server"]
    native,
    fixture("")
);

/// The older protocols have no queue: they keep every rule but the ones about order.
const ABOUT_ORDER: &[&str] = &["order_of_arrival", "newcomer_does_not_pass_a_waiter"];

/// They keep no token and no label, one key at a time can be looked at, and there is little room for marks:
/// `redis/outside.rs` says what is left.
const ABOUT_RECORDS: &[&str] = &[
    "the_holder_is_shown",
    "listing_goes_by_pages",
    "evict_takes_it_or_says_who",
    "an_evicted_holder_is_told_so",
];

fn all_but_order(options: &str) {
    all_but(&[ABOUT_ORDER, ABOUT_RECORDS].concat(), options);
}

fn all_but(otherwise: &[&str], options: &str) {
    for case in conformance::CASES.iter().filter(|c| !otherwise.contains(c)) {
        conformance::run(case, fixture(options));
    }
}

#[test]
#[ignore = "needs redis-server"]
fn plain_keeps_every_rule_but_order() {
    all_but_order("mode=plain&retry=5ms");
}

/// All claims store the same value: whoever has the lock by now cannot be told from who had it before.
#[test]
#[ignore = "needs redis-server"]
fn plain_with_a_request_id_keeps_every_rule_but_order() {
    let otherwise =
        [ABOUT_ORDER, ABOUT_RECORDS, &["a_lock_that_another_has_by_now_is_not_given_back"]].concat();
    all_but(&otherwise, "mode=plain&retry=5ms&request_id=job42");
}

#[test]
#[ignore = "needs redis-server"]
fn getset_keeps_every_rule_but_order() {
    all_but_order("mode=getset");
}
