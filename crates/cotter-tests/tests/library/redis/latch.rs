//! Latches on a real server.

use super::setup::eventually;
use crate::latch::a_hundred_count_down_at_once;
use cotter::{Client, ErrorKind, LatchEnd, ManualClock};
use cotter_testkit::servers::Redis;
use std::time::Duration;
use tokio::time::timeout;

#[test]
#[ignore = "needs redis-server"]
fn a_hundred_parties_count_down() {
    let server = Redis::start();
    let clients = [(); 4].map(|()| Client::connect(server.url("")).wait().unwrap());
    a_hundred_count_down_at_once(&clients);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_latch_whose_note_was_deleted_is_gone() {
    let (server, clock) = (Redis::start(), ManualClock::new());
    let client = Client::builder().clock(clock.clone()).connect(server.url("")).await.unwrap();
    let latch = client.latch("a");
    latch.create(2).await.unwrap();
    let waiting = tokio::spawn(latch.wait());
    let key = "cotter:{a}:note:cotter:latch";
    eventually("it waits", || !server.command(&["PUBSUB", "CHANNELS", key]).is_empty()).await;
    assert_eq!(server.command(&["DEL", key]), "1");
    // Another of the same name, with the same revision.
    latch.create(2).await.unwrap();
    assert!(latch.count_down("x").await.unwrap() == 1);
    let end = timeout(Duration::from_secs(20), waiting).await.expect("it is told").unwrap().unwrap();
    assert_eq!(end, LatchEnd::Gone);
    let waiting = tokio::spawn(latch.wait());
    eventually("it waits", || !server.command(&["PUBSUB", "CHANNELS", key]).is_empty()).await;
    server.command(&["DEL", key]);
    eventually("it looks", || {
        clock.advance(Duration::from_secs(5));
        waiting.is_finished()
    })
    .await;
    assert_eq!(waiting.await.unwrap().unwrap(), LatchEnd::Gone);
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn the_older_protocols_have_no_latches() {
    let server = Redis::start();
    for mode in ["mode=plain", "mode=getset"] {
        let client = Client::connect(server.url(mode)).await.unwrap();
        let error = client.latch("a").create(1).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    }
}
