//! A leader that was replaced while it stood still, and does not know yet.

use cotter::backend::{Backend, Connect, Extension, Grant, Host, Leave};
use cotter::clock::Clock;
use cotter::etcd::Store;
use cotter_testkit::bare::{claim, clock, take};
use cotter_testkit::servers::Etcd;
use std::sync::Arc;
use std::time::Duration;

const TTL: Duration = Duration::from_secs(24);
/// Another leader is chosen in the first two seconds of it, and where that took longer, the round does not count.
const STILL: Duration = Duration::from_secs(6);
const ROUNDS: usize = 3;
/// The far end.
const MOST_ROUNDS: usize = 20;

/// It answers the keepalive that it finds in its socket when it goes on, but the lease is its successor's, which has not
/// heard of it. So the answer must not count.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn what_a_former_leader_answers_proves_nothing() {
    let server = Etcd::start(3);
    let (mut tried, mut rounds) = (0, 0);
    while tried < ROUNDS {
        rounds += 1;
        assert!(rounds <= MOST_ROUNDS, "another leader was chosen {tried} times");
        let leader = server.leader();
        let url = format!("etcd://127.0.0.1:{}?timeout=10s", server.port(leader));
        let clock = clock();
        let host = Host::without_engine(clock.clone());
        let backend = Store::from_url(url).unwrap().connect(&host).await.unwrap();
        let held = claim("a", TTL);
        let grant = take(&backend, &held).await;
        server.stop(leader);
        tokio::time::sleep(STILL).await;
        let extending = tokio::spawn(extend(backend.clone(), grant, clock));
        tokio::time::sleep(Duration::from_millis(200)).await;
        server.go_on(leader);
        let believed = extending.await.unwrap();
        let other = (0..3).find(|&n| n != leader && n == server.leader());
        tried += usize::from(other.is_some());
        let left = left(&server, &server.lease_of("cotter/lock/a/").expect("its entry is there"));
        assert!(
            believed <= left + Duration::from_secs(1),
            "believed: {believed:?}, left in the cluster: {left:?}"
        );
        backend.release(&held, Leave::used(1)).await.unwrap();
        backend.close().await;
    }
}

/// The time that the lease is believed to last after the answer.
async fn extend(backend: Arc<dyn Backend>, grant: Grant, clock: Arc<dyn Clock>) -> Duration {
    loop {
        match backend.extend(&[&grant], TTL).await.remove(0) {
            Ok(Extension::Extended { as_of, ttl, .. }) => {
                return (as_of + ttl.expect("a lease")).since(clock.now());
            }
            Ok(lost) => panic!("it is held, not {lost:?}"),
            // It may also say that it has no leader.
            Err(e) => assert!(e.is_retryable(), "{e}"),
        }
    }
}

/// The time that the lease has left in the cluster, in whole seconds.
fn left(server: &Etcd, lease: &str) -> Duration {
    let said = server.ctl(&["lease", "timetolive", lease]);
    let seconds = said.split("remaining(").nth(1).and_then(|rest| rest.split('s').next());
    Duration::from_secs(seconds.and_then(|s| s.parse().ok()).unwrap_or(0))
}
