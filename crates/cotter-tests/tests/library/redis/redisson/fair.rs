//! Fair locks, with the keys as witnesses.

use crate::redis::setup::{USED, backend, claim, client, holds_at_last, take};
use cotter::backend::{Backend, Claim, Release, Until};
use cotter::{EvictOrder, Eviction};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::Redis;
use cotter_testkit::timing::{Stopwatch, eventually, happens};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::task::{JoinHandle, JoinSet};

const FAIR: &str = "mode=redisson&recipe=fair";
const LONG: Duration = Duration::from_secs(3600);
const LINE: &str = "redisson_lock_queue:{a}";
const STAYS: &str = "redisson_lock_timeout:{a}";
/// A thread of Redisson, which is not there.
const THEIRS: &str = "6c1f7c5e-2a44-4b6c-8a55-1c2b7d1f0a11:1";
/// For this long Redisson believes that one who is silent waits.
const WAITS: i64 = 300_000;
/// Longer than the poll of a waiter that is not close to its turn.
const POLLED: Duration = Duration::from_millis(5600);

fn in_line(server: &Redis) -> usize {
    server.command(&["LLEN", LINE]).parse().unwrap()
}

fn now() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

/// When those in line are believed to be gone, in milliseconds from now, in their order.
fn stays(server: &Redis) -> Vec<i64> {
    let line = server.command(&["LRANGE", LINE, "0", "-1"]);
    let until = |who: &str| server.command(&["ZSCORE", STAYS, who]).parse::<i64>().ok();
    line.lines().filter_map(until).map(|until| until - now()).collect()
}

/// Joins the line, and gives the lock back when it is told to.
async fn join(server: &Redis, ours: &Arc<dyn Backend>, ttl: Duration) -> (Claim, JoinHandle<bool>) {
    let (before, wanted) = (in_line(server), claim("a", ttl));
    let waiting = holds_at_last(ours, &wanted);
    eventually("it is in line", || in_line(server) == before + 1).await;
    (wanted, waiting)
}

fn add_theirs(server: &Redis, stays_for: i64) {
    server.command(&["RPUSH", LINE, THEIRS]);
    server.command(&["ZADD", STAYS, &(now() + stays_for).to_string(), THEIRS]);
}

/// What a waiter leaves in the store ends with its wait.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_line_is_left_as_it_was_found() {
    let server = Redis::start();
    let ours = backend(&server.url(FAIR)).await;
    let held = claim("a", LONG);
    take(&ours, &held).await;
    let (first, waiting) = join(&server, &ours, LONG).await;
    let (second, gives_up) = join(&server, &ours, LONG).await;
    gives_up.abort();
    assert_eq!(ours.release(&second, USED).await.unwrap(), Release::NotHeld);
    assert_eq!(in_line(&server), 1);
    ours.release(&held, USED).await.unwrap();
    assert!(happens("it is told", waiting).await.unwrap());
    ours.release(&first, USED).await.unwrap();
    assert_eq!(server.command(&["KEYS", "*"]), "redisson_lock_token:{a}");
}

/// Redisson takes its own time off that of all others when it takes the lock; a shorter one would be over then.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn times_in_line_are_counted_as_redisson_does() {
    let server = Redis::start();
    let ours = backend(&server.url(FAIR)).await;
    let held = claim("a", LONG);
    take(&ours, &held).await;
    let lease = i64::try_from(LONG.as_millis()).unwrap();
    let (first, waiting) = join(&server, &ours, LONG).await;
    let (second, gives_up) = join(&server, &ours, LONG).await;
    let (third, last) = join(&server, &ours, LONG).await;
    let assert_near = |expected: &[i64]| {
        let seen = stays(&server);
        let near = seen.iter().zip(expected).all(|(seen, expected)| (expected - seen).abs() < 20_000);
        assert!(near && seen.len() == expected.len(), "{seen:?} is not about {expected:?}");
    };
    assert_near(&[lease + WAITS, lease + 2 * WAITS, lease + 3 * WAITS]);
    gives_up.abort();
    ours.release(&second, USED).await.unwrap();
    assert_near(&[lease + WAITS, lease + 2 * WAITS]);
    ours.release(&held, USED).await.unwrap();
    assert!(happens("the first is told", waiting).await.unwrap());
    assert_near(&[lease + WAITS]);
    ours.release(&first, USED).await.unwrap();
    assert!(happens("the last is told", last).await.unwrap());
    ours.release(&third, USED).await.unwrap();
}

/// A holder may keep the lock for longer than anybody expected when the others came.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn one_who_asks_again_is_not_believed_to_be_gone() {
    let server = Redis::start();
    let ours = backend(&server.url(FAIR)).await;
    let held = claim("a", LONG);
    take(&ours, &held).await;
    let (first, waiting) = join(&server, &ours, LONG).await;
    add_theirs(&server, 3_600_000 + 2 * WAITS);
    let owner = server.command(&["LINDEX", LINE, "0"]);
    server.command(&["ZADD", STAYS, &(now() + 1000).to_string(), &owner]);
    tokio::time::sleep(POLLED).await;
    let seen = stays(&server);
    assert_eq!(server.command(&["LINDEX", LINE, "0"]), owner, "it has kept its place");
    demand(seen[0] > WAITS, Kind::LostPlace, format!("it has asked since: {seen:?}"));
    demand(
        seen[1] > seen[0] + WAITS / 2,
        Kind::LostPlace,
        format!("those behind stay for as long: {seen:?}"),
    );
    ours.release(&held, USED).await.unwrap();
    assert!(happens("it is told", waiting).await.unwrap());
    assert_eq!(ours.release(&first, USED).await.unwrap(), Release::Freed);
}

/// Any key of a server can be evicted or deleted: one who asks joins again, and leaves nothing behind.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_line_that_goes_missing_is_joined_again() {
    let server = Redis::start();
    let ours = backend(&server.url(FAIR)).await;
    for lost in [LINE, STAYS] {
        let held = claim("a", LONG);
        take(&ours, &held).await;
        let (first, waiting) = join(&server, &ours, LONG).await;
        server.command(&["DEL", lost]);
        eventually("it is in line again", || in_line(&server) > 0 && !stays(&server).is_empty()).await;
        let since = Stopwatch::of(Kind::IdleWaiter);
        ours.release(&held, USED).await.unwrap();
        assert!(happens("it is told", waiting).await.unwrap());
        since.at_most(Duration::from_secs(1), format!("{lost} went missing"));
        ours.release(&first, USED).await.unwrap();
        assert_eq!(server.command(&["EXISTS", LINE, STAYS]), "0");
    }
}

/// In Redisson, a dead thread at the head of the line keeps everybody else out for five minutes.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn one_who_does_not_take_a_free_lock_is_passed_over() {
    let server = Redis::start();
    let ours = backend(&server.url(FAIR)).await;
    add_theirs(&server, WAITS);
    let held = claim("a", LONG);
    let newcomer = ours.acquire(&held, Until::Now).await.unwrap().granted();
    demand(newcomer.is_none(), Kind::LostPlace, "it may be on its way");
    let (since, answer) = (Stopwatch::of(Kind::IdleWaiter), ours.acquire(&held, Until::Forever));
    assert!(happens("violation[stuck-waiter]: it is passed over", answer).await.unwrap().granted().is_some());
    since.at_most(Duration::from_secs(4), "somebody is first in line who is not there");
    since.at_least(Duration::from_millis(1400), "it has its chance");
    assert_eq!(server.command(&["EXISTS", LINE, STAYS]), "0");
    // Whose time is over is not waited for, and one without a time has left.
    ours.release(&held, USED).await.unwrap();
    add_theirs(&server, -1);
    server.command(&["RPUSH", LINE, "somebody"]);
    let held = claim("a", LONG);
    take(&ours, &held).await;
    assert_eq!(server.command(&["EXISTS", LINE, STAYS]), "0");
}

/// A client that is gone has no subscription: the one behind it is told at once, whoever that is.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn the_dead_are_told_of_nothing_and_hold_nobody_up() {
    let server = Redis::start();
    let (ours, dead) = (backend(&server.url(FAIR)).await, backend(&server.url(FAIR)).await);
    let held = claim("a", LONG);
    take(&ours, &held).await;
    let (_, waiting) = join(&server, &dead, LONG).await;
    let (next, behind) = join(&server, &ours, LONG).await;
    // Without a word: neither a release nor a goodbye comes through.
    waiting.abort();
    dead.close().await;
    let since = Stopwatch::of(Kind::IdleWaiter);
    ours.release(&held, USED).await.unwrap();
    assert!(happens("the next is told", behind).await.unwrap());
    since.at_most(Duration::from_secs(1), "nobody listens in the place of the dead");
    assert_eq!((ours.release(&next, USED).await.unwrap(), in_line(&server)), (Release::Freed, 0));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn who_waits_is_counted_and_told_of_an_eviction() {
    let server = Redis::start();
    let (one, other) = (client(&server.url(FAIR), LONG).await, client(&server.url(FAIR), LONG).await);
    let guard = one.mutex("a").lock().await.unwrap();
    let waiting = tokio::spawn(other.mutex("a").lock());
    eventually("it is in line", || in_line(&server) == 1).await;
    add_theirs(&server, -1);
    assert_eq!(one.holder("a").await.unwrap().unwrap().waiters, Some(1), "one of two is gone");
    let since = Stopwatch::of(Kind::IdleWaiter);
    let evicted = one.admin().evict_with("a", EvictOrder::new().at_once()).await.unwrap();
    assert_eq!(evicted, Eviction::Evicted { token: guard.token() });
    happens("it is woken", waiting).await.unwrap().unwrap().finish().await.unwrap();
    since.at_most(Duration::from_secs(1), "an eviction is told");
    drop(guard);
}

/// Redisson's own client stalls with a thousand threads at a fair lock.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn a_thousand_tasks_and_another_process_are_all_served() {
    let server = Redis::start();
    let (many, one) = (client(&server.url(FAIR), LONG).await, client(&server.url(FAIR), LONG).await);
    let first = many.mutex("a").lock().await.unwrap();
    let mut waiting = JoinSet::new();
    (0..1000).for_each(|_| _ = waiting.spawn(many.mutex("a").lock()));
    eventually("all of them are in line", || in_line(&server) == 1000).await;
    waiting.spawn(one.mutex("a").lock());
    first.finish().await.unwrap();
    let mut tokens = Vec::new();
    while let Some(guard) = happens("the next is served", waiting.join_next()).await {
        let guard = guard.unwrap().unwrap();
        tokens.push(guard.token());
        guard.finish().await.unwrap();
    }
    demand(tokens.is_sorted_by(|a, b| a < b), Kind::TokenOrder, format!("{tokens:?}"));
    assert_eq!((tokens.len(), in_line(&server)), (1001, 0));
}
