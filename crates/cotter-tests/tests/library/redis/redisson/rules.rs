//! What the protocol asks of cotter, with the keys as witnesses.

use super::fields;
use crate::redis::setup::{backend, claim, client, take};
use cotter::backend::{Leave, Until};
use cotter::{ErrorKind, EvictOrder, Eviction, Filter, LossCause, Released};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::{Loss, Proxy, Redis};
use cotter_testkit::timing::{Stopwatch, happens};
use std::time::Duration;

const MODE: &str = "mode=redisson";
const FAIR: &str = "mode=redisson&recipe=fair";
const TTL: Duration = Duration::from_secs(20);
const LONG: Duration = Duration::from_secs(3600);
const NOW: EvictOrder = EvictOrder::new().at_once();
const THEIRS: &str = "6c1f7c5e-2a44-4b6c-8a55-1c2b7d1f0a11:1";

/// Redisson would enter again, and one release would not free it.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_repeated_request_enters_once() {
    for mode in [MODE, FAIR] {
        it_enters_once(mode).await;
    }
}

async fn it_enters_once(mode: &str) {
    let server = Redis::start();
    let ours = backend(&server.url(mode)).await;
    let held = claim("a", TTL);
    let first = take(&ours, &held).await;
    let again = take(&ours, &held).await;
    assert_eq!((first.number, first.turns), (again.number, again.turns));
    let [owner, count] = &fields(&server, "a")[..] else { panic!("one field") };
    assert!(owner.len() > 37 && owner.as_bytes()[36] == b':', "{owner}");
    demand(count == "1", Kind::LeftBehind, format!("it has entered {count} times"));
    ours.release(&held, Leave::used(1)).await.unwrap();
    assert_eq!(server.command(&["EXISTS", "a"]), "0");
}

/// The answer is lost, and with it the block of tokens: the claim that asks again gets what it holds.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_grant_whose_answer_is_lost_is_found_again() {
    for mode in [MODE, FAIR] {
        it_is_found_again(mode).await;
    }
}

async fn it_is_found_again(mode: &str) {
    let server = Redis::start();
    let proxy = Proxy::start(server.port());
    let ours = backend(&proxy.redis_url(mode)).await;
    let held = claim("a", TTL);
    proxy.lose_reply(b"$22\r\ng", Loss::Cut);
    assert!(ours.acquire(&held, Until::Now).await.unwrap_err().outcome_unknown());
    let grant = take(&ours, &held).await;
    assert_eq!(server.command(&["GET", "redisson_lock_token:{a}"]), grant.number.to_string());
    assert_eq!((grant.turns, fields(&server, "a")[1].as_str()), (1, "1"));
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_renewal_extends_nobody_else() {
    let server = Redis::start();
    let ours = client(&server.url(MODE), Duration::from_millis(900)).await;
    let guard = ours.mutex("a").lock().await.unwrap();
    tokio::time::sleep(Duration::from_millis(2000)).await;
    assert!(guard.is_valid(), "it was renewed");
    server.command(&["DEL", "a"]);
    server.command(&["HSET", "a", THEIRS, "1"]);
    // Shorter than ours in the end, so that a renewal would move it.
    server.command(&["PEXPIRE", "a", "1500"]);
    let ends = || server.command(&["PEXPIRETIME", "a"]).parse::<i64>().unwrap();
    let theirs = ends();
    tokio::time::sleep(Duration::from_millis(1500)).await;
    demand(ends() <= theirs, Kind::RenewedAfterRelease, "their lease was extended");
    assert_eq!(happens("it is told", guard.lost()).await.cause, LossCause::Gone);
    server.command(&["HSET", "a", THEIRS, "1"]);
    assert_eq!(guard.release().await.unwrap(), Released::AlreadyLost);
    assert_eq!(fields(&server, "a"), [THEIRS, "1"], "a late release frees nobody else");
}

/// A release tells whoever waits, and so does an eviction and a name that stays locked.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn whatever_ends_a_hold_wakes_those_who_wait() {
    let server = Redis::start();
    for mode in [MODE, FAIR] {
        they_are_woken(&server.url(mode)).await;
    }
}

async fn they_are_woken(url: &str) {
    let (one, other) = (client(url, LONG).await, client(url, LONG).await);
    for how in ["release", "evict", "keep"] {
        let guard = one.mutex("a").lock().await.unwrap();
        let waiting = tokio::spawn(other.mutex("a").lock());
        tokio::time::sleep(Duration::from_millis(300)).await;
        let since = Stopwatch::of(Kind::IdleWaiter);
        match how {
            "release" => guard.finish().await.unwrap(),
            "evict" => {
                assert!(matches!(one.admin().evict_with("a", NOW).await, Ok(Eviction::Evicted { .. })))
            }
            _ => assert_eq!(guard.keep_for(Duration::from_millis(100)).await.unwrap(), Released::Yes),
        }
        happens("it is woken", waiting).await.unwrap().unwrap().finish().await.unwrap();
        since.at_most(Duration::from_secs(1), how);
    }
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_lock_of_redisson_is_shown_and_evicted() {
    let server = Redis::start();
    let (one, other) = (client(&server.url(MODE), TTL).await, client(&server.url(MODE), TTL).await);
    let guard = one.mutex("a").lock().await.unwrap();
    let seen = other.holder("a").await.unwrap().expect("it is held");
    assert_eq!((seen.holders[0].token, seen.last_token), (guard.token(), Some(guard.token())));
    assert!(seen.holders[0].remaining.is_some_and(|left| left <= TTL), "{seen:?}");
    // Marked: it runs out, and its holder is told.
    assert_eq!(other.admin().evict("a").await.unwrap(), Eviction::Evicted { token: guard.token() });
    assert!(other.mutex("a").try_lock().await.unwrap().is_none());
    assert_eq!(guard.extend(TTL).await.unwrap_err().lost().unwrap().cause, LossCause::Evicted);
    assert_eq!(other.holder("a").await.unwrap().unwrap().holders[0].label, "nobody: evicted");
    assert!(matches!(other.admin().evict_with("a", NOW).await, Ok(Eviction::Evicted { .. })));
    assert_eq!(other.admin().evict("a").await.unwrap(), Eviction::NotHeld);
    // Somebody else's, of any bytes and without an end.
    let raw = "return redis.call('HSET', KEYS[1], '\\255\\0 raw', 3)";
    server.command(&["EVAL", raw, "1", "b"]);
    let seen = other.holder("b").await.unwrap().expect("it is held");
    let holder = &seen.holders[0];
    assert_eq!(holder.label, r"owner \xff\x00 raw, entered 3 times");
    assert!(holder.remaining.is_none() && holder.token.get() == 0, "{seen:?}");
    assert_eq!(
        other.admin().evict("b").await.unwrap_err().kind(),
        ErrorKind::Unsupported,
        "it would never pass on"
    );
    drop(other.admin().evict_with("b", NOW).await.unwrap());
    drop(other.mutex("b").try_lock().await.unwrap().expect("free"));
}

/// A string, as `mode=plain` writes it, and a counter that counts nothing.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn keys_of_other_programs_are_named_and_kept() {
    let server = Redis::start();
    server.command(&["SET", "a", "me"]);
    server.command(&["SET", "redisson_lock_token:{b}", "many"]);
    for mode in [MODE, FAIR] {
        they_are_named(&client(&server.url(mode), TTL).await).await;
    }
    assert_eq!([server.command(&["GET", "a"]), server.command(&["EXISTS", "b"])], ["me", "0"]);
    server.command(&["SET", "redisson_lock_queue:{c}", "many"]);
    let error = client(&server.url(FAIR), TTL).await.mutex("c").try_lock().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ForeignKey, "{error}");
}

async fn they_are_named(ours: &cotter::Client) {
    for error in [
        ours.mutex("a").try_lock().await.unwrap_err(),
        ours.mutex("a").lock().await.unwrap_err(),
        ours.holder("a").await.unwrap_err(),
        ours.admin().evict_with("a", NOW).await.unwrap_err(),
        ours.mutex("b").try_lock().await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::ForeignKey, "{error}");
    }
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn what_redisson_has_not_is_refused() {
    let server = Redis::start();
    let ours = client(&server.url(MODE), TTL).await;
    let token = EvictOrder::new().only(1.into()).at_once();
    let refused = [
        ours.admin().list(Filter::prefix("")).next().await.map(drop),
        ours.note("a").await.map(drop),
        ours.admin().evict_with("a", token).await.map(drop),
        ours.rwlock("a").try_read().await.map(drop),
        ours.semaphore("a", 2).try_acquire().await.map(drop),
    ];
    for (i, answer) in refused.into_iter().enumerate() {
        let error = answer.unwrap_err();
        let says = error.kind() == ErrorKind::Unsupported && error.to_string().contains(MODE);
        assert!(says, "number {i}: {error}");
    }
}

/// Names are often made up for one use: their counters must not fill the server. One that Redisson has begun stays.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_counter_of_tokens_ends_unless_redisson_needs_it() {
    let server = Redis::start();
    let left = |name: &str| -> i64 {
        server.command(&["PTTL", &format!("redisson_lock_token:{{{name}}}")]).parse().unwrap()
    };
    server.command(&["SET", "redisson_lock_token:{theirs}", "41"]);
    for (recipe, name, stays) in [("lock", "a", false), ("lock", "theirs", true), ("fenced", "a", true)] {
        let url = server.url(&format!("mode=redisson&recipe={recipe}&retain=10s"));
        client(&url, TTL).await.mutex(name).lock().await.unwrap().finish().await.unwrap();
        let left = left(name);
        assert!(if stays { left == -1 } else { (1..=30_000).contains(&left) }, "{recipe} {name}: {left} ms");
    }
}
