//! That the changed contract still carries what is there.

use cotter::conformance::Fixture;
use quorum_sketch::servers::Servers;

cotter::conformance_tests!(memory_store, Fixture::sharing(cotter::memory::Store::new()));

fn redis() -> Fixture {
    let servers = Servers::start(1);
    Fixture::keeping(cotter::redis::Store::from_url(&servers.urls[0]).unwrap(), servers)
}

cotter::conformance_tests!(redis_store, redis());
