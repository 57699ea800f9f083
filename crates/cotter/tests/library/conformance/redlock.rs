//! A quorum of three Redis servers against the contract.

use cotter::conformance::Fixture;
use cotter::redis::Store;
use cotter::{Name, quorum};
use cotter_testkit::servers::Redis;
use std::sync::Arc;
use std::time::Duration;

/// Servers that vote at once, whose keys for a name are `key`.
fn fixture(options: &str, key: fn(&str) -> String) -> Fixture {
    let servers: Arc<Vec<_>> = Arc::new((0..3).map(|_| Redis::restricted()).collect());
    let members = servers.iter().map(|server| {
        let store = Store::from_url(server.url(options)).expect("a good URL");
        cotter_testkit::bare::enlist(server, "cotter:quorum", 3600);
        store.with_votes(Duration::from_secs(3600))
    });
    // Many cases at once on a small machine: a silent member is none of their subjects.
    let store = quorum::Store::new(members).expect("enough members").with_timeout(Duration::from_secs(1));
    let removing = servers.clone();
    Fixture::keeping(store, servers).removing(move |name: &Name| {
        for server in removing.iter() {
            server.command(&["DEL", &key(name)]);
        }
    })
}

cotter::conformance_tests!(
    #[ignore = "needs redis-server"]
    of_redis,
    fixture("prefix=cotter:quorum", |name| format!("cotter:quorum:{{{name}}}"))
);

// Beside other Redlock libraries.
cotter::conformance_tests!(
    #[ignore = "needs redis-server"]
    of_redis_in_plain,
    fixture("mode=plain&prefix=cotter:quorum", str::to_owned)
);
