//! `replicas=`: what too few replicas have acknowledged does not count.

use super::setup::{client, eventually};
use crate::steps::many_take_turns;
use cotter::{Client, ErrorKind, Filter, Guard, Lease, LossCause};
use cotter_testkit::history::Kind;
use cotter_testkit::servers::{Redis, acl_rule};
use cotter_testkit::timing::{Stopwatch, happens};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};

const MS: Duration = Duration::from_millis(1);
const TTL: Duration = Duration::from_secs(3);
/// A replica gets a quarter of this to acknowledge a write: two seconds, for a machine that is busy with other tests.
const PATIENT: &str = "timeout=8s";

/// What `replicas=` needs beside the rule of its mode.
fn allow_wait(server: &Redis) {
    for mode in ["native", "plain", "getset", "redisson"] {
        assert_eq!(server.command(&["ACL", "SETUSER", acl_rule(mode)[2], "+wait"]), "OK");
    }
}

/// A server and its replica.
fn pair() -> (Redis, Redis) {
    let master = Redis::builder().with("repl-diskless-sync-delay", "0").start();
    allow_wait(&master);
    let replica = Redis::start();
    replica.follow(&master);
    let online = || master.command(&["INFO", "replication"]).contains("state=online");
    let end = Instant::now() + Duration::from_secs(20);
    while !online() {
        assert!(Instant::now() < end, "the replica does not come online");
        std::thread::sleep(5 * MS);
    }
    (master, replica)
}

async fn connect(server: &Redis, options: &str) -> Client {
    let url = server.url(&format!("{options}&{PATIENT}"));
    Client::builder().lease(Lease::renewed(TTL)).give_up(Duration::from_secs(5)).connect(url).await.unwrap()
}

async fn try_for(client: &Client, wait: Duration) -> Option<Guard> {
    client.mutex("a").try_lock_for(wait).await.unwrap()
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_grant_that_no_replica_has_is_an_error_and_undone() {
    let server = Redis::start();
    allow_wait(&server);
    for mode in ["native", "plain", "getset", "redisson"] {
        let client = connect(&server, &format!("mode={mode}&replicas=1")).await;
        let error = client.mutex(mode).try_lock().await.expect_err("violation[unconfirmed]");
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(error.to_string().contains("0 of 1 replicas"), "{error}");
        let other = connect(&server, &format!("mode={mode}")).await;
        let free = other.mutex(mode).try_lock_for(10 * TTL).await.unwrap();
        assert!(free.is_some(), "violation[left-behind]: {mode}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn locks_are_handed_over_once_the_replica_has_them() {
    let (master, replica) = pair();
    let (one, other) = (connect(&master, "replicas=1").await, connect(&master, "replicas=1").await);
    let guard = one.mutex("a").lock().await.unwrap();
    guard.put_note("kept").await.unwrap();
    let waiting = tokio::spawn(async move { other.mutex("a").lock().await });
    tokio::time::sleep(200 * MS).await;
    guard.finish().await.unwrap();
    let next = waiting.await.unwrap().unwrap();
    let known = replica.command(&["GET", "cotter:{a}"]);
    assert!(known.contains(&next.id().to_string()), "violation[unconfirmed]: the replica has {known:?}");
    next.finish().await.unwrap();
    drop(master);
}

/// Its lease on the server goes on, but a new master would not know.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn a_renewal_that_no_replica_has_does_not_move_the_deadline() {
    let (master, replica) = pair();
    let client = connect(&master, "replicas=1").await;
    let guard = client.mutex("a").lock().await.unwrap();
    tokio::time::sleep(2 * TTL).await;
    guard.check().expect("violation[needless-loss]: it is renewed as long as the replica answers");
    replica.stop();
    let since = Stopwatch::of(Kind::LateLoss);
    let lost = happens("it is lost", guard.lost()).await;
    since.at_most(3 * TTL, "it is lost");
    assert_eq!(lost.cause, LossCause::Expired);
    replica.go_on();
    drop(client.mutex("a").try_lock_for(10 * TTL).await.unwrap().expect("free again"));
}

/// The server breaks off a WAIT when it becomes a replica itself: a fail-over, not an error of the protocol.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn a_master_that_is_demoted_while_it_waits_for_its_replicas_is_unavailable() {
    let (master, replica) = pair();
    for mode in ["native", "plain", "getset", "redisson"] {
        let client = connect(&master, &format!("mode={mode}&replicas=1")).await;
        replica.stop();
        let attempt = tokio::spawn(client.mutex(mode).try_lock());
        let blocked = || master.command(&["INFO", "clients"]).contains("blocked_clients:1");
        eventually("the server waits for its replica", blocked).await;
        master.command(&["REPLICAOF", "127.0.0.1", "1"]);
        let error = attempt.await.unwrap().expect_err("violation[unconfirmed]");
        assert!(error.kind() == ErrorKind::Unavailable && error.is_retryable(), "{mode}: {error}");
        master.promote();
        replica.go_on();
        replica.follow(&master);
    }
}

/// The old master goes on without its replica, which is promoted. Returns whether two clients believed to hold the lock.
async fn two_holders_after_a_fail_over(mode: &str, options: &str) -> bool {
    let (master, replica) = pair();
    let old = connect(&master, &format!("mode={mode}&{options}")).await;
    let new = connect(&replica, &format!("mode={mode}")).await;
    let held = try_for(&old, TTL).await.expect("free");
    tokio::time::sleep(100 * MS).await;
    replica.promote();
    let next = new.mutex("a").lock().await.unwrap();
    assert!(mode != "native" || next.token() > held.token(), "violation[token-order]");
    let both = held.is_valid() && next.is_valid();
    drop(held);
    // Nor does the old one give it to anybody else.
    let again = old.mutex("a").try_lock().await;
    both || (again.is_ok_and(|guard| guard.is_some()) && next.is_valid())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn a_promoted_replica_makes_no_second_holder() {
    for mode in ["native", "plain", "getset", "redisson"] {
        assert!(!two_holders_after_a_fail_over(mode, "replicas=1").await, "violation[overlap]: {mode}");
    }
}

/// What `docs/stores/redis.md` says of replication without that option.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn without_acknowledgement_a_fail_over_may_make_two_holders() {
    let is_two = two_holders_after_a_fail_over("native", "").await;
    assert!(is_two, "the documented weakness is gone: correct the documentation");
}

/// Otherwise each grant would block the connection for a round trip to the replica.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn grants_of_many_tasks_are_acknowledged_together() {
    let (master, _replica) = pair();
    let client = connect(&master, "replicas=1").await;
    many_take_turns(&client, 64).await;
    let stats = master.command(&["INFO", "commandstats"]);
    let waits = stats.split("cmdstat_wait:calls=").nth(1).and_then(|rest| rest.split(',').next()).unwrap();
    let waits: u32 = waits.parse().unwrap();
    assert!(waits < 64 * 20 / 2, "{waits} requests for {} grants", 64 * 20);
}

/// Connections through it lead to this port from now on. Those that exist stay where they are.
async fn virtual_address(target: Arc<AtomicU16>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let to = target.load(Ordering::SeqCst);
            tokio::spawn(async move {
                let mut server = TcpStream::connect(("127.0.0.1", to)).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
            });
        }
    });
    port
}

/// A virtual address or a proxy moves on to the new master and leaves connections to the old one open. A subscription there
/// makes its waiters deaf on the new one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn waiters_subscribe_on_the_new_master() {
    let (master, replica) = pair();
    let target = Arc::new(AtomicU16::new(master.port()));
    let port = virtual_address(target.clone()).await;
    let url = master.url("").replace(&format!(":{}?", master.port()), &format!(":{port}?"));
    let connect = async || client(&url, 10 * TTL).await;
    let (one, other) = (connect().await, connect().await);
    let guard = one.mutex("a").lock().await.unwrap();
    let waiting = tokio::spawn(other.mutex("a").lock());
    // By then, the replica has the holder's grant too.
    eventually("the replica has its place", || replica.command(&["ZCARD", "cotter:{a}:q"]) == "1").await;
    replica.promote();
    target.store(replica.port(), Ordering::SeqCst);
    master.follow(&replica);
    let channels = || replica.command(&["PUBSUB", "CHANNELS", "cotter:wake:*"]);
    eventually("the waiter is subscribed on the new master", || channels().contains("wake")).await;
    guard.finish().await.unwrap();
    let begun = Stopwatch::start();
    waiting.await.unwrap().unwrap().finish().await.unwrap();
    begun.at_most(TTL / 2, "it is told by a message");
}

/// Every case, on one pair of servers, each under a prefix of its own.
#[test]
#[ignore = "needs redis-server"]
fn the_contract_holds_with_replicas() {
    use cotter::conformance::{CASES, Fixture, run};
    let (master, _replica) = pair();
    let next = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(case) = CASES.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    let url = master.url(&format!("replicas=1&prefix=cotter:{case}&{PATIENT}"));
                    run(case, Fixture::sharing(cotter::redis::Store::from_url(url).unwrap()));
                }
            });
        }
    });
}

/// The number of holders that a server lists, and why they may be out of date.
async fn listed(client: &Client) -> (usize, Option<String>) {
    let (mut records, mut holders) = (client.admin().list(Filter::held()), 0);
    while let Some(record) = records.next().await.unwrap() {
        holders += record.holders.len();
    }
    (holders, records.caution().map(str::to_owned))
}

/// Shared locks are listed as well, which takes a script.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn a_replica_lists_locks_with_a_caution() {
    let (mut master, replica) = pair();
    let builder = Client::builder().lease(Lease::renewed(20 * TTL));
    let client = builder.connect(master.url(PATIENT)).await.unwrap();
    let _lock = client.mutex("a").lock().await.unwrap();
    let semaphore = client.semaphore("b", 3);
    let _permits = [semaphore.acquire().await.unwrap(), semaphore.acquire().await.unwrap()];
    assert_eq!(listed(&client).await, (3, None));
    let reader = connect(&replica, "").await;
    let says = async |wanted: &str| {
        let end = Instant::now() + Duration::from_secs(20);
        loop {
            let (holders, caution) = listed(&reader).await;
            let caution = caution.expect("it is a replica");
            if holders == 3 && caution.contains(wanted) {
                return;
            }
            assert!(Instant::now() < end, "{holders} holders, {caution}");
            tokio::time::sleep(20 * MS).await;
        }
    };
    says("may have changed since").await;
    master.kill();
    says("no connection to its master").await;
}
