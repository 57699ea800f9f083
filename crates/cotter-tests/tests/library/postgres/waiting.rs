//! Waiting: in order, woken at once, and not behind the dead.

use super::setup::{backend, claim, client, eventually, queued, take};
use crate::deserted::leaves_the_queue_after_the_outage;
use cotter::Mutex;
use cotter::backend::{Leave, Mode, Until};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::{Postgres, Proxy};
use cotter_testkit::timing::Stopwatch;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Barrier;

const TTL: Duration = Duration::from_secs(30);

/// A release and a waiter that joins at the same time miss each other in neither order: no hand-over waits for a poll.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn no_hand_over_waits_for_a_poll() {
    // Polls are much shorter before a connection is subscribed, which takes seconds where many servers start at once.
    const SUBSCRIBING: u32 = 5;
    const EACH: u32 = 150;
    let (server, subscribed) = (Postgres::migrated(), Arc::new(Barrier::new(4)));
    let (start, mut tasks) = (Stopwatch::start(), Vec::new());
    for _ in 0..4 {
        let mutex = client(&server.url(""), TTL).await.mutex("hand-over");
        let subscribed = subscribed.clone();
        tasks.push(tokio::spawn(async move {
            longest_wait(&mutex, SUBSCRIBING).await;
            subscribed.wait().await;
            longest_wait(&mutex, EACH).await
        }));
    }
    let mut worst = Duration::ZERO;
    for task in tasks {
        worst = worst.max(task.await.unwrap());
    }
    // The first waiters would ask again after 2 s, the others later.
    start.took_at_most(worst, Duration::from_millis(1500), "the longest wait");
}

async fn longest_wait(mutex: &Mutex, times: u32) -> Duration {
    let mut longest = Duration::ZERO;
    for _ in 0..times {
        let start = Instant::now();
        let guard = mutex.lock().await.unwrap();
        longest = longest.max(start.elapsed());
        guard.finish().await.unwrap();
    }
    longest
}

/// Whoever has to wait gets its place with the first request, and does not ask for it again: five transactions for two holds, one
/// of which was waited for.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn a_place_in_line_is_asked_for_once() {
    const TIMES: u64 = 10;
    let server = Postgres::migrated();
    let (one, other) = (client(&server.url(""), TTL).await, client(&server.url(""), TTL).await);
    let contend = async || {
        let (mutex, guard) = (other.mutex("line"), one.mutex("line").lock().await.unwrap());
        let waiting = tokio::spawn(async move { mutex.lock().await.unwrap().finish().await.unwrap() });
        eventually("it is in the queue", || queued(&server, "line") == 1).await;
        guard.finish().await.unwrap();
        waiting.await.unwrap();
    };
    // Before somebody listens, a waiter asks again and again.
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let before = transactions(&server);
        for _ in 0..TIMES {
            contend().await;
        }
        let each = (transactions(&server) - before) as f64 / TIMES as f64;
        if each < 5.7 {
            return;
        }
        assert!(Instant::now() < end, "{each} transactions");
    }
}

/// How many transactions have written something.
fn transactions(server: &Postgres) -> u64 {
    server.sql("select pg_snapshot_xmax(pg_current_snapshot())").trim().parse().unwrap()
}

/// Nobody listens for a waiter that was killed: those behind it wait two seconds for it, and not for its longest silence.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn dead_waiters_are_skipped() {
    let server = Postgres::migrated();
    let (one, other) = (backend(&server.url("")).await, backend(&server.url("")).await);
    let held = claim("dead", TTL);
    take(&one, &held).await;
    // As processes leave them that are killed.
    server.sql(
        "insert into cotter_claim (id, name, state, mode, take, ticket, ends, number, since, label, channel) \
         select gen_random_uuid(), 'dead', 'w', 'x', 0, i, clock_timestamp() + interval '15 s', 0, now(), 'dead', 'dead ' || i \
         from generate_series(1, 50) i; \
         update cotter_lock set crowd = true where name = 'dead'",
    );
    let living = claim("dead", TTL);
    let waiting = {
        let (other, living) = (other.clone(), living.clone());
        tokio::spawn(async move { other.acquire(&living, Until::Forever).await.unwrap().granted().unwrap() })
    };
    eventually("it waits", || queued(&server, "dead") == 51).await;
    let start = Stopwatch::start();
    one.release(&held, Leave::used(1)).await.unwrap();
    waiting.await.unwrap();
    start.at_least(Duration::from_millis(500), "those who may be alive are waited for");
    start.at_most(Duration::from_secs(4), "the dead hold nobody up");
    assert_eq!(queued(&server, "dead"), 0);
}

/// One that was killed before it listened is waited for just as long.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn who_died_before_it_listened_is_passed_over() {
    let server = Postgres::migrated();
    let (one, other) = (backend(&server.url("")).await, backend(&server.url("")).await);
    let held = claim("unheard", TTL);
    take(&one, &held).await;
    server.sql(
        "insert into cotter_claim (id, name, state, mode, take, ticket, ends, number, since, label, channel) \
         values (gen_random_uuid(), 'unheard', 'w', 'x', 0, 1, clock_timestamp() + interval '30 s', 0, now(), 'dead', ''); \
         update cotter_lock set crowd = true where name = 'unheard'",
    );
    let living = claim("unheard", TTL);
    let waiting =
        tokio::spawn(async move { other.acquire(&living, Until::Forever).await.unwrap().granted() });
    eventually("it waits", || queued(&server, "unheard") == 2).await;
    let start = Stopwatch::start();
    one.release(&held, Leave::used(1)).await.unwrap();
    assert!(waiting.await.unwrap().is_some());
    start.at_least(Duration::from_millis(500), "those who may be alive are waited for");
    start.at_most(Duration::from_secs(8), "the dead hold nobody up");
}

/// Whose connection ends while it waits has two seconds to come back, and its place all that time.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn a_waiter_that_comes_back_keeps_its_place() {
    let server = Postgres::migrated();
    let [holder, first, second] =
        [backend(&server.url("")).await, backend(&server.url("")).await, backend(&server.url("")).await];
    for _ in 0..10 {
        let held = claim("back", TTL);
        take(&holder, &held).await;
        let mut waiting = Vec::new();
        for (store, position) in [(&first, 1), (&second, 2)] {
            let (store, claim) = (store.clone(), claim("back", TTL));
            waiting.push(tokio::spawn(async move {
                let grant = store.acquire(&claim, Until::Forever).await.unwrap().granted().unwrap();
                store.release(&claim, Leave::used(1)).await.unwrap();
                grant.number
            }));
            eventually("it waits", || queued(&server, "back") == position).await;
        }
        server.sql(
            "select pg_terminate_backend(pid) from pg_stat_activity \
             where query like '%listen \"%' and pid <> pg_backend_pid()",
        );
        holder.release(&held, Leave::used(1)).await.unwrap();
        let (second, first) = (waiting.pop().unwrap().await.unwrap(), waiting.pop().unwrap().await.unwrap());
        demand(first < second, Kind::LostPlace, "a waiter whose connection had ended was passed over");
    }
}

/// Who does not listen yet is not taken for dead: of those that get permits together, it has the smaller token.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn who_does_not_listen_yet_has_the_token_of_its_place() {
    let server = Postgres::migrated();
    let proxy = Proxy::start(server.port());
    let (holder, second) = (backend(&server.url("")).await, backend(&server.url("")).await);
    let first = backend(&proxy.postgres_url("timeout=30s")).await;
    let permits = |take| {
        let mut claim = claim("early", TTL);
        claim.mode = Mode::Permits { take, of: 2 };
        claim
    };
    let held = permits(2);
    take(&holder, &held).await;
    let listens = proxy.keep_request(b"pg_advisory_lock_shared");
    let mut waiting = Vec::new();
    for (store, position) in [(&first, 1), (&second, 2)] {
        let (store, claim) = (store.clone(), permits(1));
        waiting.push(tokio::spawn(async move {
            let grant = store.acquire(&claim, Until::Forever).await.unwrap().granted().unwrap();
            store.release(&claim, Leave::used(1)).await.unwrap();
            grant.number
        }));
        eventually("it waits", || queued(&server, "early") == position).await;
    }
    eventually("the second one listens, the first one does not", || {
        let listening = "select count(*) from cotter_claim join pg_locks on locktype = 'advisory' and pg_locks.mode = 'ShareLock' \
             and objid::bigint = hashtext(channel)::bigint & 4294967295 where name = 'early'";
        server.sql(listening) == "1" && listens.is_caught()
    })
    .await;
    holder.release(&held, Leave::used(1)).await.unwrap();
    let (second, first) = (waiting.pop().unwrap().await.unwrap(), waiting.pop().unwrap().await.unwrap());
    demand(first < second, Kind::TokenOrder, format!("the first has {first}, the second {second}"));
}

/// A wait that is dropped leaves the queue at once.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn a_dropped_wait_leaves_the_queue() {
    let server = Postgres::migrated();
    let (one, other) = (client(&server.url(""), TTL).await, client(&server.url(""), TTL).await);
    let guard = one.mutex("dropped").lock().await.unwrap();
    for millis in [0, 1, 3, 10, 30, 100, 300] {
        let _ = tokio::time::timeout(Duration::from_millis(millis), other.mutex("dropped").lock()).await;
        eventually("nobody waits", || queued(&server, "dropped") == 0).await;
    }
    guard.finish().await.unwrap();
    other.mutex("dropped").try_lock().await.unwrap().expect("it is free").finish().await.unwrap();
}

/// Its release is repeated for longer than its lease, which its place outlasts.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn a_wait_dropped_in_an_outage_leaves_the_queue() {
    let server = Postgres::migrated();
    let proxy = Proxy::start(server.port());
    let url = proxy.postgres_url("");
    leaves_the_queue_after_the_outage(&server.url(""), (&proxy, &url), || queued(&server, "a")).await;
}
