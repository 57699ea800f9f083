//! Permits of `recipe=permits`, with the keys as witnesses.

use crate::redis::setup::{USED, backend, claim, client, holds_at_last, take};
use cotter::backend::{Claim, Extension, Mode, Release, Until};
use cotter::{Client, ErrorKind, EvictOrder, Eviction, LossCause, Result};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::Redis;
use cotter_testkit::timing::{Stopwatch, eventually, happens};
use std::time::Duration;

const PERMITS: &str = "mode=redisson&recipe=permits";
const TTL: Duration = Duration::from_secs(20);
const LONG: Duration = Duration::from_secs(3600);
const HELD: &str = "{a}:timeout";
/// When a permit of Redisson ends that has no lease.
const NEVER: &str = "922337203685477";

fn permits(take: u32, of: u32, ttl: Duration) -> Claim {
    let mut claim = claim("a", ttl);
    claim.mode = Mode::Permits { take, of };
    claim
}

/// How many are free, and how many are held.
fn counts(server: &Redis) -> (i64, usize) {
    let number = |words: &[&str]| server.command(words).parse::<i64>().unwrap();
    (number(&["GET", "a"]), usize::try_from(number(&["ZCARD", HELD])).unwrap())
}

fn is_refused<T>(answer: Result<T>, of: u32) {
    demand(answer.is_err(), Kind::PermitsOverLimit, format!("there are {of}"));
    let error = answer.err().expect("it is none");
    let says = error.to_string().contains(&format!("in use as a semaphore of {of}, not as"));
    assert!(error.kind() == ErrorKind::LimitMismatch && says, "{error}");
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn permits_are_counted_as_redisson_does() {
    let server = Redis::start();
    let ours = backend(&server.url(PERMITS)).await;
    let (two, one) = (permits(2, 5, TTL), permits(1, 5, TTL));
    let first = take(&ours, &two).await;
    assert_eq!(counts(&server), (3, 2));
    assert_eq!(take(&ours, &two).await.number, first.number, "it is asked again, and takes nothing more");
    assert!(take(&ours, &one).await.number > first.number);
    assert_eq!(counts(&server), (2, 3));
    let ids = server.command(&["EVAL", "return #redis.call('ZRANGE', KEYS[1], 0, 0)[1]", "1", HELD]);
    assert_eq!(ids, "16", "the length of an id of Redisson");
    assert_eq!(ours.release(&two, USED).await.unwrap(), Release::Freed);
    assert_eq!(ours.release(&two, USED).await.unwrap(), Release::NotHeld);
    assert_eq!(counts(&server), (4, 1));
    ours.release(&one, USED).await.unwrap();
    assert_eq!((server.command(&["GET", "a"]), server.command(&["EXISTS", HELD])), ("5".into(), "0".into()));
}

/// What a client of Redisson has set is not changed by one of cotter that believes otherwise.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn the_number_of_permits_that_redisson_has_set_stands() {
    let server = Redis::start();
    let ours = client(&server.url(PERMITS), TTL).await;
    let try_of = async |name: &str, of| ours.semaphore(name, of).try_acquire().await;
    server.command(&["SET", "theirs", "5"]);
    for _ in 0..2 {
        is_refused(try_of("theirs", 3).await, 5);
        is_refused(ours.mutex("theirs").try_lock().await, 5);
        drop(try_of("theirs", 5).await.unwrap().expect("five are free"));
    }
    // One that cotter has made is the next one's to change, while nobody uses it.
    let held = try_of("ours", 3).await.unwrap().expect("it is free");
    is_refused(try_of("ours", 4).await, 3);
    drop(held);
    eventually("it was given back", || server.command(&["GET", "ours"]) == "3").await;
    drop(try_of("ours", 4).await.unwrap().expect("it is free"));
    eventually("it was given back", || server.command(&["GET", "ours"]) == "4").await;
    // Until a client of Redisson has changed it.
    server.command(&["SET", "ours", "7"]);
    is_refused(try_of("ours", 4).await, 7);
}

/// A release that is late would add a permit that was taken back before.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_permit_whose_lease_has_ended_comes_back_once() {
    let server = Redis::start();
    let ours = backend(&server.url(PERMITS)).await;
    let (brief, stays) = (permits(2, 3, Duration::from_millis(300)), permits(1, 3, TTL));
    let grant = take(&ours, &brief).await;
    take(&ours, &stays).await;
    let waiting = holds_at_last(&ours, &permits(2, 3, TTL));
    assert!(happens("they come back", waiting).await.unwrap());
    assert_eq!(ours.release(&brief, USED).await.unwrap(), Release::NotHeld);
    let extended = ours.extend(&[&grant], TTL).await.remove(0).unwrap();
    assert!(matches!(extended, Extension::Lost(LossCause::Gone)), "{extended:?}");
    let busy = ours.acquire(&permits(1, 3, TTL), Until::Now).await.unwrap().granted().is_none();
    demand(busy && counts(&server) == (0, 3), Kind::PermitsOverLimit, "three of three are held");
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_count_that_goes_missing_lets_in_no_more() {
    let server = Redis::start();
    let ours = backend(&server.url(PERMITS)).await;
    let held = permits(2, 3, TTL);
    take(&ours, &held).await;
    server.command(&["DEL", "a"]);
    take(&ours, &permits(1, 3, TTL)).await;
    let another = ours.acquire(&permits(1, 3, TTL), Until::Now).await;
    let busy = another.is_ok_and(|answer| answer.granted().is_none());
    demand(busy, Kind::PermitsOverLimit, format!("three of three are held: {:?}", counts(&server)));
    server.command(&["DEL", "a"]);
    assert_eq!(ours.release(&held, USED).await.unwrap(), Release::Freed);
    assert_eq!(counts(&server), (2, 1));
    take(&ours, &permits(2, 3, TTL)).await;
    assert_eq!(counts(&server), (0, 3));
}

/// Whoever restores it may believe in another number than those who hold.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_count_that_goes_missing_is_not_restored_from_another_limit() {
    let server = Redis::start();
    let ours = client(&server.url(PERMITS), TTL).await;
    let held = ours.semaphore("a", 3).take(3).acquire().await.unwrap();
    server.command(&["DEL", "a"]);
    is_refused(ours.semaphore("a", 5).try_acquire().await, 3);
    assert_eq!(counts(&server), (0, 3));
    // Nor from one that somebody in Java has replaced meanwhile.
    drop(held);
    eventually("it was given back", || server.command(&["GET", "a"]) == "3").await;
    server.command(&["SET", "a", "2"]);
    let held = ours.semaphore("a", 2).take(2).acquire().await.unwrap();
    server.command(&["DEL", "a"]);
    let another = ours.semaphore("a", 2).try_acquire().await;
    demand(matches!(another, Ok(None)), Kind::PermitsOverLimit, format!("two of two are held: {another:?}"));
    drop(held);
}

/// What is given back, taken back or changed while the count is lost, is told all the same.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_count_that_goes_missing_leaves_nobody_asleep() {
    let server = Redis::start();
    let [one, other] = two_clients(&server, LONG).await;
    for limit_is_known in [true, false] {
        let lose = || match limit_is_known {
            true => server.command(&["DEL", "a"]),
            false => server.command(&["DEL", "a", "{a}:cotter_limit"]),
        };
        let at_once = EvictOrder::new().at_once();
        for how in ["a release", "an eviction", "a change of the limit"] {
            let held = one.semaphore("a", 1).acquire().await.unwrap();
            let waiting = tokio::spawn(other.semaphore("a", 1).acquire());
            tokio::time::sleep(Duration::from_millis(300)).await;
            lose();
            let since = Stopwatch::of(Kind::IdleWaiter);
            match how {
                "a release" => drop(held),
                "an eviction" => drop(one.admin().evict_with("a", at_once).await.unwrap()),
                _ => one.semaphore("a", 1).set_limit(2).await.unwrap(),
            }
            drop(happens("it is woken", waiting).await.unwrap().unwrap());
            since.at_most(Duration::from_secs(2), how);
            server.command(&["DEL", "a", HELD, "{a}:cotter_limit"]);
        }
    }
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_count_that_goes_missing_is_shown_as_it_was_and_one_that_is_none_is_refused() {
    let server = Redis::start();
    let ours = client(&server.url(PERMITS), TTL).await;
    let held = ours.semaphore("a", 3).acquire().await.unwrap();
    server.command(&["DEL", "a"]);
    let seen = ours.holder("a").await.unwrap().expect("it is held");
    assert_eq!(seen.holders[0].mode, Mode::Permits { take: 1, of: 3 });
    for foreign in ["many", "1.5"] {
        server.command(&["SET", "a", foreign]);
        let errors = [
            ours.holder("a").await.unwrap_err(),
            ours.semaphore("a", 3).try_acquire().await.unwrap_err(),
            ours.admin().evict("a").await.unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.kind(), ErrorKind::ForeignKey, "{foreign}: {error}");
        }
    }
    drop(held);
}

async fn two_clients(server: &Redis, ttl: Duration) -> [Client; 2] {
    [client(&server.url(PERMITS), ttl).await, client(&server.url(PERMITS), ttl).await]
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn permits_are_shown_and_evicted() {
    let server = Redis::start();
    let [one, other] = two_clients(&server, LONG).await;
    let held = one.semaphore("a", 2).take(2).acquire().await.unwrap();
    let seen = other.holder("a").await.unwrap().expect("it is held");
    assert_eq!(seen.holders.len(), 2);
    assert_eq!(seen.holders[0].mode, Mode::Permits { take: 1, of: 2 });
    assert!(seen.holders[0].remaining.is_some_and(|left| left <= LONG), "{seen:?}");
    let waiting = tokio::spawn(other.semaphore("a", 2).acquire());
    tokio::time::sleep(Duration::from_millis(300)).await;
    // Marked: they come back when the lease would have ended, and the holder is told.
    assert!(matches!(one.admin().evict("a").await.unwrap(), Eviction::Evicted { .. }));
    assert_eq!(held.extend(LONG).await.unwrap_err().lost().unwrap().cause, LossCause::Evicted);
    assert_eq!(one.holder("a").await.unwrap().unwrap().holders[0].label, "nobody: evicted");
    assert!(!waiting.is_finished());
    let (since, now) = (Stopwatch::of(Kind::IdleWaiter), EvictOrder::new().at_once());
    assert!(matches!(one.admin().evict_with("a", now).await.unwrap(), Eviction::Evicted { .. }));
    drop(happens("it is woken", waiting).await.unwrap().unwrap());
    since.at_most(Duration::from_secs(1), "an eviction is told");
    eventually("all are free", || server.command(&["GET", "a"]) == "2").await;
    assert_eq!(one.admin().evict("a").await.unwrap(), Eviction::NotHeld);
    // One without an end would never come back.
    server.command(&["SET", "a", "1"]);
    server.command(&["ZADD", HELD, NEVER, "somebody"]);
    let error = one.admin().evict("a").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(one.holder("a").await.unwrap().unwrap().holders[0].remaining.is_none());
    drop(one.admin().evict_with("a", now).await.unwrap());
    assert_eq!(server.command(&["GET", "a"]), "2");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn permits_are_renewed_and_a_change_of_their_number_is_told() {
    let server = Redis::start();
    let [one, other] = two_clients(&server, Duration::from_millis(900)).await;
    let (semaphore, held) = (one.semaphore("a", 1), one.semaphore("a", 1).acquire().await.unwrap());
    let waiting = tokio::spawn(other.semaphore("a", 1).acquire());
    tokio::time::sleep(Duration::from_millis(2000)).await;
    assert!(held.is_valid() && !waiting.is_finished(), "it was renewed");
    semaphore.set_limit(2).await.unwrap();
    let second = happens("there is one more", waiting).await.unwrap().unwrap();
    assert_eq!(counts(&server), (0, 2));
    drop((held, second));
    eventually("both are free", || server.command(&["GET", "a"]) == "2").await;
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_lock_or_a_set_of_others_is_no_semaphore() {
    let server = Redis::start();
    let ours = client(&server.url(PERMITS), TTL).await;
    server.command(&["HSET", "a", "me", "1"]);
    server.command(&["SET", "{b}:timeout", "me"]);
    server.command(&["SET", "c", "many"]);
    for name in ["a", "b", "c"] {
        let error = ours.semaphore(name, 2).try_acquire().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ForeignKey, "{name}: {error}");
    }
    assert_eq!(server.command(&["HGET", "a", "me"]), "1");
}
