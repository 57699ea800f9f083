//! A cluster that an operator has put back to a state that was saved, while its clients went on.

use cotter_testkit::bare::client;
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::Etcd;
use std::time::{Duration, Instant};

const TTL: Duration = Duration::from_secs(4);

/// The entry of a lock that was released is there again, on the lease of a process that lives. It ends because the process goes on
/// with another lease.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn a_lock_that_was_released_before_is_free_again_soon() {
    let mut server = Etcd::start(1);
    let url = server.url("timeout=500ms&connect_timeout=500ms");
    let (one, other) = (client(&url, TTL).await, client(&url, TTL).await);
    let _lives = one.mutex("lives").lock().await.unwrap();
    let released = one.mutex("released").lock().await.unwrap();
    server.save();
    released.finish().await.unwrap();
    for _ in 0..20 {
        one.mutex("busy").lock().await.unwrap().finish().await.unwrap();
    }
    // Everybody has seen these revisions.
    tokio::time::sleep(TTL / 2).await;
    server.put_back();
    assert_eq!(super::keys(&server, "cotter/lock/released/").len(), 1, "the saved state has it");
    let start = Instant::now();
    let again = tokio::time::timeout(TTL * 5, other.mutex("released").lock()).await;
    demand(again.is_ok(), Kind::LeftBehind, format!("it is not free after {:?}", start.elapsed()));
    again.expect("demanded").unwrap().finish().await.unwrap();
    one.mutex("released").lock().await.unwrap().finish().await.unwrap();
}
