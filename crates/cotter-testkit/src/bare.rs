//! A store without the engine, for tests that play both sides of the protocol; and a client that keeps nothing to itself.

use crate::servers::Redis;
use crate::shifted_clock::ShiftedClock;
use cotter::backend::{Backend, Claim, Connect, Grant, Host, Mode, Until};
use cotter::clock::Clock;
use cotter::{Client, Lease, Name};
use std::sync::Arc;
use std::time::Duration;

/// The clock of this process, whose sleeps belong to the runtime that polls them.
pub fn clock() -> Arc<dyn Clock> {
    Arc::new(ShiftedClock::new(0))
}

/// A connection without an engine, like a process of its own.
///
/// # Panics
/// When the server does not answer.
pub async fn backend(url: &str) -> Arc<dyn Backend> {
    let store = store(url);
    store.connect(&Host::without_engine(clock())).await.unwrap()
}

/// # Panics
/// When this kind of store is not compiled in.
fn store(url: &str) -> Box<dyn Connect> {
    match url.split([':', '+']).next() {
        #[cfg(feature = "etcd")]
        Some("etcd") => Box::new(cotter::etcd::Store::from_url(url).unwrap()),
        #[cfg(feature = "zookeeper")]
        Some("zookeeper") => Box::new(cotter::zookeeper::Store::from_url(url).unwrap()),
        #[cfg(feature = "redis")]
        Some("redis") => Box::new(cotter::redis::Store::from_url(url).unwrap()),
        scheme => panic!("no feature of the test kit for {scheme:?}"),
    }
}

/// A claim of its own on a name.
pub fn claim(name: &str, ttl: Duration) -> Claim {
    let name = Name::new(name).unwrap();
    let mut claim = Claim::new(name, Mode::Exclusive, ttl);
    claim.label = "host/1 (test)".into();
    claim
}

/// Takes a lock that is free.
///
/// # Panics
/// When it is not.
pub async fn take(backend: &Arc<dyn Backend>, claim: &Claim) -> Grant {
    backend.acquire(claim, Until::Now).await.unwrap().granted().expect("it is free")
}

/// A client whose acquisitions stand in the server's queue one by one.
///
/// # Panics
/// When the server does not answer.
pub async fn client(url: &str, ttl: Duration) -> Client {
    Client::builder().lease(Lease::renewed(ttl)).local_turns(false).connect(url).await.unwrap()
}

/// How many wait for a name in the server.
///
/// # Panics
/// When the server does not answer.
pub fn queued(server: &Redis, name: &str) -> usize {
    server.command(&["ZCARD", &format!("cotter:{{{name}}}:q")]).parse().unwrap()
}

/// Puts this many waiters into the queue of a held name, as a killed process leaves them: nobody listens for them.
/// `asked_ago`: how long ago they sent their last request; `silence`: for how long they may send none.
///
/// # Panics
/// When the server does not answer.
pub fn crowd(server: &Redis, name: &str, many: usize, asked_ago: Duration, silence: Duration) {
    const SCRIPT: &str = r"
local time = redis.call('TIME')
local seen = tonumber(time[1]) * 1000000 + tonumber(time[2]) - tonumber(ARGV[2])
for i = 1, tonumber(ARGV[1]) do
  local id, ticket = string.format('%032x', i), string.format('%016.0f', seen + i)
  redis.call('ZADD', KEYS[1], ticket, id)
  redis.call('HSET', KEYS[2], id, string.format('%016.0f', seen) .. ' ' .. ticket .. ' 00000030000000 00001 '
    .. string.format('%014.0f', ARGV[3]) .. ' cotter:wake:dead x host/1')
end";
    let key = format!("cotter:{{{name}}}");
    let (queue, waiters) = (format!("{key}:q"), format!("{key}:w"));
    let [many_, ago, silence] =
        [many as u128, asked_ago.as_micros(), silence.as_micros()].map(|n| n.to_string());
    server.command(&["EVAL", SCRIPT, "2", &queue, &waiters, &many_, &ago, &silence]);
    server.command(&["SETRANGE", &key, "1", "w"]);
    assert_eq!(queued(server, name), many);
}

/// Makes a server with keys of this prefix vote in a quorum at once, as `cotter doctor --init` does.
///
/// # Panics
/// When it does not answer.
pub fn enlist(server: &Redis, prefix: &str, longest_lease: u64) {
    let info = server.command(&["INFO", "server"]);
    let run = info.lines().find_map(|line| line.strip_prefix("run_id:")).expect("it has one").trim();
    let marker = format!("{run} {:014} {:016}", longest_lease * 1_000_000, 0);
    server.command(&["SET", &format!("{prefix}:member"), &marker]);
}
