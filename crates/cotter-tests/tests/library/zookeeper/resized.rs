//! The number of permits that was set, when those leave or are evicted whom it was written to.

use super::{places, shared};
use cotter::backend::{Backend, Claim, EvictOrder, Leave, Mode, Until};
use cotter::{ErrorKind, Eviction, Name};
use cotter_testkit::bare::{backend, claim, take};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::Proxy;
use cotter_testkit::timing::eventually;
use std::sync::Arc;
use std::time::Duration;

const TTL: Duration = Duration::from_secs(30);

fn permit(name: &str, of: u32) -> Claim {
    let mut claim = claim(name, TTL);
    claim.mode = Mode::Permits { take: 1, of };
    claim
}

/// Two of five permits are taken, and then there are two.
async fn two_of_two(backend: &Arc<dyn Backend>, name: &str) -> [Claim; 2] {
    let held = [permit(name, 5), permit(name, 5)];
    for claim in &held {
        take(backend, claim).await;
    }
    backend.set_limit(&Name::new(name).unwrap(), 2).await.unwrap();
    held
}

/// A newcomer has read the line, and asks the first place for the number of permits. That one has just left, and the next one is
/// served. The newcomer says that there are five permits, as the node of the first one does, and that is not what counts.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper"]
async fn the_limit_stays_when_the_first_one_leaves() {
    let server = shared();
    let name = "the first one leaves";
    let one = backend(&server.url("session=20s")).await;
    let held = two_of_two(&one, name).await;
    let first = places(&server, name).into_iter().min_by_key(|path| path[path.len() - 10..].to_owned());
    let waiting = permit(name, 2);
    let served = tokio::spawn({
        let (one, waiting) = (one.clone(), waiting.clone());
        async move { one.acquire(&waiting, Until::Forever).await.unwrap().granted().expect("its turn") }
    });
    eventually("it is in the queue", || places(&server, name).len() == 3).await;

    let proxy = Proxy::start(server.port(0));
    let other = backend(&format!("zookeeper://127.0.0.1:{}?session=20s", proxy.port())).await;
    let kept = proxy.keep_request(first.unwrap().as_bytes());
    let newcomer = permit(name, 5);
    let asking = tokio::spawn({
        let (other, newcomer) = (other.clone(), newcomer.clone());
        async move { other.acquire(&newcomer, Until::InLine).await }
    });
    eventually("it asks the first one", || kept.is_caught()).await;
    one.release(&held[0], Leave::used(1)).await.unwrap();
    served.await.unwrap();
    kept.let_go();
    let refused = asking.await.unwrap();
    demand(refused.is_err(), Kind::PermitsOverLimit, "three hold two permits");
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::LimitMismatch);
    for claim in [&held[1], &waiting] {
        one.release(claim, Leave::used(1)).await.unwrap();
    }
}

/// The first holder is to lose its permit, and its process stands still: its node stays, with both marks.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper"]
async fn the_limit_stays_when_the_first_one_is_evicted() {
    let server = shared();
    let name = "the first one is evicted";
    let one = backend(&server.url("session=20s")).await;
    let held = two_of_two(&one, name).await;
    let key = Name::new(name).unwrap();
    let admin = one.admin().expect("it has one");
    let evicted = admin.evict(&key, EvictOrder::new()).await.unwrap();
    assert!(matches!(evicted, Eviction::Evicted { .. }), "{evicted:?}");
    let newcomer = permit(name, 5);
    let refused = one.acquire(&newcomer, Until::Now).await;
    demand(refused.is_err(), Kind::PermitsOverLimit, "a newcomer says that there are five permits");
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::LimitMismatch);
    // Nor is the eviction forgotten when the number is set once more.
    one.set_limit(&key, 3).await.unwrap();
    let next = permit(name, 3);
    take(&one, &next).await;
    let data: Vec<_> =
        places(&server, name).iter().map(|path| server.nodes(0).get(path).unwrap().data).collect();
    let evicted = data.iter().filter(|data| data.ends_with(b"\ncotter: limit 3\ncotter: evicted")).count();
    assert_eq!(evicted, 2);
    for claim in held.iter().chain([&next]) {
        one.release(claim, Leave::used(1)).await.unwrap();
    }
}
