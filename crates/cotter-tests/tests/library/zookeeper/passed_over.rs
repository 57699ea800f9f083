//! Who is passed over, and who is not.

use super::{places, shared};
use cotter::backend::{Backend, Leave, Mode, Until};
use cotter_testkit::bare::{backend, claim, take};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::Proxy;
use cotter_testkit::timing::{Stopwatch, eventually, happens};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

const TTL: Duration = Duration::from_secs(30);
/// Longer than a waiter whose turn it is may take.
const LONG: Duration = Duration::from_secs(3);

/// A claim that waits, in a task of its own.
struct Waiting(JoinHandle<cotter::backend::Grant>);

impl Waiting {
    /// Waits for a name, and returns when so many nodes are marked, its own among them.
    async fn start(ours: &Arc<dyn Backend>, name: &str, mode: Mode, all: usize) -> Self {
        let (server, ours, mut wanted) = (shared(), ours.clone(), claim(name, TTL));
        wanted.mode = mode;
        let waiting = tokio::spawn(async move {
            ours.acquire(&wanted, Until::Forever).await.unwrap().granted().expect("its turn")
        });
        eventually("it waits", || {
            let places = places(&server, name);
            let marked = places.iter().filter_map(|place| server.nodes(0).get(place));
            marked.filter(|node| node.data.ends_with(b"waits")).count() == all
        })
        .await;
        Self(waiting)
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper"]
async fn who_has_waited_and_holds_is_not_passed_over() {
    let server = shared();
    let url = server.url("session=20s");
    let (one, other, third) = (backend(&url).await, backend(&url).await, backend(&url).await);
    let held = claim("waited", TTL);
    take(&one, &held).await;
    let first = Waiting::start(&other, "waited", Mode::Exclusive, 1).await;
    let second = Waiting::start(&third, "waited", Mode::Exclusive, 2).await;
    one.release(&held, Leave::used(1)).await.unwrap();
    let grant = happens("it is served", first.0).await.unwrap();
    tokio::time::sleep(LONG).await;
    demand(!second.0.is_finished(), Kind::Overlap, "the next one was served while the lock was held");
    other.release(&grant.claim, Leave::used(1)).await.unwrap();
    happens("it is served", second.0).await.unwrap();
}

/// It would hold beside another reader, and the writer behind both waits for it.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper"]
async fn a_reader_that_is_cut_off_is_passed_over() {
    is_passed_over("reader", Mode::Shared, Mode::Exclusive).await;
}

/// The one behind it watches it, and it tells nothing any more.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper"]
async fn a_waiter_for_permits_that_is_cut_off_is_passed_over() {
    is_passed_over("permits", PERMITS, PERMITS).await;
}

const PERMITS: Mode = Mode::Permits { take: 2, of: 2 };

/// A holder, a waiter that is cut off, and the next one.
async fn is_passed_over(name: &str, cut_off: Mode, next: Mode) {
    let server = shared();
    let proxy = Proxy::start(server.port(0));
    let url = format!("zookeeper://127.0.0.1:{}?session=20s", proxy.port());
    let (one, silent) = (backend(&server.url("session=20s")).await, backend(&url).await);
    let mut held = claim(name, TTL);
    held.mode = if cut_off == PERMITS { PERMITS } else { Mode::Exclusive };
    take(&one, &held).await;
    let silent = Waiting::start(&silent, name, cut_off, 1).await;
    let next = Waiting::start(&one, name, next, 2).await;
    proxy.freeze(true);
    one.release(&held, Leave::used(1)).await.unwrap();
    let watch = Stopwatch::of(Kind::SlowHandOver);
    let grant = happens("the next one is served", next.0).await.unwrap();
    watch.at_most(LONG, "the next one is served");
    silent.0.abort();
    one.release(&grant.claim, Leave::used(1)).await.unwrap();
}
