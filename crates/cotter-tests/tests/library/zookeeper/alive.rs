//! How long a session lives, and what a process takes for a proof of that.

use super::{places, shared};
use cotter::LossCause;
use cotter::backend::{Connect, Host, Leave, Until};
use cotter::clock::{Clock, Moment, Sleep};
use cotter::zookeeper::Store;
use cotter_testkit::bare::{claim, client, clock, take};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::{Proxy, ZooKeeper};
use cotter_testkit::timing::eventually;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

const TTL: Duration = Duration::from_secs(30);

/// The server is started again, and allows three seconds instead of twenty. The holder goes on with its session over a new
/// connection, and is cut off at once.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper"]
async fn a_session_that_becomes_shorter_on_the_way_is_not_believed_for_longer() {
    let mut server = ZooKeeper::start(1);
    let proxy = Proxy::start(server.port(0));
    let one = client(&format!("zookeeper://127.0.0.1:{}?session=20s", proxy.port()), TTL).await;
    let guard = one.mutex("a").lock().await.unwrap();
    server.kill(0);
    server.set("maxSessionTimeout=3000\n");
    server.restart(0);
    one.mutex("b").lock().await.unwrap().finish().await.unwrap();
    assert!(guard.is_valid(), "the session goes on");
    proxy.freeze(true);
    let cut = Instant::now();
    let other = client(&server.url("session=3s"), TTL).await;
    let waiting = tokio::spawn(async move {
        let guard = other.mutex("a").lock().await.unwrap();
        (Instant::now(), guard, other)
    });
    guard.lost().await;
    let lost = Instant::now();
    let (served, next, _other) =
        tokio::time::timeout(Duration::from_secs(20), waiting).await.expect("served").unwrap();
    demand(
        lost < served,
        Kind::Overlap,
        format!("lost after {:?}, the next was served after {:?}", lost - cut, served - cut),
    );
    next.finish().await.unwrap();
}

/// Who may not read the root is refused in the transaction that proves the session. That is a proof as well.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper"]
async fn who_may_not_read_the_root_keeps_a_session_alive() {
    const ALL_BUT_READ: i32 = 30;
    let server = ZooKeeper::start(1);
    let client = client(&server.url("session=10s"), TTL).await;
    let guard = client.mutex("a").lock().await.unwrap();
    let before = places(&server, "a");
    assert!(server.nodes(0).permit("/", ALL_BUT_READ));
    tokio::time::sleep(Duration::from_secs(9)).await;
    demand(guard.is_valid(), Kind::NeedlessLoss, format!("{:?}", guard.check()));
    assert_eq!(places(&server, "a"), before, "it is the same node");
    guard.finish().await.unwrap();
}

/// A clock on which the next sleep panics, as a runtime does that can start no thread.
#[derive(Debug)]
struct Failing {
    clock: Arc<dyn Clock>,
    is_next: Arc<AtomicBool>,
}

impl Clock for Failing {
    fn now(&self) -> Moment {
        self.clock.now()
    }

    fn wall(&self) -> SystemTime {
        self.clock.wall()
    }

    fn sleep_until(&self, until: Moment) -> Sleep {
        assert!(!self.is_next.swap(false, Ordering::SeqCst), "no thread could be started (by intent)");
        self.clock.sleep_until(until)
    }
}

/// While it connects again. Nobody would tell those who wait for the next connection, and they would wait for ever.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper"]
async fn a_task_that_fails_takes_the_session_with_it_and_not_the_client() {
    let server = shared();
    let is_next = Arc::new(AtomicBool::new(false));
    let failing = Failing { clock: clock(), is_next: is_next.clone() };
    let proxy = Proxy::start(server.port(0));
    let store = Store::from_url(format!("zookeeper://127.0.0.1:{}?session=20s", proxy.port())).unwrap();
    let backend = store.connect(&Host::without_engine(Arc::new(failing))).await.unwrap();
    let held = claim("kept by a task", TTL);
    let grant = take(&backend, &held).await;
    let session = grant.session.expect("it lives with one");
    is_next.store(true, Ordering::SeqCst);
    proxy.cut();
    eventually("the task fails", || !is_next.load(Ordering::SeqCst)).await;
    let next = claim("after the task", TTL);
    // The first request may still find the session that is lost.
    let taking = async {
        while backend.acquire(&next, Until::Now).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let taken = tokio::time::timeout(Duration::from_secs(10), taking).await;
    demand(taken.is_ok(), Kind::StuckWaiter, "nobody gets a lock any more");
    demand(session.lost() == Some(LossCause::SessionLost), Kind::UntoldLoss, "its locks are believed");
    // It is ended at the servers, so that the release is certain.
    let released = async {
        while backend.release(&held, Leave::used(1)).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let released = tokio::time::timeout(Duration::from_secs(10), released).await;
    demand(
        released.is_ok() && places(&server, "kept by a task").is_empty(),
        Kind::LeftBehind,
        "its node stays",
    );
}
