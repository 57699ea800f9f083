//! The Redis store against the contract, in all three modes.

use cotter::conformance::Fixture;
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
cotter::conformance_tests!(plain, fixture("mode=plain&retry=5ms"));
cotter::conformance_tests!(getset, fixture("mode=getset"));
