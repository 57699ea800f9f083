//! What the server refuses, forgets and cannot.

use super::setup::{backend, claim, client, eventually, queued, show_doctor, take};
use cotter::backend::{Extension, Leave, Release, Until};
use cotter::{Client, ErrorKind, LatchEnd, Level, Severity};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::{Redis, acl_rule};
use cotter_testkit::timing::{FAR, Stopwatch};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

const TTL: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn scripts_that_are_forgotten_every_50_ms_are_no_trouble() {
    let server = Redis::start();
    let client = client(&server.url(""), TTL).await;
    let end = Instant::now() + Duration::from_secs(2);
    let forgetting = std::thread::spawn(move || {
        while Instant::now() < end {
            server.command(&["SCRIPT", "FLUSH"]);
            std::thread::sleep(Duration::from_millis(50));
        }
        server
    });
    while Instant::now() < end {
        let guard = client.mutex("a").lock().await.unwrap();
        guard.extend(TTL).await.unwrap();
        guard.finish().await.unwrap();
    }
    drop(forgetting.join().unwrap());
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn what_is_not_ours_is_a_foreign_key() {
    let server = Redis::start();
    server.command(&["RPUSH", "cotter:{list}", "x"]);
    server.command(&["SET", "cotter:{text}", "somebody's"]);
    let client = client(&server.url(""), TTL).await;
    for name in ["list", "text"] {
        let error = client.mutex(name).lock().await.unwrap_err();
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::ForeignKey, false), "{error}");
    }
    server.command(&["RPUSH", "plain", "x"]);
    let plain = self::client(&server.url("mode=plain"), TTL).await;
    assert_eq!(plain.mutex("plain").lock().await.unwrap_err().kind(), ErrorKind::ForeignKey);
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_wrong_password_is_denied_and_not_told() {
    let server = Redis::builder().with("requirepass", "secret").start();
    for credentials in ["", ":canary@", "nobody:canary@"] {
        let url = format!("redis://{credentials}127.0.0.1:{}", server.port());
        let error = Client::connect(&url).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
        assert!(!format!("{error} {error:?}").contains("canary"));
    }
    let client = Client::connect(format!("redis://:secret@127.0.0.1:{}", server.port())).await.unwrap();
    assert!(!format!("{:?} {client:?}", client.info()).contains("secret"));
    client.mutex("a").lock().await.unwrap().finish().await.unwrap();
}

#[tokio::test]
async fn no_server_is_told_at_once() {
    let start = Stopwatch::start();
    let error = Client::connect("redis://127.0.0.1:1").await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Unavailable, true), "{error}");
    start.at_most(Duration::from_secs(1), "a missing server is told");
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_socket_works() {
    let server = Redis::start();
    // Such a URL names no user.
    let client = Client::connect(format!("unix://{}?db=3", server.socket().display())).await.unwrap();
    let _guard = client.mutex("a").lock().await.unwrap();
    assert!(server.command(&["INFO", "keyspace"]).contains("db3:keys=1"));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_long_foreign_script_is_waited_for() {
    let server = Redis::builder().with("lua-time-limit", "20").start();
    let port = server.port().to_string();
    let client = client(&server.url("timeout=300ms"), TTL).await;
    let mut busy = std::process::Command::new("redis-cli")
        .args(["-p", &port, "EVAL", "while true do end", "0"])
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    let error = client.mutex("a").try_lock().await.unwrap_err();
    assert!(error.is_retryable(), "{error}");
    let waiting = tokio::spawn(async move { client.mutex("a").lock().await });
    tokio::time::sleep(Duration::from_millis(500)).await;
    server.command(&["SCRIPT", "KILL"]);
    drop(waiting.await.unwrap().unwrap());
    busy.wait().unwrap();
}

/// What is refused for now is waited for, and a release is repeated.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn without_enough_replicas_everybody_waits() {
    let server = Redis::start();
    let client = client(&server.url(""), TTL).await;
    let guard = client.mutex("a").lock().await.unwrap();
    server.command(&["CONFIG", "SET", "min-replicas-to-write", "1"]);
    let error = client.mutex("b").try_lock().await.unwrap_err();
    let known = !error.outcome_unknown() && error.is_retryable() && error.to_string().contains("NOREPLICAS");
    assert!(known, "{error}");
    let giving_back = tokio::spawn(guard.finish());
    let waiting = tokio::spawn(client.mutex("a").lock());
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!giving_back.is_finished() && !waiting.is_finished());
    server.command(&["CONFIG", "SET", "min-replicas-to-write", "0"]);
    giving_back.await.unwrap().unwrap();
    waiting.await.unwrap().unwrap().finish().await.unwrap();
}

/// The numbers of the connections that this server has, but for the one that asks.
fn connections(server: &Redis) -> BTreeSet<String> {
    let list = server.command(&["CLIENT", "LIST"]);
    let own = list.lines().filter(|line| line.contains("name=cotter"));
    own.filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

/// The address may lead to another server by now, which the connections that are there do not.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_server_that_carries_nothing_out_is_connected_to_anew() {
    let server = Redis::start();
    let client = client(&server.url(""), TTL).await;
    client.mutex("a").lock().await.unwrap().finish().await.unwrap();
    server.command(&["CONFIG", "SET", "min-replicas-to-write", "1"]);
    // The caller and the engine have one each, and only one of them is refused anything.
    let mut seen = BTreeSet::new();
    let left = async {
        while seen.is_subset(&connections(&server)) {
            seen.extend(connections(&server));
            client.mutex("a").try_lock().await.unwrap_err();
        }
    };
    let left = tokio::time::timeout(FAR, left).await.is_ok();
    demand(left, Kind::StuckWaiter, "the connections stay as they were");
    server.command(&["CONFIG", "SET", "min-replicas-to-write", "0"]);
    client.mutex("a").lock().await.unwrap().finish().await.unwrap();
}

/// Who only reads is never refused anything, and would read old notes for ever.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn who_only_reads_leaves_a_server_that_becomes_a_replica() {
    let server = Redis::start();
    let client = client(&server.url(""), TTL).await;
    let latch = client.latch("l");
    latch.create(1).await.unwrap();
    let waiting = tokio::spawn(async move { latch.wait().await });
    let asked = || {
        let stats = server.command(&["INFO", "commandstats"]);
        stats.lines().any(|line| line.starts_with("cmdstat_role:"))
    };
    eventually("it was asked what it is", asked).await;
    let before = connections(&server);
    server.command(&["REPLICAOF", "127.0.0.1", "1"]);
    let left = async {
        while before.is_subset(&connections(&server)) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let left = tokio::time::timeout(FAR, left).await.is_ok();
    demand(left, Kind::StuckWaiter, "a replica is read for ever");
    server.promote();
    client.latch("l").count_down("one").await.unwrap();
    assert_eq!(waiting.await.unwrap().unwrap(), LatchEnd::Open);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_server_that_loads_its_data_is_waited_for() {
    // Half a second for what is in the snapshot, and it answers meanwhile.
    let builder = Redis::builder()
        .with("rdbcompression", "no")
        .with("key-load-delay", "5000")
        .with("loading-process-events-interval-bytes", "1024");
    let mut server = builder.start();
    let client = client(&server.url("timeout=5s"), TTL).await;
    client.mutex("a").lock().await.unwrap().finish().await.unwrap();
    let words: Vec<String> = (0..100).map(|i| format!("key {i}")).collect();
    let value = "x".repeat(2048);
    words.iter().for_each(|key| _ = server.command(&["SET", key, &value]));
    server.command(&["SAVE"]);
    server.kill();
    server.restart();
    let mut refused = None;
    let guard = loop {
        match client.mutex("a").try_lock().await {
            Ok(guard) => break guard.expect("it was given back"),
            Err(e) => refused = Some(e).filter(|e| e.to_string().contains("LOADING")).or(refused),
        }
    };
    let refused = refused.expect("it was loading");
    assert!(refused.is_retryable() && !refused.outcome_unknown(), "{refused}");
    guard.finish().await.unwrap();
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_replica_is_refused_for_now() {
    let (master, replica) = (Redis::start(), Redis::start());
    replica.follow(&master);
    show_doctor(&replica);
    let client = client(&replica.url(""), TTL).await;
    let error = client.mutex("a").try_lock().await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Unavailable, true), "{error}");
    let findings = client.admin().diagnose().await.unwrap();
    assert!(findings.iter().any(|f| f.subject == "role" && f.severity == Severity::Problem), "{findings:?}");
    replica.promote();
    drop(client.mutex("a").lock().await.unwrap());
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn release_extend_and_hand_over_need_no_memory() {
    let server = Redis::start();
    let (one, other) = (backend(&server.url("")).await, backend(&server.url("")).await);
    let (held, kept) = (claim("a", TTL), claim("b", TTL));
    let (grant, second) = (take(&one, &held).await, take(&one, &kept).await);
    let wanted = claim("a", TTL);
    let (waiter, asked) = (other.clone(), wanted.clone());
    let waiting = tokio::spawn(async move { waiter.acquire(&asked, Until::Forever).await });
    eventually("it waits", || queued(&server, "a") == 1).await;
    server.command(&["CONFIG", "SET", "maxmemory", "1000"]);
    assert!(server.command(&["SET", "x", "y"]).contains("OOM"));
    let extended = one.extend(&[&grant, &second], TTL).await;
    assert!(extended.iter().all(|e| matches!(e, Ok(Extension::Extended { .. }))), "{extended:?}");
    let error = one.acquire(&claim("new", TTL), Until::Now).await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Unavailable, true), "{error}");
    let leave = Leave::used(1);
    assert_eq!(one.release(&held, leave).await.unwrap(), Release::Freed);
    waiting.await.unwrap().unwrap().granted().expect("handed over");
    assert_eq!(other.release(&wanted, leave).await.unwrap(), Release::Freed);
    assert_eq!(one.release(&kept, leave).await.unwrap(), Release::Freed);
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn the_doctor_sees_eviction() {
    let server = Redis::builder().with("maxmemory-policy", "allkeys-lru").start();
    show_doctor(&server);
    let client = client(&server.url(""), TTL).await;
    let findings = client.admin().diagnose().await.unwrap();
    let found = findings.iter().find(|f| f.subject == "maxmemory-policy").expect("it is looked at");
    let is_told = (found.severity, found.level) == (Severity::Problem, Some(Level::BestEffort));
    demand(is_told, Kind::Untrue, found.to_string());
}

/// Some proxies know neither EVALSHA nor SCRIPT nor SUBSCRIBE.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn evalsha_script_and_subscribe_are_not_needed() {
    let server = Redis::builder().without("EVALSHA").without("SCRIPT").without("SUBSCRIBE").start();
    assert!(server.command(&["EVALSHA", "x", "0"]).contains("unknown command"));
    for options in ["", "mode=plain", "mode=getset", "mode=redisson", "mode=redisson&recipe=fair"] {
        let (one, other) = (client(&server.url(options), TTL).await, client(&server.url(options), TTL).await);
        let guard = one.mutex("a").lock().await;
        let guard = guard.unwrap_or_else(|e| panic!("violation[refused]: {options} needs more: {e}"));
        assert!(other.mutex("a").try_lock().await.unwrap().is_none(), "{options}");
        let waiting = tokio::spawn(other.mutex("a").lock());
        guard.extend(TTL).await.unwrap();
        guard.finish().await.unwrap();
        waiting.await.unwrap().unwrap().finish().await.unwrap();
    }
}

/// docs/stores/redis.md says that EVAL alone is enough.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_user_who_may_not_run_scripts_by_hash_sends_them_in_full() {
    let server = Redis::start();
    for mode in ["native", "plain", "getset", "redisson"] {
        server.command(&["ACL", "SETUSER", acl_rule(mode)[2], "-evalsha", "-script|load"]);
        let client = client(&server.url(&format!("mode={mode}")), TTL).await;
        let guard = client.mutex("a").lock().await.unwrap();
        guard.extend(2 * TTL).await.unwrap();
        assert_eq!(guard.release().await.unwrap(), cotter::Released::Yes, "{mode}");
        server.command(&["DEL", "a"]);
    }
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_database_that_is_not_there_is_a_mistake_in_the_url() {
    let server = Redis::start();
    let error = Client::connect(format!("redis://127.0.0.1:{}/99", server.port())).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Config && error.to_string().contains("DB index"), "{error}");
}
