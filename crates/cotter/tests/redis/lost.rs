//! Answers that never come.

use crate::setup::{backend, claim, client, eventually, queued, server, take};
use cotter::backend::{Extension, Grant, Leave, NoteAt, Until};
use cotter::{Client, Lease};
use cotter_testkit::servers::{Loss, Proxy, Redis};
use std::time::{Duration, Instant};

const TTL: Duration = Duration::from_secs(30);

async fn free_again(client: &Client, name: &str) -> Duration {
    let start = Instant::now();
    let guard = client.mutex(name).lock().await.unwrap();
    let waited = start.elapsed();
    guard.release().await.unwrap();
    waited
}

#[tokio::test(flavor = "multi_thread")]
async fn an_acquire_whose_answer_is_lost_leaves_nothing() {
    let server = server!();
    for (i, how) in [Loss::Cut, Loss::Silence].into_iter().enumerate() {
        let proxy = Proxy::start(server.port());
        let (shaky, steady) =
            (client(&proxy.redis_url("timeout=500ms"), TTL).await, client(&server.url(""), TTL).await);
        // Every task of this runtime has a connection of its own by now.
        shaky.mutex("warm").lock().await.unwrap().release().await.unwrap();
        proxy.lose_reply(b"g0", how);
        proxy.lose_reply(b"g1", how);
        let error = shaky.mutex(format!("a{i}")).try_lock().await.unwrap_err();
        assert!(error.is_retryable() && error.outcome_unknown() && proxy.has_lost(), "{error}");
        let waited = free_again(&steady, &format!("a{i}")).await;
        assert!(waited < Duration::from_secs(3), "{how:?}: {waited:?}");
    }
}

/// The request itself is late: it arrives after its clean-up.
#[tokio::test(flavor = "multi_thread")]
async fn an_acquire_that_lands_late_is_undone() {
    let server = server!();
    let proxy = Proxy::start(server.port());
    let shaky = client(&proxy.redis_url("timeout=200ms"), TTL).await;
    shaky.mutex("warm").lock().await.unwrap().release().await.unwrap();
    let steady = client(&server.url(""), TTL).await;
    proxy.delay_requests(Duration::from_millis(700));
    shaky.mutex("a").try_lock().await.unwrap_err();
    proxy.delay_requests(Duration::ZERO);
    tokio::time::sleep(Duration::from_millis(1200)).await;
    let waited = free_again(&steady, "a").await;
    assert!(waited < Duration::from_secs(3), "{waited:?}");
}

/// Granted by message while a question is still on its way over a connection that is gone: it takes the lock again when
/// it lands behind the release, and is undone.
#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_lands_behind_the_release_of_its_grant_is_undone() {
    let server = server!();
    for asked_again in [false, true] {
        let proxy = Proxy::start(server.port());
        let (holder, steady) = (backend(&server.url("")).await, client(&server.url(""), TTL).await);
        let waiter = client(&proxy.redis_url("timeout=300ms"), TTL).await;
        let held = claim("a", Duration::from_secs(1));
        let grant = take(&holder, &held).await;
        let waiting = tokio::spawn({
            let mutex = waiter.mutex("a");
            async move { mutex.lock().await.unwrap() }
        });
        eventually("it waits", || queued(&server, "a") == 1).await;
        // It asks when the lease should have ended, and that question stays on its way.
        proxy.keep_request(b"cotter:{a}");
        holder.extend(&[&grant], TTL * 10).await.remove(0).unwrap();
        eventually("it asks", || proxy.has_kept()).await;
        if asked_again {
            let seen = last_asked(&server, "a");
            eventually("it asks over another connection", || last_asked(&server, "a") != seen).await;
        }
        holder.release(&held, Leave { used: 1, keep_for: None }).await.unwrap();
        let guard = waiting.await.unwrap();
        let token = guard.token().get();
        guard.release().await.unwrap();
        assert_eq!(last_token(&server, "a"), token, "it is free");
        proxy.let_go();
        eventually("it lands, and takes the lock", || last_token(&server, "a") > token).await;
        let waited = free_again(&steady, "a").await;
        assert!(waited < Duration::from_secs(3), "asked again: {asked_again}: {waited:?}");
    }
}

/// The same claim may have been granted again, to a question that landed late: the token of the first grant is stale.
#[tokio::test]
async fn a_grant_is_not_extended_by_the_next_one_of_its_claim() {
    let server = server!();
    let one = backend(&server.url("")).await;
    let claim = claim("a", TTL);
    let first = take(&one, &claim).await;
    one.release(&claim, Leave { used: 1, keep_for: None }).await.unwrap();
    let second = take(&one, &claim).await;
    let answers = one.extend(&[&first, &second], TTL).await;
    let [Ok(Extension::Lost), Ok(Extension::Extended { .. })] = &answers[..] else { panic!("{answers:?}") };
    let at = |grant: &Grant| NoteAt { key: "k", token: grant.number, sequence: 1 };
    let notes = one.notes().unwrap();
    assert_eq!(notes.store(&first, at(&first), b"stale").await.unwrap(), None);
    assert_eq!(notes.store(&second, at(&second), b"new").await.unwrap(), Some(1));
}

/// When the only waiter of a name last asked, by the server's clock.
fn last_asked(server: &Redis, name: &str) -> String {
    server.command(&["HVALS", &format!("cotter:{{{name}}}:w")]).chars().take(16).collect()
}

fn last_token(server: &Redis, name: &str) -> u64 {
    server.command(&["GET", &format!("cotter:{{{name}}}")])[38..54].parse().unwrap()
}

/// On a busy connection, at every point of its way.
#[tokio::test(flavor = "multi_thread")]
async fn cancelled_acquires_leave_nothing() {
    let server = server!();
    let (client, other) = (client(&server.url(""), TTL).await, client(&server.url(""), TTL).await);
    let busy: Vec<_> = (0..64)
        .map(|i| {
            let mutex = client.mutex(format!("busy {i}"));
            tokio::spawn(async move {
                loop {
                    mutex.lock().await.unwrap().release().await.unwrap();
                }
            })
        })
        .collect();
    for i in 0..300_u64 {
        let lock = client.mutex(format!("a{i}")).lock();
        let _ = tokio::time::timeout(Duration::from_micros(i * 5), lock).await.map(|g| g.map(drop));
    }
    let start = Instant::now();
    for i in 0..300 {
        other.mutex(format!("a{i}")).lock().await.unwrap().release().await.unwrap();
    }
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
    busy.iter().for_each(tokio::task::JoinHandle::abort);
}

#[tokio::test]
async fn a_grant_may_be_released_on_another_connection() {
    use cotter::backend::Connect;
    let server = server!();
    let store = cotter::redis::Store::from_url(server.url("")).unwrap();
    let clock = crate::setup::clock();
    let (one, two) = (store.connect(&clock).await.unwrap(), store.connect(&clock).await.unwrap());
    let holder = backend(&server.url("")).await;
    let (held, wanted) = (claim("a", TTL), claim("a", TTL));
    take(&holder, &held).await;
    let (waiter, asked) = (one.clone(), wanted.clone());
    let waiting = tokio::spawn(async move { waiter.acquire(&asked, Until::Forever).await });
    eventually("it waits", || queued(&server, "a") == 1).await;
    let leave = Leave { used: 1, keep_for: None };
    holder.release(&held, leave).await.unwrap();
    waiting.await.unwrap().unwrap().unwrap();
    assert_eq!(two.release(&wanted, leave).await.unwrap(), cotter::backend::Release::Freed);
    take(&holder, &claim("a", TTL)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_black_hole_is_left_for_a_new_connection() {
    let server = server!();
    let proxy = Proxy::start(server.port());
    let url = proxy.redis_url("timeout=300ms&connect_timeout=300ms");
    let client =
        Client::builder().url(url).lease(Lease::renewed(Duration::from_secs(3))).connect().await.unwrap();
    let guard = client.mutex("a").lock().await.unwrap();
    // Silence on what is open; what is opened from now on works.
    proxy.lose_reply(b"", Loss::Silence);
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert!(guard.is_valid(), "renewed over another connection");
    guard.release().await.unwrap();
}
