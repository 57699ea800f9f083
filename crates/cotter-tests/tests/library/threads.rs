//! A process that can start no more threads.

use cotter::{Client, ErrorKind};
use cotter_testkit::in_own_process;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::sync::atomic::{AtomicBool, Ordering};

static HAS_PANICKED: AtomicBool = AtomicBool::new(false);

/// To look up a host takes one. Without it, there is an error that says so, and no thread of the engine panics.
#[test]
fn a_host_is_not_found_without_a_thread() {
    in_own_process("threads::a_host_is_not_found_without_a_thread", |_| (), find_hosts);
}

fn find_hosts() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        HAS_PANICKED.store(true, Ordering::SeqCst);
        before(panic);
    }));
    // The engine has its threads.
    let _client = Client::connect("memory:").wait().unwrap();
    // Less than the stack of a thread, and enough for everything else.
    let free = 1 << 20;
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = pages.split(' ').next().unwrap().parse().unwrap();
    let used = pages * rustix::param::page_size() as u64;
    let all = getrlimit(Resource::As);
    for store in ["redis://", "etcd://", "zookeeper://", "postgres://a:a@", "mysql://a:a@"] {
        let path = if store.contains('@') { "/a" } else { "" };
        let url = format!("{store}localhost:1{path}");
        setrlimit(Resource::As, Rlimit { current: Some(used + free), ..all }).unwrap();
        let refused = Client::connect(url).wait();
        setrlimit(Resource::As, all).unwrap();
        let error = refused.expect_err("nobody listens there");
        assert!(!HAS_PANICKED.load(Ordering::SeqCst), "{store}: {error}");
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        assert!(error.to_string().contains("cannot start a thread"), "{error}");
    }
}
