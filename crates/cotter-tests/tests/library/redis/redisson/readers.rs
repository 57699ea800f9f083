//! Readers of `recipe=rwlock`, with the keys as witnesses.

use super::fields;
use crate::redis::setup::{USED, backend, claim, client, take};
use cotter::backend::{Claim, Leave, Mode, Release};
use cotter::{EvictOrder, Eviction, LossCause};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::Redis;
use cotter_testkit::timing::{eventually, happens};
use std::time::Duration;

const READ_WRITE: &str = "mode=redisson&recipe=rwlock";
const LONG: Duration = Duration::from_secs(3600);

fn reading(ttl: Duration) -> Claim {
    let mut claim = claim("a", ttl);
    claim.mode = Mode::Shared;
    claim
}

fn left(server: &Redis, key: &str) -> i64 {
    server.command(&["PTTL", key]).parse().unwrap()
}

/// A writer would wait for the longest lease that there ever was.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_lock_lives_as_long_as_the_longest_lease_of_those_who_read() {
    let server = Redis::start();
    let ours = backend(&server.url(READ_WRITE)).await;
    let (long, brief) = (reading(LONG), reading(Duration::from_secs(5)));
    let grant = take(&ours, &long).await;
    assert!(take(&ours, &brief).await.number > grant.number);
    assert!(left(&server, "a") > 3_000_000);
    ours.release(&long, USED).await.unwrap();
    assert!((1..=5000).contains(&left(&server, "a")), "{} ms", left(&server, "a"));
    // Those who have died leave a field, and nothing of their leases.
    let again = reading(LONG);
    take(&ours, &again).await;
    eventually("a lease ends", || server.command(&["KEYS", "{a}:*"]).lines().count() == 1).await;
    assert_eq!(fields(&server, "a").len(), 6, "two readers and the mode");
    ours.release(&again, USED).await.unwrap();
    assert_eq!(server.command(&["KEYS", "*a}*"]), "redisson_lock_token:{a}", "the dead hold nobody up");
}

/// A repeated request is no second reader, and a reader that is no longer there is not extended.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_reader_enters_once_and_extends_only_itself() {
    let server = Redis::start();
    let ours = backend(&server.url(READ_WRITE)).await;
    let (one, other) = (reading(LONG), reading(LONG));
    let first = take(&ours, &one).await;
    let again = take(&ours, &one).await;
    assert_eq!((first.number, first.turns), (again.number, again.turns));
    let second = take(&ours, &other).await;
    let held = fields(&server, "a");
    demand(held.iter().filter(|value| **value == "1").count() == 2, Kind::LeftBehind, format!("{held:?}"));
    assert_eq!(ours.release(&one, USED).await.unwrap(), Release::Freed);
    assert_eq!(ours.release(&one, USED).await.unwrap(), Release::NotHeld);
    let answers = ours.extend(&[&first, &second], LONG * 2).await;
    assert!(matches!(answers[0], Ok(cotter::backend::Extension::Lost(LossCause::Gone))), "{answers:?}");
    assert!(matches!(answers[1], Ok(cotter::backend::Extension::Extended { .. })), "{answers:?}");
    assert!(left(&server, "a") > 7_000_000);
    // Kept without a reader: no writer enters before the rest has passed.
    ours.release(&other, Leave::used(1).keeping(Some(Duration::from_millis(400)))).await.unwrap();
    assert!((1..=400).contains(&left(&server, "a")), "{} ms", left(&server, "a"));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn readers_that_are_evicted_are_told() {
    let server = Redis::start();
    let ours = client(&server.url(READ_WRITE), Duration::from_millis(1500)).await;
    let guards = [ours.rwlock("a").read().await.unwrap(), ours.rwlock("a").read().await.unwrap()];
    assert_eq!(ours.holder("a").await.unwrap().unwrap().holders.len(), 2);
    assert!(matches!(ours.admin().evict("a").await, Ok(Eviction::Evicted { .. })));
    assert!(
        ours.rwlock("a").try_read().await.unwrap().is_none()
            && ours.rwlock("a").try_write().await.unwrap().is_none()
    );
    for guard in &guards {
        assert_eq!(happens("it is told", guard.lost()).await.cause, LossCause::Evicted);
    }
    let writing = happens("the lease runs out", ours.rwlock("a").write()).await.unwrap();
    let order = EvictOrder::new().at_once();
    assert!(matches!(ours.admin().evict_with("a", order).await, Ok(Eviction::Evicted { .. })));
    assert_eq!(happens("it is told", writing.lost()).await.cause, LossCause::Gone);
}

/// A lock without a mode, as an `RLock` of Redisson leaves it, is held by somebody.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_lock_of_another_recipe_is_busy() {
    let server = Redis::start();
    let (lock, both) =
        (client(&server.url("mode=redisson"), LONG).await, client(&server.url(READ_WRITE), LONG).await);
    let guard = lock.mutex("a").lock().await.unwrap();
    for held in [
        both.rwlock("a").try_read().await.unwrap().is_some(),
        both.rwlock("a").try_write().await.unwrap().is_some(),
    ] {
        demand(!held, Kind::Overlap, "a lock is held there");
    }
    guard.finish().await.unwrap();
    let guard = both.rwlock("a").read().await.unwrap();
    demand(lock.mutex("a").try_lock().await.unwrap().is_none(), Kind::SharedWithExclusive, "somebody reads");
    guard.finish().await.unwrap();
}
