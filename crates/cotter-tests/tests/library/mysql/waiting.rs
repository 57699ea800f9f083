//! Waiting: in order, woken at once, and not behind the dead.

use super::setup::{backend, claim, client, eventually, queued, server, take};
use crate::deserted::leaves_the_queue_after_the_outage;
use cotter::backend::{Leave, Until};
use cotter_testkit::history::Kind;
use cotter_testkit::servers::{Mariadb, Proxy};
use cotter_testkit::timing::{Stopwatch, happens};
use std::time::{Duration, Instant};

const TTL: Duration = Duration::from_secs(30);

/// How many sessions stand in a queue of the server.
fn standing(server: &Mariadb) -> usize {
    let count =
        "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'app' AND state = 'User lock'";
    server.sql(count).parse().unwrap()
}

/// Those who take turns wake each other: hand-overs do not wait for a poll. On a busy machine, one in a hundred may.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn hand_overs_do_not_wait_for_a_poll() {
    let server = Mariadb::migrated();
    let watch = Stopwatch::of(Kind::SlowHandOver);
    let waits = take_turns(&server).await;
    watch.took_at_most(waits[waits.len() / 2], Duration::from_millis(200), "half of the waits");
    watch.took_at_most(waits[waits.len() * 99 / 100], Duration::from_millis(650), "99 of 100 waits");
}

/// Four clients with 150 turns each: all waits, the shortest first.
async fn take_turns(server: &Mariadb) -> Vec<Duration> {
    let mut tasks = Vec::new();
    for _ in 0..4 {
        let mutex = client(&server.url(""), TTL).await.mutex("hand-over");
        tasks.push(tokio::spawn(async move {
            let mut waits = Vec::new();
            for _ in 0..150 {
                let start = Instant::now();
                let guard = mutex.lock().await.unwrap();
                waits.push(start.elapsed());
                guard.finish().await.unwrap();
            }
            waits
        }));
    }
    let mut waits = Vec::new();
    for task in tasks {
        waits.extend(task.await.unwrap());
    }
    waits.sort();
    waits
}

/// Whether somebody has the bell of a name in this server.
fn rings(server: &Mariadb, name: &str) -> bool {
    let bell = format!("CONCAT('cotter:', SHA1(CONCAT(DATABASE(), '/cotter/', '{name}')))");
    server.sql(&format!("SELECT IS_USED_LOCK({bell}) IS NOT NULL")) == "1"
}

/// A bell is heard by those who ask the same server.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn a_bell_follows_the_requests_to_another_server() {
    let (old, new) = (server(), server());
    for server in [&old, &new] {
        take(&backend(&server.url("")).await, &claim("a", TTL)).await;
    }
    let hosts = format!("127.0.0.1:{},127.0.0.1:{}", old.port(), new.port());
    let mutex = client(&format!("mysql://app:secret@{hosts}/cotter"), TTL).await.mutex("a");
    let waiting = tokio::spawn(async move { mutex.lock().await });
    eventually("it has the bell", || queued(&old, "a") == 1 && rings(&old, "a")).await;
    old.sql("SET GLOBAL read_only = 1");
    eventually("it waits in the other server", || queued(&new, "a") == 1).await;
    eventually("its bell is there", || !rings(&old, "a") && rings(&new, "a")).await;
    waiting.abort();
}

/// Whoever holds after a wait wakes the next with the release.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn a_release_wakes_the_next() {
    let server = Mariadb::migrated();
    let [one, other] = [client(&server.url(""), TTL).await, client(&server.url(""), TTL).await];
    let mut guard = one.mutex("wake").lock().await.unwrap();
    for round in 0..6 {
        let mutex = [&other, &one][round % 2].mutex("wake");
        let waiting = tokio::spawn(async move { mutex.lock().await.unwrap() });
        eventually("it waits", || queued(&server, "wake") == 1).await;
        // It stands in the server's queue behind the holder, and would ask by itself only later.
        tokio::time::sleep(Duration::from_millis(60)).await;
        let start = Stopwatch::of(Kind::SlowHandOver);
        guard.finish().await.unwrap();
        guard = waiting.await.unwrap();
        start.at_most(Duration::from_millis(300), format!("the release of round {round} wakes the next"));
    }
    guard.finish().await.unwrap();
}

/// A wait that is dropped leaves the queue at once, in the row and in the server.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn a_dropped_wait_leaves_the_queue() {
    let server = server();
    let [one, other, third] = [
        client(&server.url(""), TTL).await,
        client(&server.url(""), TTL).await,
        client(&server.url(""), TTL).await,
    ];
    let guard = one.mutex("a").lock().await.unwrap();
    for millis in [0, 1, 3, 10, 30, 100, 300] {
        // The first one has the bell, the second one waits for it.
        let both = [&other, &third].map(|client| {
            let mutex = client.mutex("a");
            tokio::spawn(async move {
                tokio::time::timeout(Duration::from_millis(millis), mutex.lock()).await.is_err()
            })
        });
        for waiting in both {
            assert!(waiting.await.unwrap(), "it was held");
        }
        let start = Stopwatch::start();
        eventually("nobody waits", || queued(&server, "a") == 0 && standing(&server) == 0).await;
        // A session whose statement is not ended would be given up after a second.
        start.at_most(Duration::from_millis(900), "its statement is ended");
    }
    guard.finish().await.unwrap();
    other.mutex("a").try_lock().await.unwrap().expect("it is free").finish().await.unwrap();
}

/// A waiter that was killed keeps its place until it has been silent for too long, and then nobody waits for it.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn dead_waiters_are_skipped() {
    let server = Mariadb::migrated();
    let proxy = Proxy::start(server.port());
    let (one, dead) = (backend(&server.url("")).await, backend(&proxy.mysql_url("")).await);
    let held = claim("dead", TTL);
    take(&one, &held).await;
    let waiting = tokio::spawn(async move { dead.acquire(&claim("dead", TTL), Until::Forever).await });
    eventually("it waits", || queued(&server, "dead") == 1).await;
    // Its process is cut off, together with its bell.
    proxy.freeze(true);
    let other = client(&server.url(""), TTL).await;
    let living =
        tokio::spawn(async move { other.mutex("dead").lock().await.unwrap().finish().await.unwrap() });
    eventually("it waits behind the dead", || queued(&server, "dead") == 2).await;
    let start = Stopwatch::start();
    one.release(&held, Leave::used(1)).await.unwrap();
    happens("the dead hold nobody up", living).await.unwrap();
    start.at_least(Duration::from_millis(500), "those who may be alive are waited for");
    waiting.abort();
    proxy.freeze(false);
}

/// A client has sessions for some of its waiters. The others ask now and then, and no refusal of a session wakes them.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn waiters_that_have_no_session_do_not_flood_the_server() {
    let server = server();
    let (holder, other) = (client(&server.url(""), TTL).await, client(&server.url(""), TTL).await);
    let names: Vec<_> = (0..40).map(|n| format!("busy {n}")).collect();
    let mut held = Vec::new();
    for name in &names {
        held.push(holder.mutex(name).lock().await.unwrap());
    }
    let waiting: Vec<_> = names.iter().map(|name| tokio::spawn(other.mutex(name).lock())).collect();
    eventually("all wait", || names.iter().all(|name| queued(&server, name) == 1)).await;
    let asked = || {
        let status = server.sql("SHOW GLOBAL STATUS LIKE 'Com_select'");
        status.split_whitespace().last().and_then(|count| count.parse::<u64>().ok()).expect("a number")
    };
    let before = asked();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let many = asked() - before;
    // 24 of them ask 20 times a second, and the rest hardly ever.
    assert!(many < 2000, "{many} questions in a second");
    drop(held);
    for next in waiting {
        drop(next.await.unwrap().unwrap());
    }
}

/// Its release is repeated for longer than its lease, which its place outlasts.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn a_wait_dropped_in_an_outage_leaves_the_queue() {
    let server = server();
    let proxy = Proxy::start(server.port());
    let url = proxy.mysql_url("");
    leaves_the_queue_after_the_outage(&server.url(""), (&proxy, &url), || queued(&server, "a")).await;
}
