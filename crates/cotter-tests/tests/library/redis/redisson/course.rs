//! Beside a re-entrant lock that is written by hand: a hash of owner and count, with an expiry in seconds, in two scripts. Many courses
//! teach it, and it tells nobody when it releases.

use super::fields;
use crate::redis::setup::client;
use cotter::Released;
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::Redis;
use cotter_testkit::timing::{Stopwatch, happens};
use std::time::Duration;

const LOCK: &str = "
if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[1]) == 1 then
  redis.call('hincrby', KEYS[1], ARGV[1], 1)
  redis.call('expire', KEYS[1], ARGV[2])
  return 1
end
return 0";
const UNLOCK: &str = "
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return -1 end
if redis.call('hincrby', KEYS[1], ARGV[1], -1) == 0 then return redis.call('del', KEYS[1]) end
return 0";
const OWNER: &str = "8b6e2f0c:main";

fn lock(server: &Redis, seconds: &str) -> bool {
    server.command(&["EVAL", LOCK, "1", "lock:order", OWNER, seconds]) == "1"
}

fn unlock(server: &Redis) -> String {
    server.command(&["EVAL", UNLOCK, "1", "lock:order", OWNER])
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_reentrant_lock_in_lua_and_cotter_exclude_each_other() {
    let server = Redis::start();
    let ours = client(&server.url("mode=redisson"), Duration::from_secs(20)).await;
    let mutex = ours.mutex("lock:order");
    assert!(lock(&server, "30") && lock(&server, "30"), "it enters twice");
    for left in ["0", "1"] {
        demand(mutex.try_lock().await.unwrap().is_none(), Kind::Overlap, "it is held there");
        assert_eq!(unlock(&server), left);
    }
    let guard = mutex.lock().await.unwrap();
    demand(!lock(&server, "30"), Kind::Overlap, "it is held here");
    assert_eq!(unlock(&server), "-1", "it is not theirs");
    assert_eq!(fields(&server, "lock:order")[1], "1");
    assert_eq!(guard.release().await.unwrap(), Released::Yes);
    // Nobody publishes its end, and its expiry is known.
    assert!(lock(&server, "1"));
    let since = Stopwatch::of(Kind::IdleWaiter);
    happens("it expires", mutex.lock()).await.unwrap().finish().await.unwrap();
    since.at_most(Duration::from_secs(3), "a lease of a second ends");
}
