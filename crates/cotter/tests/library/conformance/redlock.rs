//! A quorum of three Redis servers against the contract.

use cotter::conformance::Fixture;
use cotter::redis::Store;
use cotter::{Name, quorum};
use cotter_testkit::servers::Redis;
use std::sync::Arc;
use std::time::Duration;

/// Servers that vote at once.
fn fixture() -> Fixture {
    let servers: Arc<Vec<_>> = Arc::new((0..3).map(|_| Redis::restricted()).collect());
    let members = servers.iter().map(|server| {
        let store = Store::from_url(server.url("prefix=cotter:quorum")).expect("a good URL");
        cotter_testkit::bare::enlist(server, "cotter:quorum", 3600);
        store.with_votes(Duration::from_secs(3600))
    });
    // Many cases at once on a small machine: a silent member is none of their subjects.
    let store = quorum::Store::new(members).expect("enough members").with_timeout(Duration::from_secs(1));
    let removing = servers.clone();
    Fixture::keeping(store, servers).removing(move |name: &Name| {
        for server in removing.iter() {
            server.command(&["DEL", &format!("cotter:quorum:{{{name}}}")]);
        }
    })
}

cotter::conformance_tests!(
    #[ignore = "needs redis-server"]
    of_redis,
    fixture()
);
