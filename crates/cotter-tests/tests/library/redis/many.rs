//! Many names, many waiters, many who change their minds.

use super::setup::{USED, backend, claim, client, crowd, eventually, pass_through, queued, take};
use cotter::{Client, Filter, Lease};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::{Proxy, Redis};
use cotter_testkit::sized;
use cotter_testkit::timing::Stopwatch;
use std::collections::HashSet;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

const TTL: Duration = Duration::from_secs(30);

fn memory(server: &Redis) -> u64 {
    let info = server.command(&["INFO", "memory"]);
    let line = info.lines().find_map(|l| l.strip_prefix("used_memory:")).expect("it tells");
    line.trim().parse().unwrap()
}

/// A free name is forgotten after `retain`, by the server and by the client.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn names_that_are_used_once_do_not_pile_up() {
    let server = Redis::builder().with("hz", "100").start();
    let client =
        Client::builder().lease(Lease::renewed(TTL)).connect(server.url("retain=100ms")).await.unwrap();
    let count = sized(100_000, 1_000_000);
    let before = memory(&server);
    let mut tasks = JoinSet::new();
    for task in 0..64 {
        let client = client.clone();
        tasks.spawn(async move {
            for i in (task..count).step_by(64) {
                client.mutex(format!("once {i}")).lock().await.unwrap().finish().await.unwrap();
            }
        });
    }
    let mut most = 0;
    while let Some(done) = tokio::select! {
        done = tasks.join_next() => done.map(Some),
        () = tokio::time::sleep(Duration::from_millis(50)) => Some(None),
    } {
        done.transpose().unwrap();
        most = most.max(server.command(&["DBSIZE"]).parse::<usize>().unwrap());
    }
    assert!(most < count / 2, "{most} of {count} names stood in the server at once");
    eventually("all are forgotten", || server.command(&["DBSIZE"]) == "0").await;
    let grown = memory(&server).saturating_sub(before);
    assert!(grown < 10_000_000, "the server has grown by {grown} bytes");
}

/// Processes with some waiters each, in line as they came, whichever process they are of.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn waiters_of_many_processes_are_served_in_order() {
    let server = Redis::start();
    let (processes, each) = (sized(20, 50), sized(10, 20));
    let holder = backend(&server.url("")).await;
    let held = claim("a", TTL * 2);
    take(&holder, &held).await;
    let mut backends = Vec::new();
    for _ in 0..processes {
        backends.push(backend(&server.url("")).await);
    }
    let mut waiting = Vec::new();
    for i in 0..processes * each {
        waiting.push(pass_through(&backends[i % processes], "a", TTL * 2));
        eventually("it waits", || queued(&server, "a") == i + 1).await;
    }
    holder.release(&held, USED).await.unwrap();
    let mut last = 0;
    for task in waiting {
        let number = task.await.unwrap();
        assert!(number > last, "{number} came after {last}");
        last = number;
    }
}

/// Keeps a connection busy.
async fn use_for_ever(client: Client, name: String) {
    loop {
        client.mutex(&name).lock().await.unwrap().finish().await.unwrap();
    }
}

/// How long a name cannot be had.
async fn locked_for(client: &Client, name: &str) -> Duration {
    let start = Instant::now();
    client.mutex(name).lock().await.unwrap().finish().await.unwrap();
    start.elapsed()
}

/// Dropped at every point of their way, on a connection that 512 tasks keep busy.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn cancelled_acquires_leave_nothing() {
    let server = Redis::start();
    let (client, other) = (client(&server.url(""), TTL).await, client(&server.url(""), TTL).await);
    let mut busy = JoinSet::new();
    (0..512).for_each(|i| _ = busy.spawn(use_for_ever(client.clone(), format!("busy {i}"))));
    let (watch, mut tasks) = (Stopwatch::start(), JoinSet::new());
    let (workers, each) = (16, sized(2_000, 10_000) / 16);
    for worker in 0..workers {
        let (client, other) = (client.clone(), other.clone());
        tasks.spawn(async move {
            let mut worst = [Duration::ZERO; 2];
            for i in 0..each {
                let name = format!("dropped {worker} {i}");
                let patience = Duration::from_micros(((i * 37) % 4000) as u64 * 10);
                let lock = client.mutex(&name).lock();
                let _ = tokio::time::timeout(patience, lock).await.map(|g| g.map(drop));
                worst[0] = worst[0].max(locked_for(&other, &name).await);
                // What a name costs on this machine that nobody has touched.
                worst[1] = worst[1].max(locked_for(&other, &format!("fresh {worker} {i}")).await);
            }
            worst
        });
    }
    let worst =
        tasks.join_all().await.into_iter().fold([Duration::ZERO; 2], |a, b| [a[0].max(b[0]), a[1].max(b[1])]);
    busy.shutdown().await;
    let limit = Duration::from_secs(1).max(worst[1] * 3);
    watch.took_at_most(
        worst[0],
        limit,
        format!("a name that was left; a fresh one took up to {:?}", worst[1]),
    );
}

fn calls(server: &Redis, command: &str) -> u64 {
    let stats = server.command(&["INFO", "commandstats"]);
    let calls = stats.lines().find_map(|l| l.strip_prefix(&format!("cmdstat_{command}:calls=")));
    calls.and_then(|c| c.split(',').next()).map_or(0, |c| c.parse().unwrap())
}

/// However many pages it has: one walk through the keys.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_long_listing_walks_through_the_keys_once() {
    let server = Redis::start();
    let client = client(&server.url(""), TTL).await;
    let count = 3_500;
    let backend = backend(&server.url("")).await;
    for i in 0..count {
        take(&backend, &claim(&format!("name {i:05}"), TTL)).await;
    }
    server.command(&["CONFIG", "RESETSTAT"]);
    let mut records = client.admin().list(Filter::prefix("name "));
    let mut seen = HashSet::new();
    while let Some(record) = records.next().await.unwrap() {
        seen.insert(record.name.to_string());
    }
    assert_eq!(seen, (0..count).map(|i| format!("name {i:05}")).collect());
    let (scans, reads) = (calls(&server, "scan"), calls(&server, "mget"));
    assert!(scans <= 8 && reads <= 8, "{scans} SCAN, {reads} MGET");
}

/// Names that are waited for are counted side by side.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_listing_does_not_take_a_round_trip_for_each_queue() {
    let server = Redis::start();
    let proxy = Proxy::start(server.port());
    let client = client(&proxy.redis_url(""), TTL).await;
    let backend = backend(&server.url("")).await;
    for i in 0..40 {
        let name = format!("name {i}");
        take(&backend, &claim(&name, TTL)).await;
        crowd(&server, &name, 3, Duration::ZERO, TTL);
    }
    proxy.delay_replies(Duration::from_millis(100));
    let start = Stopwatch::start();
    let mut records = client.admin().list(Filter::held());
    let mut found = 0;
    while let Some(record) = records.next().await.unwrap() {
        assert_eq!(record.waiters, Some(3));
        found += 1;
    }
    assert_eq!(found, 40);
    start.at_most(Duration::from_secs(3), "a list asks for many at once");
}

/// They are asked for at the same time, and answer in any order.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn many_notes_are_in_the_order_in_which_they_were_asked_for() {
    let server = Redis::start();
    let client = Client::connect(server.url("")).await.unwrap();
    for number in [0, 7, 1500, 2999] {
        client.swap_note("a", number.to_string(), 0, format!("note {number}")).await.unwrap();
    }
    let asked = async |to: u32| {
        let notes = client.notes_at((0..to).map(|number| ("a", number.to_string()))).await.unwrap();
        let found = (0..to).zip(&notes).filter_map(|(number, note)| Some((number, note.as_ref()?)));
        let texts = found.map(|(number, note)| (number, String::from_utf8(note.bytes.clone()).unwrap()));
        (notes.len(), texts.collect::<Vec<_>>())
    };
    let expected = |to: u32| {
        let below = [0, 7, 1500, 2999].into_iter().filter(|number| *number < to);
        (to as usize, below.map(|number| (number, format!("note {number}"))).collect::<Vec<_>>())
    };
    for to in [0, 1, 3000] {
        let found = asked(to).await;
        demand(found == expected(to), Kind::Untrue, format!("{found:?}"));
    }
}
