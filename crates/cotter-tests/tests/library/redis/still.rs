//! Processes that stand still, servers that stand still, and crowds of the dead.

use super::setup::{USED, backend, claim, client, crowd, eventually, pass_through, queued, take};
use cotter::backend::Until;
use cotter_testkit::servers::{Proxy, Redis};
use cotter_testkit::timing::Stopwatch;
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(60);

/// The server believes that a stopped process listens, so it is granted the lock, for a moment.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_waiter_that_stands_still_costs_seconds_and_not_its_ttl() {
    let server = Redis::start();
    let proxy = Proxy::start(server.port());
    let ttl = Duration::from_secs(30);
    let (first, third) = (client(&server.url(""), ttl).await, client(&server.url(""), ttl).await);
    let second = client(&proxy.redis_url(""), ttl).await;
    let guard = first.mutex("a").lock().await.unwrap();
    let stopped = tokio::spawn({
        let mutex = second.mutex("a");
        async move { mutex.lock().await }
    });
    eventually("the second one waits", || queued(&server, "a") == 1).await;
    let waiting = tokio::spawn({
        let mutex = third.mutex("a");
        async move { mutex.lock().await }
    });
    eventually("the third one waits", || queued(&server, "a") == 2).await;
    proxy.freeze(true);
    let start = Stopwatch::start();
    guard.finish().await.unwrap();
    let guard = waiting.await.unwrap().unwrap();
    start.at_least(Duration::from_millis(1500), "it is not granted before");
    start.at_most(Duration::from_secs(8), "it is passed over");
    // Back again, it hears of its grant: that is over.
    proxy.freeze(false);
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(guard.is_valid() && !stopped.is_finished());
    let token = guard.token();
    guard.finish().await.unwrap();
    let guard = stopped.await.unwrap().unwrap();
    assert!(guard.token() > token);
    guard.finish().await.unwrap();
}

/// The short lease of a grant by message is made whole by whoever comes for it.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_grant_that_came_by_message_lasts() {
    let server = Redis::start();
    let ttl = Duration::from_secs(30);
    let (first, second) = (client(&server.url(""), ttl).await, client(&server.url(""), ttl).await);
    let guard = first.mutex("a").lock().await.unwrap();
    let waiting = tokio::spawn({
        let mutex = second.mutex("a");
        async move { mutex.lock().await }
    });
    eventually("it waits", || queued(&server, "a") == 1).await;
    guard.finish().await.unwrap();
    let guard = waiting.await.unwrap().unwrap();
    let whole = || server.command(&["GET", "cotter:{a}"])[95..109] == *"00000030000000";
    eventually("it asks for the rest", whole).await;
    tokio::time::sleep(Duration::from_millis(2500)).await;
    assert!(guard.is_valid() && guard.remaining().unwrap() > Duration::from_secs(15));
    assert!(first.mutex("a").try_lock().await.unwrap().is_none());
    guard.finish().await.unwrap();
}

/// The step that finds everybody silent after it may be a release, too.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_release_right_after_a_standstill_ends_nobodys_place() {
    let server = Redis::start();
    let ttl = Duration::from_millis(900);
    let holder = backend(&server.url("timeout=1m")).await;
    let held = claim("a", LONG);
    take(&holder, &held).await;
    let proxy = Proxy::start(server.port());
    let waiter = backend(&proxy.redis_url("timeout=1m")).await;
    let waiting = pass_through(&waiter, "a", ttl);
    eventually("it waits", || queued(&server, "a") == 1).await;
    proxy.delay_requests(Duration::from_millis(700));
    server.stop();
    let released = tokio::spawn(async move { holder.release(&held, USED).await });
    tokio::time::sleep(Duration::from_secs(4)).await;
    server.go_on();
    released.await.unwrap().unwrap();
    let newcomer = backend(&server.url("")).await;
    let passed = newcomer.acquire(&claim("a", LONG), Until::Now).await.unwrap().granted();
    assert!(passed.is_none() || waiting.is_finished(), "a newcomer has passed one who listens");
    waiting.await.unwrap();
}

/// Microseconds that the server has spent on a command since the last reset.
fn spent(server: &Redis, command: &str) -> u64 {
    let stats = server.command(&["INFO", "commandstats"]);
    let line = stats.lines().find_map(|line| line.strip_prefix(&format!("cmdstat_{command}:")));
    let field = line.expect("it was used").split(',').find_map(|field| field.strip_prefix("usec="));
    field.unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn thousands_of_dead_in_line_block_nobody() {
    for many in [1_100, 5_000] {
        let server = Redis::start();
        let (holder, other) = (backend(&server.url("")).await, backend(&server.url("")).await);
        let held = claim("a", LONG);
        take(&holder, &held).await;
        crowd(&server, "a", many, Duration::ZERO, LONG);
        // The script that has put all of them there.
        let for_each_once = spent(&server, "eval");
        holder.release(&held, USED).await.unwrap();
        // A newcomer has it, and one who waits behind them as soon as it is free.
        let passed = claim("a", LONG);
        take(&other, &passed).await;
        let waiting = pass_through(&holder, "a", LONG);
        eventually("it waits", || queued(&server, "a") == many + 1).await;
        server.command(&["CONFIG", "RESETSTAT"]);
        let start = Stopwatch::start();
        other.release(&passed, USED).await.unwrap();
        waiting.await.unwrap();
        start.at_most(Duration::from_secs(2), format!("the {many} dead block nobody"));
        // They are looked at once, not at every step.
        let cost = spent(&server, "evalsha");
        assert!(cost < 2 * for_each_once, "{many}: {cost} us, and {for_each_once} us to put them there");
        assert_eq!(queued(&server, "a"), many, "they keep their places");
    }
}

/// However short their leases are, the message wakes them.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn waiters_with_short_leases_leave_the_server_alone() {
    let server = Redis::start();
    let (holder, waiter) = (backend(&server.url("")).await, backend(&server.url("")).await);
    take(&holder, &claim("a", LONG)).await;
    let waiting: Vec<_> = (0..50).map(|_| pass_through(&waiter, "a", Duration::from_millis(15))).collect();
    eventually("they wait", || queued(&server, "a") == 50).await;
    server.command(&["CONFIG", "RESETSTAT"]);
    let start = Instant::now();
    tokio::time::sleep(Duration::from_secs(3)).await;
    let rate = server.scripts() as f64 / start.elapsed().as_secs_f64();
    assert!(rate < 500.0, "{rate:.0} scripts a second");
    assert!(rate > 50.0, "{rate:.0} scripts a second: they have to ask now and then");
    waiting.iter().for_each(tokio::task::JoinHandle::abort);
}

/// A client that contends for the first time, as a command does that runs under a lock, asks, subscribes, and joins the queue.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_first_wait_takes_two_scripts() {
    const CLIENTS: usize = 12;
    let server = Redis::start();
    let guard = client(&server.url(""), Duration::from_secs(30)).await.mutex("a").lock().await.unwrap();
    let before = server.scripts();
    for waiting in 1..=CLIENTS {
        let mutex = client(&server.url(""), Duration::from_secs(30)).await.mutex("a");
        tokio::spawn(async move { mutex.lock().await.unwrap().finish().await.unwrap() });
        eventually("it is in line", || queued(&server, "a") == waiting).await;
    }
    // Some of them may ask once more in the time that this takes on a busy machine.
    let each = (server.scripts() - before) as f64 / CLIENTS as f64;
    assert!(each < 2.5, "{each} scripts");
    guard.finish().await.unwrap();
}

/// The first question of one who waits gets its place, and its release tells the next.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_contended_hold_takes_two_scripts() {
    let server = Redis::start();
    let client = client(&server.url(""), Duration::from_secs(30)).await;
    let holds = |times: usize| {
        let tasks = (0..8).map(|_| {
            let mutex = client.mutex("a");
            tokio::spawn(async move {
                for _ in 0..times {
                    mutex.lock().await.unwrap().finish().await.unwrap();
                }
            })
        });
        let tasks: Vec<_> = tasks.collect();
        async move {
            for task in tasks {
                task.await.unwrap();
            }
        }
    };
    // Somebody listens from then on.
    holds(10).await;
    let before = server.scripts();
    holds(100).await;
    let calls = server.scripts() - before;
    assert!(calls as f64 / 800.0 < 2.3, "{calls} scripts for 800 holds");
    eventually("nobody is left in line", || queued(&server, "a") == 0).await;
}
