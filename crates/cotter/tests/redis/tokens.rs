//! Tokens, whatever happens to the server that counts them.

use crate::setup::{backend, claim, client, server, take};
use cotter::backend::{Leave, Until};
use cotter_testkit::servers::Redis;
use std::time::Duration;

const TTL: Duration = Duration::from_secs(10);

/// Holds and gives back so many times; answers with the last token.
async fn use_up(server: &Redis, times: usize) -> u64 {
    let backend = backend(&server.url("")).await;
    let mut last = 0;
    for _ in 0..times {
        let mut claim = claim("a", TTL);
        claim.turns = 1024;
        let grant = take(&backend, &claim).await;
        assert!(grant.number > last && grant.number < 1 << 53);
        last = grant.number + u64::from(grant.turns) - 1;
        backend.release(&claim, Leave { used: grant.turns, keep_for: None }).await.unwrap();
    }
    last
}

#[tokio::test]
async fn they_rise_over_a_restored_snapshot() {
    let mut server = server!();
    use_up(&server, 10).await;
    server.command(&["SAVE"]);
    let last = use_up(&server, 200).await;
    server.kill();
    server.restart();
    assert!(use_up(&server, 1).await > last);
}

#[tokio::test]
async fn they_rise_over_a_promoted_replica_that_lags() {
    let (master, replica) = (server!(), server!());
    use_up(&master, 10).await;
    replica.follow(&master);
    replica.promote();
    let last = use_up(&master, 200).await;
    assert!(use_up(&replica, 1).await > last);
}

#[tokio::test]
async fn they_rise_over_lost_data() {
    let server = server!();
    let last = use_up(&server, 200).await;
    server.command(&["FLUSHALL"]);
    assert!(use_up(&server, 1).await > last);
}

#[tokio::test]
async fn they_rise_over_a_clock_that_goes_back() {
    let server = server!();
    let last = use_up(&server, 10).await;
    // What the store remembers is an hour ahead of its clock.
    let key = "cotter:{a}";
    let state = server.command(&["GET", key]);
    let ahead = last + 3_600_000_000;
    let stepped = format!("{}{ahead:016} {ahead:016} {ahead:016} 00001{}", &state[..38], &state[94..]);
    server.command(&["SET", key, &stepped]);
    assert_eq!(use_up(&server, 1).await, ahead + 1, "one turn at a time until the clock has caught up");
    assert_eq!(use_up(&server, 1).await, ahead + 2);
}

/// A lease that was granted in what is now the future counts from now, and ends.
#[tokio::test]
async fn a_clock_that_goes_back_does_not_hold_a_lock_for_an_hour() {
    let server = server!();
    let (dead, other) = (backend(&server.url("")).await, backend(&server.url("")).await);
    let ttl = Duration::from_millis(500);
    let grant = take(&dead, &claim("a", ttl)).await;
    let key = "cotter:{a}";
    let state = server.command(&["GET", key]);
    let ahead = grant.number + 3_600_000_000;
    server.command(&["SET", key, &format!("{}{ahead:016}{}", &state[..55], &state[71..])]);
    let start = std::time::Instant::now();
    let next = other.acquire(&claim("a", ttl), Until::Forever).await.unwrap().unwrap();
    assert!(next.number > grant.number && start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
}

#[tokio::test]
async fn a_lease_of_three_days_lasts_three_days() {
    let server = server!();
    let ttl = Duration::from_secs(3 * 86_400);
    let client = client(&server.url(""), ttl).await;
    let guard = client.mutex("a").lock().await.unwrap();
    assert!(guard.remaining().unwrap() > ttl - ttl / 50);
    let px: u64 = server.command(&["PTTL", "cotter:{a}"]).parse().unwrap();
    assert!(u128::from(px) > ttl.as_millis());
    let holder = client.holder("a").await.unwrap().unwrap();
    assert!(holder.holders[0].remaining.unwrap() > ttl - Duration::from_secs(60));
}

#[tokio::test]
async fn a_free_name_is_forgotten_after_retain() {
    let server = server!();
    let backend = backend(&server.url("retain=300ms")).await;
    for i in 0..100 {
        let claim = claim(&format!("once {i}"), TTL);
        take(&backend, &claim).await;
        backend.release(&claim, Leave { used: 1, keep_for: None }).await.unwrap();
    }
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert_eq!(server.command(&["DBSIZE"]), "0");
}
