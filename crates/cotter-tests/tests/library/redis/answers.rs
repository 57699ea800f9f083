//! What releases, renewals and evictions are answered with when somebody else has been at the key.

use super::setup::{USED, backend, claim, client, eventually, take};
use cotter::backend::{EvictOrder, Extension, Release, Until};
use cotter::{Client, ErrorKind, Guard, Lease, LossCause, Released};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::{Loss, Proxy, Redis};
use cotter_testkit::timing::Stopwatch;
use std::time::{Duration, SystemTime};

const TTL: Duration = Duration::from_secs(20);
const MS: Duration = Duration::from_millis(1);
const NOW: EvictOrder = EvictOrder::new().at_once();

fn wall() -> u128 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis()
}

async fn fixed(url: &str, ttl: Duration) -> Client {
    Client::builder().lease(Lease::fixed(ttl)).local_turns(false).connect(url).await.unwrap()
}

/// All replicas of a service share the URL, and with it the value.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn who_gives_up_waiting_frees_nobody_with_the_same_request_id() {
    let server = Redis::start();
    let url = server.url("mode=plain&request_id=job42&retry=5ms");
    let (one, two) = (client(&url, TTL).await, client(&url, TTL).await);
    let third = client(&server.url("mode=plain"), TTL).await;
    let guard = one.mutex("a").lock().await.unwrap();
    let why = "whoever gave up waiting has freed the lock of another client";
    demand(two.mutex("a").try_lock().await.unwrap().is_none(), Kind::Overlap, why);
    demand(two.mutex("a").try_lock_for(50 * MS).await.unwrap().is_none(), Kind::Overlap, why);
    for after in [0, 1, 7, 12, 33] {
        let waiting = tokio::time::timeout(after * MS, two.mutex("a").lock());
        demand(waiting.await.is_err(), Kind::Overlap, why);
    }
    two.clone().close(TTL).await.unwrap();
    let is_held = server.command(&["GET", "a"]) == "job42";
    let second = third.mutex("a").try_lock().await.unwrap();
    demand(is_held && second.is_none(), Kind::Overlap, why);
    guard.extend(TTL).await.unwrap();
    assert_eq!(guard.release().await.unwrap(), Released::Yes);
    drop(third.mutex("a").try_lock().await.unwrap().expect("free"));
}

/// Its answer is waited for, so it is known that the lock has to be given back.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn an_acquisition_that_is_dropped_is_undone_whatever_the_value() {
    let server = Redis::start();
    for (options, keep) in [("mode=plain&request_id=job42", "SET"), ("mode=getset", "SETNX")] {
        let proxy = Proxy::start(server.port());
        let one = backend(&proxy.redis_url(options)).await;
        let wanted = claim("a", TTL);
        let kept = proxy.keep_request(keep.as_bytes());
        let asking = one.acquire(&wanted, Until::Now);
        assert!(tokio::time::timeout(100 * MS, asking).await.is_err(), "{options}");
        let releasing = one.release(&wanted, USED);
        let later = async {
            tokio::time::sleep(100 * MS).await;
            kept.let_go();
        };
        let (released, ()) = tokio::join!(releasing, later);
        assert_eq!(released.unwrap(), Release::Freed, "{options}");
        assert_eq!(server.command(&["EXISTS", "a"]), "0", "{options}");
    }
}

/// Whether the key is ours or that of another with the same value cannot be told: it has to run out.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn an_acquisition_whose_answer_is_lost_is_not_undone_by_a_value_that_others_share() {
    let server = Redis::start();
    for options in ["mode=plain&request_id=job42", "mode=getset"] {
        let proxy = Proxy::start(server.port());
        let shaky = fixed(&proxy.redis_url(&format!("timeout=300ms&{options}")), 4 * TTL / 40).await;
        shaky.mutex("warm").lock().await.unwrap().finish().await.unwrap();
        let (begin, error) = loop {
            proxy.lose_reply(if options == "mode=getset" { b":1" } else { b"+OK" }, Loss::Cut);
            let begin = Stopwatch::start();
            match shaky.mutex("a").try_lock().await {
                Err(error) => break (begin, error),
                // What was lost is the handshake of another connection of this client, which is still being made.
                Ok(got) => got.expect("it is free").finish().await.unwrap(),
            }
        };
        assert!(error.outcome_unknown() && proxy.has_lost(), "{options}: {error}");
        tokio::time::sleep(800 * MS).await;
        let stands = server.command(&["EXISTS", "a"]) == "1";
        if !stands {
            begin.at_least(Duration::from_secs(2), format!("{options}: it ends by itself"));
        }
        let other = fixed(&server.url(options), TTL).await;
        let guard = other.mutex("a").try_lock_for(TTL).await.unwrap().expect("it runs out");
        assert_eq!(guard.release().await.unwrap(), Released::Yes, "{options}");
    }
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_late_release_under_a_shared_request_id_frees_nobody() {
    let server = Redis::start();
    let url = server.url("mode=plain&request_id=job42");
    let (one, two) = (fixed(&url, 200 * MS).await, fixed(&url, TTL).await);
    let late = one.mutex("a").lock().await.unwrap();
    let next = two.mutex("a").lock().await.unwrap();
    assert_eq!(late.release().await.unwrap(), Released::AlreadyLost);
    one.close(TTL).await.unwrap();
    assert_eq!(server.command(&["GET", "a"]), "job42");
    assert!(next.is_valid());
}

/// Of whatever type and bytes: some libraries store 20 raw bytes.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn whatever_stands_at_the_key_is_not_ours() {
    let server = Redis::start();
    let thefts: [&[&str]; 5] = [
        &["DEL", "KEY"],
        &["SET", "KEY", "somebody else's"],
        &["EVAL", "return redis.call('SET', KEYS[1], '\\255\\254\\0\\200 raw', 'PX', 60000)", "1", "KEY"],
        &["EVAL", "redis.call('DEL', KEYS[1]) return redis.call('RPUSH', KEYS[1], 'x')", "1", "KEY"],
        &["FLUSHALL"],
    ];
    for (options, key) in
        [("", "cotter:{a}"), ("mode=plain", "a"), ("mode=getset", "a"), ("mode=redisson", "a")]
    {
        let client = client(&server.url(options), TTL).await;
        for theft in thefts {
            let theft: Vec<&str> =
                theft.iter().map(|word| if *word == "KEY" { key } else { *word }).collect();
            let steal = || server.command(&theft);
            server.command(&["FLUSHALL"]);
            let guard = client.mutex("a").lock().await.unwrap();
            let signal = guard.lost();
            steal();
            let stolen = server.command(&["DUMP", key]);
            assert_eq!(guard.release().await.unwrap(), Released::AlreadyLost, "{options} {theft:?}");
            assert_eq!(signal.await.cause, LossCause::Gone, "{options} {theft:?}");
            assert_eq!(server.command(&["DUMP", key]), stolen, "{options} {theft:?}: it was touched");
            server.command(&["FLUSHALL"]);
            let guard = client.mutex("a").lock().await.unwrap();
            steal();
            let error = guard.extend(TTL).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Lost, "{options} {theft:?}: {error}");
            server.command(&["FLUSHALL"]);
            let guard = client.mutex("a").lock().await.unwrap();
            steal();
            let left = guard.keep_for(TTL).await.unwrap();
            assert_eq!(left, Released::AlreadyLost, "{options} {theft:?}");
        }
    }
}

/// The first try may have freed it: nothing is left to find.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_release_whose_reply_is_lost_has_released() {
    let server = Redis::start();
    for options in ["", "mode=plain", "mode=getset", "mode=redisson", "mode=redisson&recipe=fair"] {
        let proxy = Proxy::start(server.port());
        let client = client(&proxy.redis_url(&format!("timeout=300ms&{options}")), TTL).await;
        let guard = client.mutex("a").lock().await.unwrap();
        proxy.lose_reply(b"$1\r\nf", Loss::Cut);
        assert_eq!(guard.release().await.unwrap(), Released::Yes, "{options}");
        assert!(proxy.has_lost(), "{options}");
    }
}

async fn evicted(guard: &Guard) {
    let error = guard.put_note("late").await.unwrap_err();
    assert_eq!((error.kind(), error.lost().map(|l| l.cause)), (ErrorKind::Lost, Some(LossCause::Evicted)));
    assert_eq!(guard.check().unwrap_err().cause, LossCause::Evicted);
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn an_evicted_holder_is_told_so_and_writes_no_notes() {
    let server = Redis::start();
    let (one, other) = (client(&server.url(""), TTL).await, client(&server.url(""), TTL).await);
    let guard = one.mutex("soft").lock().await.unwrap();
    guard.put_note("in time").await.unwrap();
    drop(other.admin().evict("soft").await.unwrap());
    evicted(&guard).await;
    assert_eq!(other.note("soft").await.unwrap().unwrap().bytes, b"in time");
    let renewed = client(&server.url(""), 600 * MS).await.mutex("renewed").lock().await.unwrap();
    drop(other.admin().evict("renewed").await.unwrap());
    assert_eq!(renewed.lost().await.cause, LossCause::Evicted);
    // At once, with the next one in its place.
    let guard = one.mutex("now").lock().await.unwrap();
    let (second, signal) = (one.mutex("again").lock().await.unwrap(), guard.lost());
    for name in ["now", "again"] {
        drop(other.admin().evict_with(name, NOW).await.unwrap());
    }
    let next = other.mutex("now").lock().await.unwrap();
    assert_eq!(guard.release().await.unwrap(), Released::AlreadyLost);
    assert_eq!(signal.await.cause, LossCause::Evicted);
    evicted(&second).await;
    assert_eq!(next.release().await.unwrap(), Released::Yes);
}

/// Whoever ends right after its release, as `cotter run` does, has freed the lock by then.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn an_evicted_holder_has_freed_the_lock_when_its_release_returns() {
    let server = Redis::start();
    let proxy = Proxy::start(server.port());
    let (one, other) = (client(&proxy.redis_url(""), TTL).await, client(&server.url(""), TTL).await);
    let guard = one.mutex("soft").lock().await.unwrap();
    drop(other.admin().evict("soft").await.unwrap());
    evicted(&guard).await;
    proxy.delay_requests(200 * MS);
    assert_eq!(guard.release().await.unwrap(), Released::AlreadyLost);
    assert!(other.mutex("soft").try_lock().await.unwrap().is_some(), "the release is still on its way");
}

/// A release that was sent in time and arrives when the next one holds; the same for a renewal.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn late_messages_of_getset_leave_the_next_holder_alone() {
    let server = Redis::start();
    for extend in [false, true] {
        server.command(&["DEL", "a"]);
        let proxy = Proxy::start(server.port());
        let client = fixed(&proxy.redis_url("mode=getset"), 500 * MS).await;
        let guard = client.mutex("a").lock().await.unwrap();
        let ours = server.command(&["GET", "a"]);
        let kept = proxy.keep_request(b"EVALSHA");
        let late = tokio::spawn(async move {
            match extend {
                true => drop(guard.extend(TTL).await),
                false => drop(guard.release().await),
            }
        });
        eventually("it is on its way", || kept.is_caught()).await;
        eventually("its time is over", || wall() > ours.parse().unwrap()).await;
        let theirs = (wall() + 60_000).to_string();
        assert_eq!(server.command(&["GETSET", "a", &theirs]), ours);
        kept.let_go();
        late.await.unwrap();
        assert_eq!(server.command(&["GET", "a"]), theirs, "extend: {extend}");
    }
}

/// Who has lost the race has overwritten the winner's expiry, and puts it back.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn two_that_race_for_an_expired_getset_lock_leave_the_expiry_of_the_winner() {
    let server = Redis::start();
    let (one, two) = (backend(&server.url("mode=getset")).await, backend(&server.url("mode=getset")).await);
    for round in 0..200 {
        server.command(&["SET", "a", &(wall() - 1000).to_string()]);
        let claims = [claim("a", TTL), claim("a", TTL - MS)];
        let (first, second) = (one.clone(), two.clone());
        let (a, b) = (claims[0].clone(), claims[1].clone());
        let a = tokio::spawn(async move { first.acquire(&a, Until::Now).await.unwrap().granted() });
        let b = tokio::spawn(async move { second.acquire(&b, Until::Now).await.unwrap().granted() });
        let (holder, grant) = match (a.await.unwrap(), b.await.unwrap()) {
            (Some(grant), None) => (&one, grant),
            (None, Some(grant)) => (&two, grant),
            other => panic!("round {round}: one of two gets it, not {other:?}"),
        };
        let told = holder.extend(&[&grant], TTL).await;
        assert!(matches!(told[..], [Ok(Extension::Extended { .. })]), "round {round}: {told:?}");
        assert_eq!(holder.release(&grant.claim, USED).await.unwrap(), Release::Freed, "round {round}");
    }
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_getset_release_frees_only_what_it_has_written() {
    let server: Redis = Redis::start();
    let one = backend(&server.url("mode=getset")).await;
    let held = claim("a", TTL);
    let grant = take(&one, &held).await;
    // Somebody lost a race and has overwritten it.
    let theirs = (wall() + 40_000).to_string();
    server.command(&["SET", "a", &theirs]);
    assert!(matches!(one.extend(&[&grant], TTL).await[..], [Ok(Extension::Lost(LossCause::Gone))]));
    assert_eq!(one.release(&held, USED).await.unwrap(), Release::NotHeld);
    assert_eq!(server.command(&["GET", "a"]), theirs);
}
