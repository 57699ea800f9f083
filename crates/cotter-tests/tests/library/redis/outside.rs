//! Looking and evicting in the two older protocols.

use super::setup::client;
use cotter::backend::EvictOrder;
use cotter::{Client, ErrorKind, Eviction, Filter, Holder, LossCause, Released};
use cotter_testkit::servers::Redis;
use std::time::{Duration, SystemTime};

const TTL: Duration = Duration::from_secs(20);
const NOW: EvictOrder = EvictOrder::new().at_once();

async fn holder(client: &Client, name: &str) -> Holder {
    client.holder(name).await.unwrap().expect("held").holders.remove(0)
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_lock_of_plain_is_shown_and_evicted() {
    let server = Redis::start();
    let (one, other) =
        (client(&server.url("mode=plain"), TTL).await, client(&server.url("mode=plain"), TTL).await);
    assert!(other.holder("a").await.unwrap().is_none());
    assert_eq!(other.admin().evict_with("a", NOW).await.unwrap(), Eviction::NotHeld);
    let guard = one.mutex("a").lock().await.unwrap();
    let seen = holder(&other, "a").await;
    assert!(
        seen.label.contains(&guard.id().to_string()) && seen.remaining.is_some_and(|left| left <= TTL),
        "{seen:?}"
    );
    assert_eq!(holder(&one, "a").await.token, guard.token(), "of its own it knows the token");
    drop(other.admin().evict_with("a", NOW).await.unwrap());
    let next = other.mutex("a").try_lock().await.unwrap().expect("at once");
    assert_eq!(guard.release().await.unwrap(), Released::AlreadyLost);
    // Marked: it runs out, and its holder is told.
    drop(one.admin().evict("a").await.unwrap());
    assert!(one.mutex("a").try_lock().await.unwrap().is_none());
    let error = next.extend(TTL).await.unwrap_err();
    assert_eq!(error.lost().unwrap().cause, LossCause::Evicted);
    // Somebody else's, of any bytes and without an end.
    let raw = "return redis.call('SET', KEYS[1], '\\255\\0 raw')";
    server.command(&["EVAL", raw, "1", "b"]);
    let seen = holder(&other, "b").await;
    assert!(seen.label.contains("\\xff\\x00 raw") && seen.remaining.is_none(), "{seen:?}");
    assert_eq!(
        other.admin().evict("b").await.unwrap_err().kind(),
        ErrorKind::Unsupported,
        "it would never pass on"
    );
    drop(other.admin().evict_with("b", NOW).await.unwrap());
    drop(other.mutex("b").try_lock().await.unwrap().expect("free"));
    server.command(&["RPUSH", "c", "x"]);
    assert_eq!(other.holder("c").await.unwrap_err().kind(), ErrorKind::ForeignKey);
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_lock_of_getset_is_shown_and_evicted() {
    let server = Redis::start();
    let (one, other) =
        (client(&server.url("mode=getset"), TTL).await, client(&server.url("mode=getset"), TTL).await);
    assert!(other.holder("a").await.unwrap().is_none());
    let guard = one.mutex("a").lock().await.unwrap();
    let seen = holder(&other, "a").await;
    assert!(seen.remaining.is_some_and(|left| left <= TTL + TTL / 10), "{seen:?}");
    assert_eq!(other.admin().evict("a").await.unwrap_err().kind(), ErrorKind::Unsupported);
    drop(other.admin().evict_with("a", NOW).await.unwrap());
    // In the same millisecond, the next holder would write the same value.
    tokio::time::sleep(Duration::from_millis(2)).await;
    let next = other.mutex("a").try_lock().await.unwrap().expect("at once");
    assert_eq!(guard.release().await.unwrap(), Released::AlreadyLost);
    assert!(next.is_valid());
    let past = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis() - 1000;
    server.command(&["SET", "b", &past.to_string()]);
    assert!(other.holder("b").await.unwrap().is_none(), "it is over");
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn what_an_older_mode_cannot_do_is_said_of_the_mode() {
    let server = Redis::start();
    for mode in ["mode=plain", "mode=getset"] {
        let client = client(&server.url(mode), TTL).await;
        let guard = client.mutex("a").lock().await.unwrap();
        let token = EvictOrder::new().only(1.into()).at_once();
        let refused = [
            client.admin().list(Filter::prefix("")).next().await.map(drop),
            client.note("a").await.map(drop),
            client.admin().evict_with("a", token).await.map(drop),
            client.rwlock("a").try_read().await.map(drop),
        ];
        for (i, answer) in refused.into_iter().enumerate() {
            let error = answer.unwrap_err();
            let says = error.kind() == ErrorKind::Unsupported && error.to_string().contains(mode);
            assert!(says, "{mode}, number {i}: {error}");
        }
        guard.finish().await.unwrap();
    }
}
