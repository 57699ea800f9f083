//! The ZooKeeper store against the contract.

use super::{costs, elsewhere_on};
use crate::zookeeper::shared;
use cotter::Name;
use cotter::conformance::Fixture;
use cotter::zookeeper::Store;
use cotter_testkit::servers::{Proxy, ZooKeeper};
use std::sync::{Arc, Mutex, Weak};

fn fixture(options: &str) -> Fixture {
    fixture_on(shared(), 0, options)
}

/// The same through a follower, which may be behind its leader.
fn fixture_of_three() -> Fixture {
    static RUNNING: Mutex<Weak<ZooKeeper>> = Mutex::new(Weak::new());
    let server = {
        let mut running = RUNNING.lock().expect("no case panics here");
        running.upgrade().unwrap_or_else(|| {
            let server = Arc::new(ZooKeeper::start(3));
            *running = Arc::downgrade(&server);
            server
        })
    };
    let follower = (0..3).find(|&member| server.mode(member).as_deref() == Some("follower"));
    fixture_on(server, follower.expect("two of three follow"), "")
}

/// Each fixture has a proxy of its own: one that falls silent ends the sessions behind it.
fn fixture_on(server: Arc<ZooKeeper>, member: usize, options: &str) -> Fixture {
    let proxy = Arc::new(Proxy::start(server.port(member)));
    let store = Store::from_url(format!("zookeeper://127.0.0.1:{}?session=3s&{options}", proxy.port()));
    let removing = server.clone();
    let folder = if options.contains("dialect=") { "" } else { "/cotter/lock" };
    let remove = move |name: &Name| {
        assert_eq!(removing.nodes(0).clear(&format!("{folder}/{name}")), 1);
    };
    let row = if options.is_empty() { String::new() } else { format!(" `{options}`") };
    let (port, options, row) = (server.port(member), options.to_owned(), format!("`zookeeper:`{row}"));
    let url = move |proxy: &Proxy| format!("zookeeper://127.0.0.1:{}?{options}", proxy.port());
    let fixture = Fixture::keeping(store.expect("a good URL"), (server, proxy.clone()));
    let fixture = fixture.waiting_elsewhere(elsewhere_on(port, url, costs(&row)));
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

cotter::conformance_tests!(
    #[ignore = "needs zookeeper"]
    own_of_three,
    fixture_of_three()
);
