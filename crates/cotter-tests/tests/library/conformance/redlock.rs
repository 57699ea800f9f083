//! A quorum of three Redis servers against the contract.

use super::{costs, elsewhere};
use cotter::conformance::Fixture;
use cotter::redis::Store;
use cotter::{Name, quorum};
use cotter_testkit::bare::enlist;
use cotter_testkit::servers::{Redis, redlock_url};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

/// Servers that vote at once, the same for all cases that run at a time: starting three of them keeps a small machine so busy
/// that others are silent for too long.
fn servers() -> Arc<Vec<Redis>> {
    static SERVERS: Mutex<Weak<Vec<Redis>>> = Mutex::new(Weak::new());
    let mut shared = SERVERS.lock().unwrap_or_else(PoisonError::into_inner);
    shared.upgrade().unwrap_or_else(|| {
        let servers: Arc<Vec<_>> = Arc::new((0..3).map(|_| Redis::start()).collect());
        servers.iter().for_each(|server| enlist(server, "cotter:quorum", 3600));
        *shared = Arc::downgrade(&servers);
        servers
    })
}

/// A quorum whose keys for a name are `key`.
fn fixture(options: &str, key: fn(&str) -> String) -> Fixture {
    let servers = servers();
    let members = servers.iter().map(|server| {
        let store = Store::from_url(server.url(options)).expect("a good URL");
        store.with_votes(Duration::from_secs(3600))
    });
    // Many cases at once on a small machine: a silent member is none of their subjects.
    let store = quorum::Store::new(members).expect("enough members").with_timeout(Duration::from_secs(1));
    let removing = servers.clone();
    let url =
        redlock_url(servers.iter().map(Redis::port), options.trim_start_matches("prefix=cotter:quorum"));
    let fixture = Fixture::keeping(store, servers).waiting_elsewhere(elsewhere(url, costs("`redlock:`")));
    fixture.removing(move |name: &Name| {
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
