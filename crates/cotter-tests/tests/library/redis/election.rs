//! Elections on a real server.

use super::setup::eventually;
use cotter::{Client, Leader, LeaderState, Lease, ManualClock};
use cotter_testkit::servers::Redis;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::timeout;

const NOTE: &str = "cotter:{a}:note:cotter:leader";

fn said(leader: Option<Leader>) -> Option<(u64, Option<Vec<u8>>)> {
    leader.map(|leader| (leader.token.get(), leader.announcement))
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn who_follows_is_told_by_message() {
    let (server, clock) = (Redis::start(), ManualClock::new());
    // Its clock stands still: only messages make it look.
    let follower = Client::builder().clock(clock.clone()).connect(server.url("")).await.unwrap();
    let (tell, mut told) = mpsc::unbounded_channel();
    let mut watch = follower.election("a").watch();
    tokio::spawn(async move { while tell.send(watch.changed().await.unwrap().into_leader()).is_ok() {} });
    let mut next = async || {
        let leader = timeout(Duration::from_secs(20), told.recv()).await.expect("it is told by message");
        said(leader.expect("it follows"))
    };
    assert_eq!(next().await, None);
    eventually("it watches", || !server.command(&["PUBSUB", "CHANNELS", NOTE]).is_empty()).await;
    let client = Client::connect(server.url("")).await.unwrap();
    let election = client.election("a");
    for address in ["x:1", "y:2"] {
        let leadership = election.campaign().await.unwrap();
        let token = leadership.token().get();
        assert_eq!(next().await, Some((token, None)));
        leadership.announce(address).await.unwrap();
        assert_eq!(next().await, Some((token, Some(address.into()))));
        assert_eq!(said(election.leader().await.unwrap()), Some((token, Some(address.into()))));
        leadership.resign().await.unwrap();
        assert_eq!(next().await, None);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_leader_that_is_silent_is_gone_when_its_lease_ends() {
    let server = Redis::start();
    let connect = async || {
        let lease = Lease::fixed(Duration::from_secs(2));
        Client::builder().lease(lease).connect(server.url("")).await.unwrap()
    };
    let (client, other) = (connect().await, connect().await);
    let leadership = client.election("a").campaign().await.unwrap();
    leadership.announce("x:1").await.unwrap();
    let mut watch = other.election("a").watch();
    assert!(watch.changed().await.unwrap().leader().is_some());
    let next = timeout(Duration::from_secs(20), watch.changed()).await.expect("it is told");
    assert_eq!(next.unwrap(), LeaderState::Vacant);
    // Its announcement is still there.
    assert_eq!(server.command(&["EXISTS", NOTE]), "1");
    assert_eq!(other.election("a").leader().await.unwrap(), None);
}
