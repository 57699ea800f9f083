//! Keys that go missing, one at a time: an operator deletes them, or the server evicts them.

use super::setup::{USED, backend, claim, eventually, pass_through, queued, take};
use cotter::backend::{Backend, Extension, Release, Until};
use cotter_testkit::servers::Redis;
use cotter_testkit::timing::Stopwatch;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

const KEYS: [&str; 3] = ["cotter:{a}", "cotter:{a}:q", "cotter:{a}:w"];
const LONG: Duration = Duration::from_secs(60);
/// Waiters ask every half second.
const TTL: Duration = Duration::from_millis(1500);

/// Waits in a task and holds for a moment; answers with the token.
fn hold(backend: &Arc<dyn Backend>, ttl: Duration) -> JoinHandle<u64> {
    let (backend, claim) = (backend.clone(), claim("a", ttl));
    tokio::spawn(async move {
        let grant = backend.acquire(&claim, Until::Forever).await.unwrap().granted().unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
        backend.release(&claim, USED).await.unwrap();
        grant.number
    })
}

/// They are served in this order, and newcomers after them; nobody is told of an error.
async fn in_order(what: &str, waiting: Vec<JoinHandle<u64>>, newcomers: &[Option<u64>]) {
    let mut last = 0;
    for (i, task) in waiting.into_iter().enumerate() {
        let patience = Duration::from_secs(20);
        let number =
            tokio::time::timeout(patience, task).await.unwrap_or_else(|_| panic!("{what}: {i} waits"));
        let number = number.unwrap();
        assert!(number > last, "{what}: number {i} was overtaken");
        last = number;
    }
    let passed = newcomers.iter().flatten().any(|number| *number < last);
    assert!(!passed, "{what}: a newcomer has passed those who listen: {newcomers:?}, {last}");
}

async fn three(server: &Redis, ttl: Duration) -> Vec<JoinHandle<u64>> {
    let mut waiting = Vec::new();
    for i in 0..3 {
        waiting.push(hold(&backend(&server.url("")).await, ttl));
        eventually("it waits", || queued(server, "a") == i + 1).await;
    }
    waiting
}

/// The token of a newcomer that tries it and got it.
async fn tries(newcomer: &Arc<dyn Backend>) -> Option<u64> {
    let claim = claim("a", TTL);
    let grant = newcomer.acquire(&claim, Until::Now).await.unwrap().granted()?;
    newcomer.release(&claim, USED).await.unwrap();
    Some(grant.number)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_key_that_goes_missing_while_somebody_holds_costs_nobody_its_place() {
    for key in KEYS {
        for asked_again in [false, true] {
            let server = Redis::start();
            let (holder, newcomer) = (backend(&server.url("")).await, backend(&server.url("")).await);
            let held = claim("a", LONG);
            take(&holder, &held).await;
            let waiting = three(&server, if asked_again { TTL } else { LONG }).await;
            assert_eq!(server.command(&["DEL", key]), "1");
            if asked_again {
                tokio::time::sleep(TTL / 2).await;
            }
            let before = tries(&newcomer).await;
            let gave = holder.release(&held, USED).await.unwrap();
            assert!(key != KEYS[0] || gave == Release::NotHeld, "{gave:?}: its lock was deleted");
            let after = tries(&newcomer).await;
            in_order(key, waiting, &[before, after]).await;
            take(&newcomer, &claim("a", TTL)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_key_that_goes_missing_between_two_hand_overs_costs_nobody_its_place() {
    for key in KEYS {
        let server = Redis::start();
        let (holder, newcomer) = (backend(&server.url("")).await, backend(&server.url("")).await);
        let held = claim("a", LONG);
        take(&holder, &held).await;
        let next = claim("a", TTL);
        let asking = tokio::spawn({
            let (next, holder) = (next.clone(), holder.clone());
            async move { holder.acquire(&next, Until::Forever).await }
        });
        eventually("it waits", || queued(&server, "a") == 1).await;
        let mut waiting = Vec::new();
        for i in 0..2 {
            waiting.push(hold(&backend(&server.url("")).await, TTL));
            eventually("it waits", || queued(&server, "a") == i + 2).await;
        }
        holder.release(&held, USED).await.unwrap();
        let grant = asking.await.unwrap().unwrap().granted().unwrap();
        assert_eq!(server.command(&["DEL", key]), "1");
        let tried = tries(&newcomer).await;
        let told = holder.extend(&[&grant], TTL).await.remove(0).unwrap();
        assert_eq!(matches!(told, Extension::Lost(_)), key == KEYS[0], "{key}: {told:?}");
        holder.release(&next, USED).await.unwrap();
        in_order(key, waiting, &[tried]).await;
    }
}

/// To delete its key is how people break a lock. Who waits for it is woken by the release, not by its next question.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn the_release_of_a_lock_that_was_deleted_wakes_the_next() {
    let server = Redis::start();
    let (holder, waiter) = (backend(&server.url("")).await, backend(&server.url("")).await);
    let held = claim("a", LONG);
    take(&holder, &held).await;
    let waiting = pass_through(&waiter, "a", LONG);
    eventually("it waits", || queued(&server, "a") == 1).await;
    server.command(&["DEL", "cotter:{a}"]);
    let calls = server.scripts();
    let start = Stopwatch::start();
    assert_eq!(holder.release(&held, USED).await.unwrap(), Release::NotHeld);
    waiting.await.unwrap();
    assert!(server.scripts() <= calls + 3, "it asks by itself");
    start.at_most(Duration::from_secs(2), "the release wakes it");
    eventually("nothing is left", || server.command(&["EXISTS", KEYS[1], KEYS[2]]) == "0").await;
}

/// A place that is given up leaves nothing, whichever of its keys is missing.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn who_gives_up_leaves_no_record() {
    for key in KEYS {
        let server = Redis::start();
        let (holder, waiter) = (backend(&server.url("")).await, backend(&server.url("")).await);
        let (held, wanted) = (claim("a", LONG), claim("a", LONG));
        take(&holder, &held).await;
        let waiting = tokio::spawn({
            let (waiter, wanted) = (waiter.clone(), wanted.clone());
            async move { waiter.acquire(&wanted, Until::Forever).await }
        });
        eventually("it waits", || queued(&server, "a") == 1).await;
        server.command(&["DEL", key]);
        waiting.abort();
        let _ = waiting.await;
        waiter.release(&wanted, USED).await.unwrap();
        holder.release(&held, USED).await.unwrap();
        take(&waiter, &claim("a", LONG)).await;
        assert_eq!(server.command(&["HEXISTS", KEYS[2], &wanted.id.to_string()]), "0", "without {key}");
    }
}
