//! A follower that is cut off from its leader, a leader without its followers, and members that are killed.

use cotter_testkit::bare::client;
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::ZooKeeper;
use std::time::{Duration, Instant};

const TTL: Duration = Duration::from_secs(30);

/// The follower answers reads and pings for two seconds more, while the leader ends the session of its client and serves the
/// next one. The client must not believe its follower.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper"]
async fn who_is_behind_a_follower_without_a_leader_knows_in_time() {
    let (server, follower) = ZooKeeper::with_cuttable_follower(Duration::from_millis(200));
    let at = |member: usize| format!("zookeeper://127.0.0.1:{}?session=1500ms", server.port(member));
    let one = client(&at(follower), TTL).await;
    let other = client(&at(server.leader()), TTL).await;
    let guard = one.mutex("a").lock().await.unwrap();
    let waiting = tokio::spawn(async move {
        let guard = other.mutex("a").lock().await.unwrap();
        (Instant::now(), guard)
    });
    tokio::time::sleep(Duration::from_millis(700)).await;
    server.cut_off(true);
    let cut = Instant::now();
    guard.lost().await;
    let lost = Instant::now();
    let still_serves = server.mode(follower).as_deref() == Some("follower");
    let (served, next) =
        tokio::time::timeout(Duration::from_secs(20), waiting).await.expect("served").unwrap();
    demand(
        lost < served,
        Kind::Overlap,
        format!("lost after {:?}, the next was served after {:?}", lost - cut, served - cut),
    );
    assert!(still_serves, "the follower had noticed already, so nothing was shown");
    next.finish().await.unwrap();
}

/// Its session goes on over the next member.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper"]
async fn a_member_that_is_killed_costs_no_lock() {
    let mut server = ZooKeeper::start(3);
    let client = client(&server.url("session=6s"), TTL).await;
    let guard = client.mutex("a").lock().await.unwrap();
    // Including the one that it is connected to.
    for member in 0..3 {
        server.kill(member);
        tokio::time::sleep(Duration::from_millis(500)).await;
        server.restart(member);
        demand(
            guard.is_valid(),
            Kind::NeedlessLoss,
            format!("lost with member {member}: {:?}", guard.check()),
        );
    }
    guard.finish().await.unwrap();
}

/// No `sync` goes before an acquisition, because whatever is sent behind one hangs while it does. What a follower does not know yet
/// costs a request, and lets nobody in: the node is created through the leader, and the line is read behind that.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper"]
async fn a_follower_that_is_behind_lets_nobody_in() {
    let (server, follower) = ZooKeeper::with_cuttable_follower(Duration::from_millis(400));
    let at = |member: usize| format!("zookeeper://127.0.0.1:{}?session=20s", server.port(member));
    let (one, other) = (client(&at(server.leader()), TTL).await, client(&at(follower), TTL).await);
    let mutex = other.mutex("a");
    mutex.lock().await.unwrap().finish().await.unwrap();

    server.cut_off(true);
    let guard = one.mutex("a").lock().await.unwrap();
    let trying = tokio::spawn({
        let mutex = mutex.clone();
        async move { mutex.try_lock().await.unwrap() }
    });
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(!trying.is_finished(), "its follower knows of the holder, so nothing is shown");
    server.cut_off(false);
    let served = tokio::time::timeout(Duration::from_secs(20), trying).await.expect("an answer").unwrap();
    demand(served.is_none(), Kind::Overlap, "a follower that is behind has let somebody in");
    assert!(guard.is_valid());

    // "Busy" may be as old as the follower is behind.
    server.cut_off(true);
    guard.finish().await.unwrap();
    assert!(
        mutex.try_lock().await.unwrap().is_none(),
        "its follower knows of the release, so nothing is shown"
    );
    server.cut_off(false);
    mutex.lock().await.unwrap().finish().await.unwrap();
}

/// The leader answers `sync` for eight seconds more, because it does not know that its followers have chosen another one, which ends
/// the session of its client and serves the next one. The client must not believe the old leader.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper"]
async fn who_is_behind_a_deposed_leader_knows_in_time() {
    let server = ZooKeeper::with_deposable_leader(Duration::from_millis(400));
    let leader = server.leader();
    let url = |member: usize| format!("zookeeper://127.0.0.1:{}?session=2s", server.port(member));
    let one = client(&url(leader), TTL).await;
    let guard = one.mutex("a").lock().await.unwrap();
    let mut own = server.nodes(leader);
    tokio::time::sleep(Duration::from_millis(700)).await;
    let next = server.depose(leader);
    let deposed = Instant::now();
    let waiting = tokio::spawn({
        let url = url(next);
        async move {
            let other = client(&url, TTL).await;
            let guard = other.mutex("a").lock().await.unwrap();
            (Instant::now(), guard, other)
        }
    });
    guard.lost().await;
    let lost = Instant::now();
    let still_answers = own.sync();
    let (served, next, _other) =
        tokio::time::timeout(Duration::from_secs(20), waiting).await.expect("served").unwrap();
    demand(
        lost < served,
        Kind::Overlap,
        format!("lost after {:?}, the next was served after {:?}", lost - deposed, served - deposed),
    );
    assert!(still_answers, "the leader had noticed already, so nothing was shown");
    next.finish().await.unwrap();
}
