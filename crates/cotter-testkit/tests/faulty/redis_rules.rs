//! The rules of the Redis store that a run may break unnoticed, each provoked on a real server.

use cotter::backend::{Acquired, Backend, Connect, Extension, Grant, Host, Leave, NoteAt, Release, Until};
use cotter::redis::Store;
use cotter_testkit::bare::{backend, claim, client, clock, crowd, queued, take};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::{Proxy, Redis};
use cotter_testkit::timing::{FAR, eventually};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

const TTL: Duration = Duration::from_secs(30);
const USED: Leave = Leave::used(1);

/// Waits for the lock in a task.
fn wait(backend: &Arc<dyn Backend>, name: &str, ttl: Duration) -> JoinHandle<cotter::Result<Option<Grant>>> {
    let (backend, claim) = (backend.clone(), claim(name, ttl));
    tokio::spawn(async move { backend.acquire(&claim, Until::Forever).await.map(Acquired::granted) })
}

/// When the only waiter of a name asked last, by the server's clock.
fn last_asked(server: &Redis, name: &str) -> String {
    server.command(&["HVALS", &format!("cotter:{{{name}}}:w")]).chars().take(16).collect()
}

fn last_token(server: &Redis, name: &str) -> u64 {
    server.command(&["GET", &format!("cotter:{{{name}}}")])[38..54].parse().unwrap()
}

/// How often a lock was taken or freed.
fn times_written(server: &Redis) -> u64 {
    let statistics = server.command(&["INFO", "commandstats"]);
    let calls = statistics.lines().find_map(|line| line.strip_prefix("cmdstat_set:calls="));
    calls.and_then(|calls| calls.split(',').next()?.parse().ok()).expect("a lock was taken")
}

/// A message that speaks of an earlier stay in the queue makes nobody a holder.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_message_of_an_earlier_stay_in_the_queue_is_not_believed() {
    let (server, ttl) = (Redis::start(), Duration::from_millis(600));
    let proxy = Proxy::start(server.port());
    let (first, third) = (backend(&server.url("")).await, backend(&server.url("")).await);
    let held = claim("a", TTL);
    take(&first, &held).await;
    let second = backend(&proxy.redis_url("timeout=20s")).await;
    let waiting = wait(&second, "a", ttl);
    eventually("the second one waits", || queued(&server, "a") == 1).await;
    // Its grant does not reach it, and its next question not the server, until its lease has run out.
    let message = proxy.keep_reply(b"granted");
    let question = proxy.keep_request(b"cotter:{a}");
    eventually("it asks", || question.is_caught()).await;
    first.release(&held, USED).await.unwrap();
    eventually("its grant is on its way", || message.is_caught()).await;
    third.acquire(&claim("a", TTL), Until::Forever).await.unwrap().granted().unwrap();
    question.let_go();
    eventually("it waits again", || queued(&server, "a") == 1).await;
    message.let_go();
    let seen = last_asked(&server, "a");
    eventually("it goes on asking", || waiting.is_finished() || last_asked(&server, "a") != seen).await;
    let text = "a message with an old ticket made it a holder beside the third one";
    demand(!waiting.is_finished(), Kind::Overlap, text);
    waiting.abort();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn the_deadline_of_a_grant_by_message_counts_from_a_question() {
    let (server, clock) = (Redis::start(), clock());
    let proxy = Proxy::start(server.port());
    let store = |url: String| Store::from_url(url).unwrap();
    let first = store(server.url("")).connect(&Host::without_engine(clock.clone())).await.unwrap();
    let second = store(proxy.redis_url("")).connect(&Host::without_engine(clock.clone())).await.unwrap();
    let (held, ttl) = (claim("a", TTL), Duration::from_secs(9));
    take(&first, &held).await;
    let waiting = wait(&second, "a", ttl);
    eventually("it waits", || queued(&server, "a") == 1).await;
    let message = proxy.keep_reply(b"granted");
    first.release(&held, USED).await.unwrap();
    let granted_by = clock.now();
    eventually("its grant is on its way", || message.is_caught()).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    message.let_go();
    let grant = waiting.await.unwrap().unwrap().unwrap();
    // What came by message is for less than the ttl, and for no longer than from the hand-over on.
    let given = grant.ttl.unwrap();
    assert!(given <= ttl);
    let text = "it believes to hold for longer than the server does";
    demand(grant.as_of <= granted_by, Kind::Overlap, text);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn the_deadline_of_a_grant_by_reply_counts_from_its_question() {
    let (server, clock) = (Redis::start(), clock());
    let proxy = Proxy::start(server.port());
    let backend = Store::from_url(proxy.redis_url(""))
        .unwrap()
        .connect(&Host::without_engine(clock.clone()))
        .await
        .unwrap();
    let late = Duration::from_millis(300);
    proxy.delay_replies(late);
    let grant = take(&backend, &claim("a", TTL)).await;
    let granted_by = clock.now();
    let text = "it believes to hold for longer than the server does";
    demand(grant.as_of + late <= granted_by, Kind::Overlap, text);
}

/// Who stands in the queue before it listens is passed over by any newcomer.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn nobody_joins_the_queue_who_does_not_listen() {
    let server = Redis::start();
    let proxy = Proxy::start(server.port());
    let (first, deaf) = (backend(&server.url("")).await, backend(&proxy.redis_url("")).await);
    take(&first, &claim("a", TTL)).await;
    proxy.refuse(true);
    let waiting = wait(&deaf, "a", TTL);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let text = "it stood in the queue before it listened, so that any newcomer would pass it";
    demand(queued(&server, "a") == 0, Kind::LostPlace, text);
    // It waits all the same.
    assert!(!waiting.is_finished());
    waiting.abort();
}

/// A write that the server refuses in the middle of a hand-over: nobody is told of a grant that was not written.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_refused_hand_over_makes_nobody_a_holder() {
    let server = Redis::start();
    assert_eq!(server.command(&["ACL", "SETUSER", "first", "on", ">pw", "~*", "&*", "+@all"]), "OK");
    let first = backend(&format!("redis://first:pw@127.0.0.1:{}", server.port())).await;
    let second = backend(&server.url("")).await;
    let held = claim("a", TTL);
    take(&first, &held).await;
    let waiting = wait(&second, "a", Duration::from_millis(600));
    eventually("it waits", || queued(&server, "a") == 1).await;
    server.command(&["ACL", "SETUSER", "first", "-set"]);
    first.release(&held, USED).await.unwrap_err();
    let seen = last_asked(&server, "a");
    let asks = || !["", &seen].contains(&&*last_asked(&server, "a"));
    eventually("it goes on asking", || waiting.is_finished() || asks()).await;
    let text = "it was told of a grant that was never written: the first one still holds";
    demand(!waiting.is_finished(), Kind::Overlap, text);
    waiting.abort();
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_grant_that_nobody_waits_for_is_given_back() {
    let server = Redis::start();
    let (first, second) = (backend(&server.url("")).await, backend(&server.url("")).await);
    let held = claim("a", TTL);
    take(&first, &held).await;
    let gone = wait(&second, "a", TTL);
    eventually("it waits", || queued(&server, "a") == 1).await;
    gone.abort();
    let _ = gone.await;
    first.release(&held, USED).await.unwrap();
    // Before it runs out by itself: a grant by message lasts 2 s.
    let soon = Duration::from_secs(1);
    let next = client(&server.url(""), TTL).await.mutex("a").try_lock_for(soon).await.unwrap();
    demand(next.is_some(), Kind::LeftBehind, "the grant of one that has gone keeps everybody out");
}

/// A reconnect must not cost the place.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn who_cannot_be_reached_for_a_moment_is_passed_over_and_keeps_its_place() {
    let server = Redis::start();
    let proxy = Proxy::start(server.port());
    let (first, third) = (backend(&server.url("")).await, backend(&server.url("")).await);
    let held = claim("a", TTL);
    take(&first, &held).await;
    let second = backend(&proxy.redis_url("")).await;
    // The cut may take the answer to its question with it: it asks again then, as a client does.
    let waiting = tokio::spawn(async move {
        let wanted = claim("a", TTL);
        loop {
            match second.acquire(&wanted, Until::Forever).await {
                Err(e) if e.is_retryable() => tokio::time::sleep(Duration::from_millis(10)).await,
                answer => return answer.map(Acquired::granted),
            }
        }
    });
    eventually("the second one waits", || queued(&server, "a") == 1).await;
    proxy.refuse(true);
    proxy.cut();
    eventually("nobody listens", || server.command(&["PUBSUB", "CHANNELS"]).is_empty()).await;
    first.release(&held, USED).await.unwrap();
    let passed = claim("a", TTL);
    take(&third, &passed).await;
    demand(queued(&server, "a") == 1, Kind::LostPlace, "one that could not be reached has lost its place");
    proxy.refuse(false);
    eventually("it listens again", || !server.command(&["PUBSUB", "CHANNELS"]).is_empty()).await;
    third.release(&passed, USED).await.unwrap();
    waiting.await.unwrap().unwrap().unwrap();
}

/// Waits for a lease that ends without a word.
async fn ask_again(server: &Redis) {
    let (holder, other) = (backend(&server.url("")).await, client(&server.url(""), TTL).await);
    take(&holder, &claim("warm", Duration::from_secs(2))).await;
    let waiting = tokio::spawn(async move { other.mutex("warm").lock().await.unwrap().finish().await });
    eventually("it waits", || queued(server, "warm") == 1).await;
    waiting.await.unwrap().unwrap();
}

/// Granted by message while a question is still on its way over a connection that is gone: it takes the lock again when
/// it lands behind the release, and is undone.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_question_that_lands_behind_the_release_of_its_grant_is_undone() {
    let server = Redis::start();
    // From then on it knows the script of one who asks again: a question with an unknown one would change nothing.
    ask_again(&server).await;
    for asked_again in [false, true] {
        let proxy = Proxy::start(server.port());
        let (first, third) = (backend(&server.url("")).await, client(&server.url(""), TTL).await);
        let second = client(&proxy.redis_url("timeout=300ms"), TTL).await;
        let held = claim("a", Duration::from_secs(1));
        let grant = take(&first, &held).await;
        let waiting = tokio::spawn({
            let mutex = second.mutex("a");
            async move { mutex.lock().await.unwrap() }
        });
        eventually("it waits", || queued(&server, "a") == 1).await;
        // It asks when the lease should have ended, and that question stays on its way.
        let question = proxy.keep_request(b"cotter:{a}");
        first.extend(&[&grant], TTL * 10).await.remove(0).unwrap();
        eventually("it asks", || question.is_caught()).await;
        if asked_again {
            let seen = last_asked(&server, "a");
            eventually("it asks over another connection", || last_asked(&server, "a") != seen).await;
        }
        first.release(&held, USED).await.unwrap();
        let guard = waiting.await.unwrap();
        let token = guard.token().get();
        guard.finish().await.unwrap();
        assert_eq!(last_token(&server, "a"), token, "it is free");
        // It may be undone too soon for anybody to see the lock in between.
        let written = times_written(&server);
        question.let_go();
        eventually("it lands, and takes the lock", || times_written(&server) > written).await;
        let next = third.mutex("a").try_lock_for(TTL / 3).await.unwrap();
        demand(next.is_some(), Kind::LeftBehind, format!("asked again: {asked_again}: it is held by nobody"));
    }
}

/// The same claim may have been granted again, to a question that landed late: the token of the first grant is stale.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_grant_does_not_live_on_under_the_next_one_of_its_claim() {
    let server = Redis::start();
    let one = backend(&server.url("")).await;
    let claim = claim("a", TTL);
    let first = take(&one, &claim).await;
    assert_eq!(one.release(&claim, USED).await.unwrap(), Release::Freed);
    let second = take(&one, &claim).await;
    let answers = one.extend(&[&first, &second], TTL).await;
    let told = matches!(&answers[..], [Ok(Extension::Lost(_)), Ok(Extension::Extended { .. })]);
    demand(told, Kind::TokenOrder, format!("a holder goes on with a token that is stale: {answers:?}"));
    let at = |grant: &Grant| NoteAt::new("k", grant.number, 1);
    let notes = one.notes().unwrap();
    assert_eq!(notes.store(&first, at(&first), b"stale").await.unwrap(), None);
    assert_eq!(notes.store(&second, at(&second), b"new").await.unwrap(), Some(1));
}

/// The connection was cut, and the first that noticed is not polled any more.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_connection_that_is_being_made_belongs_to_no_caller() {
    let server = Redis::start();
    let backend = backend(&server.url("")).await;
    for round in 0..3 {
        server.command(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
        tokio::time::sleep(Duration::from_millis(50)).await;
        let asleep = claim(&format!("asleep {round}"), TTL);
        let mut kept = backend.acquire(&asleep, Until::Now);
        server.stop();
        let polled = std::future::poll_fn(|cx| std::task::Poll::Ready(kept.as_mut().poll(cx))).await;
        server.go_on();
        assert!(polled.is_pending(), "it takes a round trip");
        let other = claim(&format!("other {round}"), TTL);
        let taken = tokio::time::timeout(FAR, backend.acquire(&other, Until::Now)).await;
        let text = "who wants another name waits for a connection that a future makes which nobody polls";
        let is_granted = taken.is_ok_and(|answer| answer.is_ok_and(|answer| answer.granted().is_some()));
        demand(is_granted, Kind::StuckWaiter, text);
        drop(kept);
    }
}

/// To delete its key is how people break a lock.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn nobody_passes_those_who_wait_for_a_lock_whose_key_was_deleted() {
    let server = Redis::start();
    let (first, second, third) =
        (backend(&server.url("")).await, backend(&server.url("")).await, backend(&server.url("")).await);
    take(&first, &claim("a", TTL)).await;
    let waiting = wait(&second, "a", TTL);
    eventually("the second one waits", || queued(&server, "a") == 1).await;
    server.command(&["DEL", "cotter:{a}"]);
    let passed = third.acquire(&claim("a", TTL), Until::Now).await.unwrap().granted();
    demand(passed.is_none(), Kind::LostPlace, "a newcomer has passed one who listens");
    waiting.await.unwrap().unwrap().unwrap();
}

/// One step looks at a bounded part of the queue. What it has not seen may listen.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn nobody_passes_one_who_listens_behind_more_dead_than_one_step_sees() {
    let server = Redis::start();
    let (first, second) = (backend(&server.url("")).await, backend(&server.url("")).await);
    let held = claim("a", TTL);
    take(&first, &held).await;
    crowd(&server, "a", 20_000, Duration::from_secs(10), Duration::from_secs(2));
    let waiting = wait(&second, "a", TTL);
    eventually("the second one waits", || queued(&server, "a") == 20_001).await;
    // From its question on they are silent; after that time the walk forgets all that it sees.
    tokio::time::sleep(Duration::from_millis(2500)).await;
    first.release(&held, USED).await.unwrap();
    let mut newcomer = None;
    while newcomer.is_none() && !waiting.is_finished() {
        newcomer = first.acquire(&claim("a", TTL), Until::Now).await.unwrap().granted();
    }
    demand(newcomer.is_none(), Kind::LostPlace, "a newcomer has passed one who listens");
    waiting.await.unwrap().unwrap().unwrap();
}

/// For longer than anybody may be silent. Whose question is served first is not to take the places of the others.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_server_that_stands_still_ends_nobodys_place() {
    let server = Redis::start();
    let proxy = Proxy::start(server.port());
    let ttl = Duration::from_millis(900);
    let holder = backend(&server.url("")).await;
    // Its lease ends while the server stands still.
    take(&holder, &claim("a", Duration::from_secs(3))).await;
    let slow = backend(&proxy.redis_url("timeout=1m")).await;
    let fast = backend(&server.url("timeout=1m")).await;
    let first = wait(&slow, "a", ttl);
    eventually("the first one waits", || queued(&server, "a") == 1).await;
    let second = wait(&fast, "a", ttl);
    eventually("the second one waits", || queued(&server, "a") == 2).await;
    proxy.delay_requests(Duration::from_millis(300));
    server.stop();
    tokio::time::sleep(Duration::from_secs(4)).await;
    server.go_on();
    let first = first.await.unwrap().unwrap().unwrap();
    let second = second.await.unwrap().unwrap().unwrap();
    demand(first.number < second.number, Kind::LostPlace, "the first one was overtaken");
}

/// The turns of a large block are ahead of the clock for a moment. The next block begins behind them.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn tokens_rise_while_the_counter_is_ahead_of_the_clock() {
    let (server, mut last) = (Redis::start(), 0);
    let store = backend(&server.url("")).await;
    for _ in 0..20 {
        let mut all = claim("a", TTL);
        all.turns = u16::MAX;
        let grant = take(&store, &all).await;
        demand(grant.number > last, Kind::RepeatedToken, "a token was given twice");
        last = grant.number + u64::from(grant.turns) - 1;
        store.release(&all, Leave::used(grant.turns)).await.unwrap();
    }
}

/// The counter of a key that was deleted, or of a snapshot that was restored, goes on from the clock.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn tokens_rise_after_the_server_has_forgotten_the_name() {
    let server = Redis::start();
    let store = backend(&server.url("")).await;
    let before = claim("a", TTL);
    let token = take(&store, &before).await.number;
    store.release(&before, USED).await.unwrap();
    server.command(&["DEL", "cotter:{a}"]);
    let next = take(&store, &claim("a", TTL)).await.number;
    demand(next > token, Kind::TokenOrder, "a later grant has a smaller token");
}
