//! The ZooKeeper store against the contract.

use crate::zookeeper::shared;
use cotter::Name;
use cotter::conformance::Fixture;
use cotter::zookeeper::Store;
use cotter_testkit::servers::Proxy;
use std::sync::Arc;

/// Each fixture has a proxy of its own: one that falls silent ends the sessions behind it.
fn fixture(options: &str) -> Fixture {
    let server = shared();
    let proxy = Arc::new(Proxy::start(server.port(0)));
    let store = Store::from_url(format!("zookeeper://127.0.0.1:{}?session=3s&{options}", proxy.port()));
    let removing = server.clone();
    let folder = if options.contains("dialect=") { "" } else { "/cotter/lock" };
    let remove = move |name: &Name| {
        assert_eq!(removing.nodes(0).clear(&format!("{folder}/{name}")), 1);
    };
    let fixture = Fixture::keeping(store.expect("a good URL"), (server, proxy.clone()));
    fixture.removing(remove).ending_sessions(move || proxy.freeze(true))
}

cotter::conformance_tests!(
    #[ignore = "needs zookeeper"]
    own,
    fixture("")
);

cotter::conformance_tests!(
    #[ignore = "needs zookeeper"]
    curator,
    fixture("dialect=curator")
);

cotter::conformance_tests!(
    #[ignore = "needs zookeeper"]
    kazoo,
    fixture("dialect=kazoo")
);
