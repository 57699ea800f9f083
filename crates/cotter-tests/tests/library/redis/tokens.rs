//! Tokens, whatever happens to the server that counts them.

use super::setup::{backend, claim, client, eventually, holds_at_last, queued, take};
use cotter::backend::{Leave, Until};
use cotter::{Client, Lease};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::Redis;
use cotter_testkit::timing::Stopwatch;
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
        backend.release(&claim, Leave::used(grant.turns)).await.unwrap();
    }
    last
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn they_rise_over_a_restored_snapshot() {
    let mut server = Redis::start();
    use_up(&server, 10).await;
    server.command(&["SAVE"]);
    let last = use_up(&server, 200).await;
    server.kill();
    server.restart();
    assert!(use_up(&server, 1).await > last);
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn they_rise_over_a_promoted_replica_that_lags() {
    let (master, replica) = (Redis::start(), Redis::start());
    use_up(&master, 10).await;
    replica.follow(&master);
    replica.promote();
    let last = use_up(&master, 200).await;
    assert!(use_up(&replica, 1).await > last);
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn they_rise_over_lost_data() {
    let server = Redis::start();
    let last = use_up(&server, 200).await;
    server.command(&["FLUSHALL"]);
    assert!(use_up(&server, 1).await > last);
}

#[tokio::test]
#[ignore = "needs redis-server and cc"]
async fn they_rise_over_a_clock_that_is_stepped() {
    let hour = 3600;
    for steps in [[hour, 0], [0, -hour], [-hour, hour], [hour, -hour]] {
        let server = Redis::builder().skewed().start();
        server.step_clock(steps[0]);
        let before = use_up(&server, 20).await;
        let clock: i64 = server.command(&["TIME"]).lines().next().unwrap().parse().unwrap();
        server.step_clock(steps[1]);
        let now: i64 = server.command(&["TIME"]).lines().next().unwrap().parse().unwrap();
        assert!((now - clock - (steps[1] - steps[0])).abs() < 60, "the clock was stepped: {steps:?}");
        let next = use_up(&server, 1).await;
        assert!(next > before, "{steps:?}: {next} after {before}");
        if steps[1] < steps[0] {
            assert_eq!(next, before + 1, "one turn at a time until the clock has caught up");
        }
        assert!(use_up(&server, 20).await > next);
    }
}

/// What JavaScript and every other reader of JSON makes of it.
#[tokio::test]
#[ignore = "needs redis-server and node"]
async fn they_survive_json() {
    let server = Redis::start();
    let token = use_up(&server, 1).await;
    let script = "const t = JSON.parse(process.argv[1]); \
        console.log(t.every(Number.isSafeInteger), t[0] < t[1], t.join(' '))";
    let json = format!("[{token}, {}]", token + 1);
    let node = std::process::Command::new("node").args(["-e", script, &json]).output();
    let output = node.expect("node is in PATH");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(text.trim(), format!("true true {token} {}", token + 1), "{output:?}");
}

/// A lease that was granted in what is now the future counts from now, and ends.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_clock_that_goes_back_does_not_hold_a_lock_for_an_hour() {
    let server = Redis::start();
    let (dead, other) = (backend(&server.url("")).await, backend(&server.url("")).await);
    let ttl = Duration::from_millis(500);
    let grant = take(&dead, &claim("a", ttl)).await;
    let key = "cotter:{a}";
    let state = server.command(&["GET", key]);
    let ahead = grant.number + 3_600_000_000;
    server.command(&["SET", key, &format!("{}{ahead:016}{}", &state[..55], &state[71..])]);
    let start = Stopwatch::start();
    let next = other.acquire(&claim("a", ttl), Until::Forever).await.unwrap().granted().unwrap();
    assert!(next.number > grant.number);
    start.at_most(Duration::from_secs(2), "the lease counts from now");
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_lease_of_three_days_lasts_three_days() {
    let server = Redis::start();
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
#[ignore = "needs redis-server"]
async fn a_lease_that_came_by_message_is_as_long_as_any() {
    let server = Redis::start();
    let lease = Lease::fixed(Duration::from_secs(60));
    let connect = || Client::builder().lease(lease).connect(server.url(""));
    let (first, second) = (connect().await.unwrap(), connect().await.unwrap());
    let guard = first.mutex("a").lock().await.unwrap();
    let waiting = tokio::spawn(second.mutex("a").lock());
    eventually("it waits", || queued(&server, "a") == 1).await;
    guard.finish().await.unwrap();
    let guard = waiting.await.unwrap().unwrap();
    // Counted from its last question, which was at most a poll period of 5 s ago.
    let left = guard.remaining().unwrap();
    assert!(left > Duration::from_secs(45) && left <= Duration::from_secs(60), "{left:?}");
    let holder = first.holder("a").await.unwrap().unwrap();
    assert!(holder.holders[0].remaining.unwrap() >= left, "the server's is no shorter than what is believed");
    assert_eq!(server.command(&["GET", "cotter:{a}"])[95..109], *"00000060000000");
}

/// A claim may get the same grant twice, by the answer to its request and by a message. If the message comes while it is being
/// released, the process knows the claim no longer and gives the grant back at once, and its tokens were used.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server and cc"]
async fn a_message_that_is_late_gives_no_token_back() {
    let server = Redis::builder().skewed().start();
    let (holder, waiter) = (backend(&server.url("")).await, backend(&server.url("")).await);
    let (busy, waits) = (claim("b", TTL), claim("b", TTL));
    take(&holder, &busy).await;
    let waiting = holds_at_last(&waiter, &waits);
    let channels = || server.command(&["PUBSUB", "CHANNELS", "cotter:wake:*"]);
    eventually("it listens", || queued(&server, "b") == 1 && !channels().is_empty()).await;
    let used = claim("a", TTL);
    let number = take(&holder, &used).await.number;
    // Otherwise the clock alone has the next token rise.
    server.step_clock(-3600);
    let message = format!("granted {} {number:016} {number:016} 00001 00000002000000 cotter:{{a}}", used.id);
    assert_eq!(server.command(&["PUBLISH", &channels(), &message]), "1");
    let next = claim("a", TTL);
    let next =
        holder.acquire(&next, Until::Forever).await.unwrap().granted().expect("it was given back").number;
    demand(next > number, Kind::RepeatedToken, format!("{next} after {number}"));
    holder.release(&busy, Leave::used(1)).await.unwrap();
    assert!(waiting.await.unwrap());
}
