//! A server that hangs, is gone, or has cut the connection: everybody is told in time, and told the truth.

use super::setup::{eventually, queued};
use crate::deserted;
use cotter::{Client, ErrorKind, Lease, Released};
use cotter_testkit::servers::{Proxy, Redis, acl_rule};
use cotter_testkit::timing::{FAR, Stopwatch, happens};
use std::fmt::{Debug, Write};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Mutex;
use std::task::Poll;
use std::time::Duration;
use tokio::runtime::Builder;
use tokio::time::sleep;
use tracing::span;

const TTL: Duration = Duration::from_secs(30);
/// What a caller is ready to wait, what its answer takes, and what it may take on a machine that is busy at that moment.
const WAIT: Duration = Duration::from_millis(200);
const USUAL: Duration = Duration::from_millis(250);
const SOON: Duration = Duration::from_millis(700);

async fn client(url: &str, give_up: Duration) -> Client {
    let builder = Client::builder().lease(Lease::renewed(TTL)).give_up(give_up);
    let client = builder.connect(url).await.unwrap();
    // The runtime has a connection of its own after this.
    for i in 0..5 {
        client.mutex(format!("warm {i}")).lock().await.unwrap().finish().await.unwrap();
    }
    sleep(Duration::from_millis(50)).await;
    client
}

/// It ends soon, and says that the store is not there. The time that it took.
async fn is_told_soon(mutex: cotter::Mutex) -> Duration {
    let start = Stopwatch::start();
    let answer = mutex.try_lock_for(WAIT).await;
    let took = start.elapsed();
    start.at_most(SOON, format!("it is told: {answer:?}"));
    let error = answer.expect_err("nobody can know whether it is busy");
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Unavailable, true), "{error}");
    assert!(error.to_string().contains("redis at 127.0.0.1:"), "which server? {error}");
    took
}

/// One after the other and many at once, on one name and on many.
async fn all_are_told_soon(client: &Client) {
    let (start, mut took) = (Stopwatch::start(), Vec::new());
    for i in 0..10 {
        took.push(is_told_soon(client.mutex(format!("one {i}"))).await);
        took.push(is_told_soon(client.mutex("same")).await);
    }
    took.sort_unstable();
    start.took_at_most(took[took.len() / 2], USUAL, format!("half of them are told: {took:?}"));
    let tasks: Vec<_> = (0..20)
        .map(|i| {
            tokio::spawn(is_told_soon(client.mutex(if i % 2 == 0 {
                "same".into()
            } else {
                format!("other {i}")
            })))
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_hung_server_costs_each_caller_its_own_time() {
    let server = Redis::start();
    let client = client(&server.url(""), TTL).await;
    server.stop();
    all_are_told_soon(&client).await;
    server.go_on();
    let guard = happens("it is there again", client.mutex("same").lock()).await;
    guard.unwrap().finish().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn so_does_one_that_takes_connections_and_hangs() {
    let server = Redis::start();
    let proxy = Proxy::start(server.port());
    let client = client(&proxy.redis_url(""), TTL).await;
    proxy.freeze(true);
    proxy.cut();
    all_are_told_soon(&client).await;
    proxy.freeze(false);
    let guard = happens("it is there again", client.mutex("same").lock()).await;
    guard.unwrap().finish().await.unwrap();
}

/// Those who do not wait have the time that any answer has, once: not one for the connection and one for the answer.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_single_try_has_the_time_of_one_answer() {
    let server = Redis::start();
    let proxy = Proxy::start(server.port());
    let client = client(&proxy.redis_url("timeout=300ms&connect_timeout=3s"), TTL).await;
    proxy.freeze(true);
    proxy.cut();
    let tries = (0..6).map(|i| {
        let mutex = client.mutex(format!("a {}", i / 2));
        tokio::spawn(async move {
            let start = Stopwatch::start();
            let error = mutex.try_lock().await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
            start.at_most(Duration::from_millis(1500), "the time of one answer");
        })
    });
    for task in tries.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    proxy.freeze(false);
}

/// Busy is busy as long as the store is there, whoever holds the lock.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn what_is_held_is_busy() {
    let server = Redis::start();
    let (one, other) = (client(&server.url(""), TTL).await, client(&server.url(""), TTL).await);
    let guard = other.mutex("a").lock().await.unwrap();
    for client in [&one, &other] {
        let tasks: Vec<_> = (0..10).map(|_| tokio::spawn(client.mutex("a").try_lock_for(WAIT))).collect();
        for task in tasks {
            assert!(task.await.unwrap().unwrap().is_none());
        }
        assert!(client.mutex("a").try_lock_for(Duration::ZERO).await.unwrap().is_none());
    }
    drop(guard);
}

/// Polls once, and no more. The server stands still meanwhile, or its answer could be there already.
async fn begin<F: Future>(server: &Redis, mut future: std::pin::Pin<&mut F>) {
    server.stop();
    let is_pending = poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx).is_pending())).await;
    server.go_on();
    assert!(is_pending, "it takes a round trip");
}

#[test]
#[ignore = "needs redis-server"]
fn a_future_that_is_not_polled_holds_up_no_other_name() {
    let server = Redis::start();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let client = Client::builder().lease(Lease::renewed(TTL)).connect(server.url("")).wait().unwrap();
    runtime.block_on(async {
        for round in 0..6 {
            let mut kept = pin!(client.mutex(format!("kept {round}")).lock());
            begin(&server, kept.as_mut()).await;
            for i in 0..5 {
                let mutex = client.mutex(format!("{round} {i}"));
                let guard = happens("it does not wait for the kept one", mutex.lock()).await;
                guard.unwrap().finish().await.unwrap();
            }
            assert!(client.mutex(format!("{round}")).try_lock_for(WAIT).await.unwrap().is_some());
            // The next ones find their connection gone.
            server.command(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
            sleep(Duration::from_millis(50)).await;
        }
    });
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn lock_gives_up_on_a_client_that_has_waited_before() {
    let server = Redis::start();
    let proxy = Proxy::start(server.port());
    let give_up = Duration::from_secs(1);
    let (client, other) =
        (client(&proxy.redis_url("timeout=500ms"), give_up).await, client(&server.url(""), TTL).await);
    let held = other.mutex("a").lock().await.unwrap();
    // It waits once, and gets what it waits for: the subscription is open.
    let waiting = tokio::spawn(client.mutex("a").lock());
    eventually("it waits", || queued(&server, "a") == 1).await;
    drop(held);
    drop(waiting.await.unwrap().unwrap());
    let held = other.mutex("b").lock().await.unwrap();
    let before = tokio::spawn(client.mutex("b").lock());
    eventually("it waits", || queued(&server, "b") == 1).await;
    proxy.refuse(true);
    proxy.cut();
    let start = Stopwatch::start();
    let within = tokio::spawn(client.mutex("c").lock());
    for waiting in [before, within] {
        let error = happens("it gives up", waiting).await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    }
    start.at_least(give_up, "it waits for so long");
    drop(held);
    proxy.refuse(false);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn who_cannot_subscribe_gets_the_lock_all_the_same() {
    let server = Redis::start();
    let rights = "on >pw ~cotter:* -@all +eval +evalsha +script|load +get +set +pexpire +time \
        +zadd +zrem +zrange +zrank +hget +hset +hdel +hincrby +publish +pubsub|numsub";
    let mut words = vec!["ACL", "SETUSER", "deaf"];
    words.extend(rights.split_whitespace());
    assert_eq!(server.command(&words), "OK");
    let url = format!("redis://deaf:pw@127.0.0.1:{}", server.port());
    let (deaf, other) = (client(&url, TTL).await, client(&server.url(""), TTL).await);
    let held = other.mutex("a").lock().await.unwrap();
    let waiting = tokio::spawn(deaf.mutex("a").lock());
    sleep(Duration::from_millis(500)).await;
    assert_eq!(queued(&server, "a"), 0, "a place that nobody listens for is passed over");
    let start = Stopwatch::start();
    held.finish().await.unwrap();
    waiting.await.unwrap().unwrap().finish().await.unwrap();
    start.at_most(Duration::from_secs(3), "it asks by itself");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn who_can_subscribe_later_joins_the_queue_then() {
    let server = Redis::start();
    let proxy = Proxy::start(server.port());
    let (slow, other) = (client(&proxy.redis_url(""), TTL).await, client(&server.url(""), TTL).await);
    let held = other.mutex("a").lock().await.unwrap();
    let subscribing = proxy.keep_request(b"SUBSCRIBE");
    let waiting = tokio::spawn(slow.mutex("a").lock());
    eventually("it subscribes", || subscribing.is_caught()).await;
    sleep(Duration::from_millis(300)).await;
    assert_eq!(queued(&server, "a"), 0);
    subscribing.let_go();
    eventually("it has a place", || queued(&server, "a") == 1).await;
    held.finish().await.unwrap();
    waiting.await.unwrap().unwrap().finish().await.unwrap();
}

/// As a server does with `timeout`, and a load balancer with what is idle.
fn cut(server: &Redis) {
    server.command(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn an_idle_connection_that_was_cut_fails_no_call() {
    let server = Redis::start();
    for mode in ["", "mode=plain", "mode=getset", "mode=redisson", "mode=redisson&recipe=fair"] {
        let client = client(&server.url(mode), TTL).await;
        for round in 0..5 {
            let idle = async || {
                cut(&server);
                sleep(Duration::from_millis(50)).await;
            };
            idle().await;
            let guard =
                client.mutex(format!("a {mode} {round}")).try_lock().await.unwrap().expect("it is free");
            idle().await;
            guard.extend(TTL).await.unwrap();
            if mode.is_empty() {
                idle().await;
                guard.put_note("x").await.unwrap();
                idle().await;
                assert!(client.holder(format!("a {mode} {round}")).await.unwrap().is_some());
            }
            idle().await;
            assert_eq!(guard.release().await.unwrap(), Released::Yes);
        }
    }
}

/// Nobody drives the connection of such a runtime between two calls of `block_on`, and nobody sees its end.
#[test]
#[ignore = "needs redis-server"]
fn nor_does_one_that_was_cut_while_its_runtime_stood_still() {
    let server = Redis::start();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let client = runtime.block_on(client(&server.url(""), TTL));
    for round in 0..10 {
        cut(&server);
        std::thread::sleep(Duration::from_millis(30));
        let guard =
            runtime.block_on(client.mutex(format!("a {round}")).try_lock()).unwrap().expect("it is free");
        cut(&server);
        std::thread::sleep(Duration::from_millis(30));
        assert_eq!(runtime.block_on(guard.release()).unwrap(), Released::Yes);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn connecting_takes_three_round_trips_at_most() {
    let server = Redis::start();
    assert_eq!(server.command(&["ACL", "SETUSER", acl_rule("native")[2], "+select"]), "OK");
    let proxy = Proxy::start(server.port());
    let slow = Duration::from_millis(150);
    proxy.delay_requests(slow);
    proxy.delay_replies(slow);
    let url = proxy.redis_url("").replace('?', "/2?");
    let client = Client::connect(url).await.expect("in time, over a long way");
    // The first of three is that of TCP.
    assert!(proxy.round_trips() <= 2, "{}", proxy.round_trips());
    client.mutex("a").lock().await.unwrap().finish().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn closing_ends_those_who_stand_in_line_for_themselves() {
    let server = Redis::start();
    for local_turns in [true, false] {
        let builder = Client::builder().lease(Lease::renewed(TTL)).local_turns(local_turns);
        let (one, other) =
            (builder.connect(server.url("")).await.unwrap(), client(&server.url(""), TTL).await);
        let held = other.mutex("a").lock().await.unwrap();
        let waiting = [tokio::spawn(one.mutex("a").lock()), tokio::spawn(one.mutex("a").lock())];
        let places = if local_turns { 1 } else { 2 };
        eventually("they wait", || queued(&server, "a") == places).await;
        let start = Stopwatch::start();
        one.close(Duration::from_millis(300)).await.expect("nothing is held");
        for waiting in waiting {
            assert_eq!(waiting.await.unwrap().unwrap_err().kind(), ErrorKind::Misuse);
        }
        start.at_most(Duration::from_secs(2), "closing ends the waits");
        assert_eq!(queued(&server, "a"), 0);
        drop(held);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn closing_after_an_outage_undoes_at_once_what_is_to_be_undone() {
    let server = Redis::start();
    let client = client(&server.url("timeout=300ms"), TTL).await;
    server.stop();
    for i in 0..10 {
        client.mutex(format!("a {i}")).try_lock_for(WAIT).await.unwrap_err();
    }
    // The undoing has failed so often that its next try is far away.
    sleep(Duration::from_secs(3)).await;
    server.go_on();
    sleep(Duration::from_millis(100)).await;
    client.close(FAR).await.expect("the store is there");
    let other = Client::connect(server.url("")).await.unwrap();
    for i in 0..10 {
        assert!(other.mutex(format!("a {i}")).try_lock().await.unwrap().is_some(), "a {i} is still held");
    }
}

/// What was told at level `WARN` and above, each with all its fields.
static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Listener;

impl tracing::Subscriber for Listener {
    fn enabled(&self, about: &tracing::Metadata<'_>) -> bool {
        *about.level() <= tracing::Level::WARN && about.target().starts_with("cotter")
    }
    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        let mut line = String::new();
        event.record(&mut |field: &tracing::field::Field, value: &dyn Debug| {
            write!(line, "{field}={value:?} ").unwrap();
        });
        TOLD.lock().unwrap().push(line);
    }
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn an_outage_is_told_at_its_start_and_at_its_end() {
    tracing::subscriber::set_global_default(Listener).expect("the only one in this binary");
    let server = Redis::start();
    let proxy = Proxy::start(server.port());
    let lease = Lease::renewed(Duration::from_secs(6));
    let client = Client::builder().lease(lease).connect(proxy.redis_url("timeout=500ms")).await.unwrap();
    let mut held = Vec::new();
    for i in 0..100 {
        held.push(client.mutex(format!("a {i}")).lock().await.unwrap());
    }
    let told = || {
        let port = proxy.port().to_string();
        TOLD.lock().unwrap().iter().filter(|line| line.contains(&port)).cloned().collect::<Vec<_>>()
    };
    proxy.refuse(true);
    proxy.cut();
    eventually("it is told", || !told().is_empty()).await;
    sleep(Duration::from_millis(3000)).await;
    assert_eq!(told().len(), 1, "{:#?}", told());
    assert!(told()[0].contains("the store failed while renewing"), "{:#?}", told());
    proxy.refuse(false);
    eventually("it is over", || told().len() > 1).await;
    sleep(Duration::from_millis(2500)).await;
    assert_eq!(told().len(), 2, "{:#?}", told());
    assert!(
        told()[1].contains("the store answers again") && told()[1].contains("failures="),
        "{:#?}",
        told()
    );
    assert!(held.iter().all(cotter::Guard::is_valid));
}

/// Whoever prints an error and what caused it reads nothing twice.
#[tokio::test]
async fn an_error_says_everything_once() {
    let error = Client::connect("redis://:secret@127.0.0.1:1").await.unwrap_err();
    let (mut all, mut next) = (error.to_string(), std::error::Error::source(&error));
    while let Some(source) = next {
        all += &format!(": {source}");
        next = source.source();
    }
    assert_eq!(all.matches("refused").count(), 1, "{all}");
    assert!(all.contains("redis at 127.0.0.1:1: ") && !all.contains("secret"), "{all}");
}

/// Its release is repeated for as long as the store may keep the lock, not for as long as its holder may rely on it.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn what_was_extended_unheard_is_given_back() {
    let server = Redis::start();
    let proxy = Proxy::start(server.port());
    let url = proxy.redis_url("");
    deserted::what_was_extended_unheard_is_given_back(&server.url(""), (&proxy, &url), b"$14\r\n").await;
}
