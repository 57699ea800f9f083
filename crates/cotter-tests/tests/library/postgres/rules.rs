//! The rules that a run may break unnoticed, each provoked.

use super::setup::{backend, claim, client, driver, eventually, queued, released, server, take};
use cotter::Filter;
use cotter::backend::{Backend, Extension, Grant, Leave, Release, Until};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::{Postgres, Proxy};
use cotter_testkit::timing::Stopwatch;
use std::sync::Arc;
use std::time::Duration;

const TTL: Duration = Duration::from_secs(30);

/// The clock of the database stands in for a row that somebody has deleted, or that a restored backup does not have.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn tokens_rise_over_a_lost_row() {
    let server = Postgres::migrated();
    let one = backend(&server.url("")).await;
    let mut last = 0;
    for _ in 0..5 {
        let first = claim("lost row", TTL);
        let grant = take(&one, &first).await;
        demand(grant.number > last, Kind::RepeatedToken, format!("{} after {last}", grant.number));
        last = grant.number;
        one.release(&first, Leave::used(1)).await.unwrap();
        server.sql("delete from cotter_lock where name = 'lost row'");
    }
}

/// Names that are new make room for each other: those that nobody has used for a day are deleted, and the tokens that they had are
/// the floor for all that come, whatever the clock says.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn tokens_rise_over_a_swept_row() {
    let server = server();
    let one = backend(&server.url("")).await;
    let pair = async |name: &str| {
        let claim = claim(name, TTL);
        let grant = take(&one, &claim).await;
        one.release(&claim, Leave::used(1)).await.unwrap();
        grant.number
    };
    pair("swept").await;
    pair("recent").await;
    let held = claim("held", TTL);
    take(&one, &held).await;
    // As if the clock had been an hour ahead when they were used.
    server.sql(
        "update cotter_lock set last = last + 3600000000, since = now() - interval '2 days' where name in ('swept', 'held')",
    );
    let last: u64 = server.sql("select last from cotter_lock where name = 'swept'").parse().unwrap();
    let mut others = 0;
    while server.sql("select count(*) from cotter_lock where name = 'swept'") == "1" {
        for _ in 0..25 {
            pair(&format!("other {others}")).await;
            others += 1;
        }
        assert!(others < 2_500, "nothing was swept while {others} names were new");
    }
    let number = pair("swept").await;
    demand(number > last, Kind::TokenOrder, format!("{number} after {last}, which was swept"));
    assert_eq!(server.sql("select count(*) from cotter_lock where name in ('recent', 'held')"), "2");
    let mut listed = client(&server.url(""), TTL).await.admin().list(Filter::held());
    assert_eq!(&*listed.next().await.unwrap().expect("it is held").name, "held");
    assert!(listed.next().await.unwrap().is_none());
}

/// A request that is still on its way when its claim is released takes the lock for nobody.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn a_request_that_arrives_after_its_release_is_undone() {
    let server = Postgres::migrated();
    let proxy = Proxy::start(server.port());
    let one = backend(&proxy.postgres_url("timeout=300ms")).await;
    // Its statements are prepared by now, so the next message is the request.
    let before = claim("before", TTL);
    take(&one, &before).await;
    released(&one, &before).await;
    let late = claim("late", TTL);
    let kept = proxy.keep_request(late.id.to_string().as_bytes());
    let error = one.acquire(&late, Until::Now).await.unwrap_err();
    assert!(kept.is_caught() && error.outcome_unknown(), "{error}");
    let answer = released(&one, &late).await;
    let unsettled = matches!(answer, Release::Unsettled { .. });
    demand(
        unsettled,
        Kind::LeftBehind,
        format!("the request is still on its way, and the release says {answer:?}"),
    );
    kept.let_go();
    let held =
        || server.sql("select count(*) from cotter_lock where name = 'late' and claim is not null") == "1";
    eventually("it arrives", held).await;
    released(&one, &late).await;
    assert!(!held());
}

/// Whoever gives up makes room for those behind it, at once.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn a_release_wakes_the_next() {
    let server = Postgres::migrated();
    let (one, other) = (client(&server.url(""), TTL).await, client(&server.url(""), TTL).await);
    for _ in 0..5 {
        let guard = one.mutex("wake").lock().await.unwrap();
        let mutex = other.mutex("wake");
        let waiting = tokio::spawn(async move { mutex.lock().await.unwrap() });
        eventually("it waits", || queued(&server, "wake") == 1).await;
        // It has asked again after its subscription was opened.
        tokio::time::sleep(Duration::from_millis(300)).await;
        let start = Stopwatch::of(Kind::SlowHandOver);
        guard.finish().await.unwrap();
        let next = waiting.await.unwrap();
        start.at_most(Duration::from_millis(700), "the release wakes the next");
        next.finish().await.unwrap();
    }
}

/// Two batches with the same names in different orders never wait for each other.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn batches_in_different_orders_do_not_deadlock() {
    let server = Postgres::migrated();
    let (one, other) = (backend(&server.url("")).await, backend(&server.url("")).await);
    let mut grants = Vec::new();
    for i in 0..40 {
        grants.push(take(&one, &claim(&format!("name {i}"), TTL)).await);
    }
    let extend = |by: Arc<dyn Backend>, grants: Vec<Grant>| {
        tokio::spawn(async move {
            for _ in 0..60 {
                for answer in by.extend(&grants.iter().collect::<Vec<_>>(), TTL).await {
                    let extended = matches!(answer, Ok(Extension::Extended { .. }));
                    demand(extended, Kind::NeedlessLoss, format!("{answer:?}"));
                }
            }
        })
    };
    let backwards = grants.iter().rev().cloned().collect();
    let tasks = [extend(one.clone(), grants.clone()), extend(other, backwards)];
    for task in tasks {
        if let Err(panicked) = task.await {
            std::panic::resume_unwind(panicked.into_panic());
        }
    }
    for grant in &grants {
        one.release(&grant.claim, Leave::used(1)).await.unwrap();
    }
}

/// `now()` is the beginning of a transaction. In one that began long ago, a lease that is taken lasts as long as it says, and one
/// that has ended meanwhile is free: steps ask what time it is.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn a_transaction_that_began_long_ago_knows_what_time_it_is() {
    const ACQUIRE: &str = "select out_answer::text from cotter_acquire_v1($1, gen_random_uuid(), 'x', 0, null, 1000000, 1, 'old', '', null)";
    let server = Postgres::migrated();
    let (mut db, other) = (driver(&server).await, backend(&server.url("")).await);
    // Its row is there: so the usual case is that of the first request.
    let before = claim("old", TTL);
    take(&other, &before).await;
    other.release(&before, Leave::used(1)).await.unwrap();
    let short = claim("ended", Duration::from_millis(600));
    take(&other, &short).await;
    let transaction = db.transaction().await.unwrap();
    transaction.execute("select now()", &[]).await.unwrap();
    tokio::time::sleep(Duration::from_millis(1200)).await;
    for name in ["old", "ended"] {
        let answer: String = transaction.query_one(ACQUIRE, &[&name]).await.unwrap().get(0);
        demand(answer == "g", Kind::LeftBehind, format!("{name}: it is free, and the answer is {answer}"));
    }
    transaction.commit().await.unwrap();
    for name in ["old", "ended"] {
        let taken = other.acquire(&claim(name, TTL), Until::Now).await.unwrap().granted();
        demand(taken.is_none(), Kind::Overlap, format!("{name}: a lease of a second had ended at once"));
    }
}
