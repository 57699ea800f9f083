//! The etcd store against the contract.

use super::{costs, elsewhere_on};
use cotter::Name;
use cotter::conformance::Fixture;
use cotter::etcd::Store;
use cotter_testkit::servers::{Etcd, Proxy};
use std::sync::{Arc, Mutex, Weak};

/// A cluster, and the member that is asked.
struct Running {
    cluster: Etcd,
    member: usize,
}

/// One cluster for the cases that run at the same time: their names differ.
type Shared = Mutex<Weak<Running>>;

fn shared(running: &Shared, members: usize) -> Arc<Running> {
    let mut running = running.lock().expect("no case panics here");
    running.upgrade().unwrap_or_else(|| {
        let cluster = Etcd::start(members);
        // A follower, if there is one: it passes on what it is asked, and may be behind its leader.
        let member = if members > 1 { usize::from(cluster.leader() == 0) } else { 0 };
        let started = Arc::new(Running { cluster, member });
        *running = Arc::downgrade(&started);
        started
    })
}

fn fixture(options: &str) -> Fixture {
    static RUNNING: Shared = Mutex::new(Weak::new());
    fixture_on(shared(&RUNNING, 1), options)
}

fn fixture_of_three() -> Fixture {
    static RUNNING: Shared = Mutex::new(Weak::new());
    fixture_on(shared(&RUNNING, 3), "")
}

fn fixture_on(running: Arc<Running>, options: &str) -> Fixture {
    let port = running.cluster.port(running.member);
    let store = Store::from_url(format!("etcd://127.0.0.1:{port}?{options}")).expect("a good URL");
    let own = !options.contains("dialect=");
    let removing = running.clone();
    let (options, row) = (options.to_owned(), if own { "`etcd:`" } else { "`etcd:` `dialect=concurrency`" });
    let url = move |proxy: &Proxy| format!("etcd://127.0.0.1:{}?{options}", proxy.port());
    let fixture = Fixture::keeping(store, running).waiting_elsewhere(elsewhere_on(port, url, costs(row)));
    fixture.removing(move |name: &Name| {
        let folder = if own { format!("cotter/lock/{name}/") } else { format!("{name}/") };
        assert_eq!(removing.cluster.ctl(&["del", "--prefix", &folder]).trim(), "1");
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

cotter::conformance_tests!(
    #[ignore = "needs etcd"]
    own_of_three,
    fixture_of_three()
);
