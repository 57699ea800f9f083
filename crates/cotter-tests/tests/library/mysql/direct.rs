//! Names that one process uses by itself: a step does not read the row first, and replaces only what it knows.

use super::setup::{backend, claim, queued, server, take};
use cotter::backend::{Acquired, Leave, Release, Until};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::Mariadb;
use std::time::Duration;

const TTL: Duration = Duration::from_secs(30);

fn statements(server: &Mariadb) -> u64 {
    let counter = server.sql("SHOW GLOBAL STATUS LIKE 'Com_stmt_execute'");
    counter.split_whitespace().last().unwrap().parse().unwrap()
}

/// One statement takes the name, another one frees it.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn a_pair_is_two_statements() {
    const PAIRS: u64 = 20;
    let server = server();
    let one = backend(&server.url("connections=1")).await;
    let pair = async |turns: u16| {
        let mut claim = claim("own", TTL);
        claim.turns = turns;
        let grant = take(&one, &claim).await;
        let released = one.release(&claim, Leave::used(1)).await.unwrap();
        assert!(matches!(released, Release::Freed), "{released:?}");
        grant.number
    };
    let mut last = pair(1).await;
    let before = statements(&server);
    for turn in 0..PAIRS {
        let number = pair(1 + (turn % 2) as u16).await;
        demand(number > last, Kind::TokenOrder, format!("{number} after {last}"));
        last = number;
    }
    assert_eq!(statements(&server) - before, 2 * PAIRS);
    assert_eq!(server.sql("SELECT last_token FROM cotter_locks WHERE state = ''"), last.to_string());
}

/// Whoever has to wait gets its place with the first request, and does not ask for it again.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn a_place_in_line_is_asked_for_once() {
    let server = server();
    let (one, other) = (backend(&server.url("")).await, backend(&server.url("connections=1")).await);
    assert!(other.info().capabilities.in_line, "the engine asks for it");
    let held = claim("line", TTL);
    take(&one, &held).await;
    // Prepared statements are made once.
    let first = claim("line", TTL);
    assert!(matches!(other.acquire(&first, Until::InLine).await.unwrap(), Acquired::Queued));
    other.release(&first, Leave::default()).await.unwrap();
    let before = statements(&server);
    let wanted = claim("line", TTL);
    assert!(matches!(other.acquire(&wanted, Until::InLine).await.unwrap(), Acquired::Queued));
    assert_eq!(queued(&server, "line"), 1);
    // The row is read, and the place is written.
    assert_eq!(statements(&server) - before, 2);
}

/// Another process has had the name in the meantime, has it, or waits for it.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn what_others_have_done_meanwhile_counts() {
    let server = Mariadb::migrated();
    let (one, other) = (backend(&server.url("")).await, backend(&server.url("")).await);
    let mine = claim("meanwhile", TTL);
    let first = take(&one, &mine).await;
    one.release(&mine, Leave::used(1)).await.unwrap();
    let theirs = claim("meanwhile", TTL);
    let second = take(&other, &theirs).await;
    let tried = one.acquire(&claim("meanwhile", TTL), Until::Now).await.unwrap();
    demand(matches!(tried, Acquired::Busy), Kind::Overlap, format!("{tried:?}"));
    other.release(&theirs, Leave::used(1)).await.unwrap();
    let mine = claim("meanwhile", TTL);
    let third = take(&one, &mine).await;
    let rises = first.number < second.number && second.number < third.number;
    demand(rises, Kind::TokenOrder, format!("{first:?}, {second:?}, {third:?}"));
    one.release(&mine, Leave::used(1)).await.unwrap();
    // This one is known to be alone, until somebody joins it.
    let mine = claim("meanwhile", TTL);
    take(&one, &mine).await;
    let waiting = tokio::spawn(async move {
        let waiter = claim("meanwhile", TTL);
        let end = Until::Moment(super::setup::clock().now() + Duration::from_secs(10));
        let granted = other.acquire(&waiter, end).await.unwrap().granted();
        other.release(&waiter, Leave::used(1)).await.unwrap();
        granted
    });
    super::setup::eventually("it stands in the queue", || queued(&server, "meanwhile") == 1).await;
    one.release(&mine, Leave::used(1)).await.unwrap();
    let granted = waiting.await.unwrap();
    demand(granted.is_some(), Kind::LostPlace, "the release has taken its place away".to_owned());
}
