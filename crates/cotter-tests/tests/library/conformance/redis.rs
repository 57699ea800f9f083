//! The Redis store against the contract, in all modes.

use super::{costs, elsewhere_on};
use cotter::Name;
use cotter::conformance::Fixture;
use cotter::redis::Store;
use cotter_testkit::servers::{Proxy, Redis};
use std::sync::Arc;

/// A store on a server of its own, as the user of docs/stores/redis.md for the mode.
fn fixture(options: &str) -> Fixture {
    let server = Arc::new(Redis::start());
    let store = Store::from_url(server.url(options)).expect("a good URL");
    let native = !options.contains("mode=");
    let permits = options.ends_with("permits");
    let keys = move |name: &Name| match () {
        () if native => vec![format!("cotter:{{{name}}}")],
        () if permits => vec![name.to_string(), format!("{{{name}}}:timeout")],
        () => vec![name.to_string()],
    };
    let removing = server.clone();
    let says = |option: &&str| option.starts_with("mode=") || *option == "recipe=fair";
    let mode = options.split('&').rfind(says);
    let row = mode.map_or("`redis:`".to_owned(), |mode| format!("`redis:` `{mode}`"));
    let (port, options) = (server.port(), options.to_owned());
    let url = move |proxy: &Proxy| proxy.redis_url(&options);
    let fixture = Fixture::keeping(store, server).waiting_elsewhere(elsewhere_on(port, url, costs(&row)));
    fixture.removing(move |name| {
        for key in keys(name) {
            assert_eq!(removing.command(&["DEL", &key]), "1");
        }
    })
}

cotter::conformance_tests!(
    #[ignore = "needs redis-server"]
    native,
    fixture("")
);

cotter::conformance_tests!(
    #[ignore = "needs redis-server"]
    plain,
    fixture("mode=plain&retry=5ms")
);

// All claims store the same value.
cotter::conformance_tests!(
    #[ignore = "needs redis-server"]
    plain_with_a_request_id,
    fixture("mode=plain&retry=5ms&request_id=job42")
);

cotter::conformance_tests!(
    #[ignore = "needs redis-server"]
    getset,
    fixture("mode=getset")
);

cotter::conformance_tests!(
    #[ignore = "needs redis-server"]
    redisson,
    fixture("mode=redisson")
);

cotter::conformance_tests!(
    #[ignore = "needs redis-server"]
    redisson_fair,
    fixture("mode=redisson&recipe=fair")
);

cotter::conformance_tests!(
    #[ignore = "needs redis-server"]
    redisson_permits,
    fixture("mode=redisson&recipe=permits")
);

cotter::conformance_tests!(
    #[ignore = "needs redis-server"]
    redisson_read_write,
    fixture("mode=redisson&recipe=rwlock")
);
