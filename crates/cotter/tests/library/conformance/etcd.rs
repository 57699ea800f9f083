//! The etcd store against the contract.

use cotter::Name;
use cotter::conformance::Fixture;
use cotter::etcd::Store;
use cotter_testkit::servers::Etcd;
use std::sync::{Arc, Mutex, Weak};

/// One server for the cases that run at the same time: their names differ.
fn server() -> Arc<Etcd> {
    static RUNNING: Mutex<Weak<Etcd>> = Mutex::new(Weak::new());
    let mut running = RUNNING.lock().expect("no case panics here");
    running.upgrade().unwrap_or_else(|| {
        let server = Arc::new(Etcd::start(1));
        *running = Arc::downgrade(&server);
        server
    })
}

fn fixture(options: &str) -> Fixture {
    let server = server();
    let store = Store::from_url(server.url(options)).expect("a good URL");
    let own = !options.contains("dialect=");
    let removing = server.clone();
    Fixture::keeping(store, server).removing(move |name: &Name| {
        let folder = if own { format!("cotter/lock/{name}/") } else { format!("{name}/") };
        assert_eq!(removing.ctl(&["del", "--prefix", &folder]).trim(), "1");
    })
}

cotter::conformance_tests!(
    #[ignore = "needs etcd"]
    own,
    fixture("")
);

cotter::conformance_tests!(
    #[ignore = "needs etcd"]
    concurrency,
    fixture("dialect=concurrency")
);
