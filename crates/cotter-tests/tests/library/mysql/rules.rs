//! The rules that a run may break unnoticed, each provoked.

use super::setup::{backend, claim, clock, holders, take};
use cotter::backend::{Backend, Extension, Grant, Leave, Release, Until};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::{Mariadb, Proxy};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Barrier;

const TTL: Duration = Duration::from_secs(30);

/// The clock of the server stands in for a row that somebody has deleted, or that a restored backup does not have.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn tokens_rise_over_a_lost_row() {
    let server = Mariadb::migrated();
    let one = backend(&server.url("")).await;
    let mut last = 0;
    for _ in 0..5 {
        let first = claim("lost row", TTL);
        let grant = take(&one, &first).await;
        demand(grant.number > last, Kind::RepeatedToken, format!("{} after {last}", grant.number));
        last = grant.number;
        one.release(&first, Leave::used(1)).await.unwrap();
        server.sql("DELETE FROM cotter_locks WHERE name = 'lost row'");
    }
}

/// A statement that is still on its way when its claim is released takes the lock for nobody, however late it arrives.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn a_statement_that_arrives_after_its_release_changes_nothing() {
    let server = Mariadb::migrated();
    let proxy = Proxy::start(server.port());
    for name in ["late, a row", "late, no row"] {
        let one = backend(&proxy.mysql_url("timeout=300ms&connections=1")).await;
        if name == "late, a row" {
            let before = claim(name, TTL);
            take(&one, &before).await;
            one.release(&before, Leave::default()).await.unwrap();
        }
        let late = claim(name, TTL);
        let kept = proxy.keep_request(b"\"holders\"");
        let error = one.acquire(&late, Until::Now).await.unwrap_err();
        assert!(kept.is_caught() && error.outcome_unknown(), "{error}");
        // The connection is still waited for once; then another one carries the release, as the engine repeats it.
        let mut released = one.release(&late, Leave::default()).await;
        if released.is_err() {
            released = one.release(&late, Leave::default()).await;
        }
        let released = released.unwrap();
        assert!(matches!(released, Release::NotHeld), "{released:?}");
        let token = format!("SELECT last_token FROM cotter_locks WHERE name = '{name}'");
        let before = server.sql(&token);
        kept.let_go();
        tokio::time::sleep(Duration::from_millis(300)).await;
        demand(holders(&server, name) == 0, Kind::LeftBehind, format!("{name}: it took the lock"));
        assert_eq!(server.sql(&token), before);
        take(&one, &claim(name, TTL)).await;
    }
}

/// Each reads the row before anybody has replaced it.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn of_those_who_try_at_once_one_gets_it() {
    const TRIERS: usize = 4;
    const ROUNDS: usize = 300;
    let (server, start) = (Mariadb::migrated(), Arc::new(Barrier::new(TRIERS)));
    let mut tasks = Vec::new();
    for _ in 0..TRIERS {
        let (one, start) = (backend(&server.url("")).await, start.clone());
        tasks.push(tokio::spawn(async move {
            let mut got = Vec::new();
            for round in 0..ROUNDS {
                let claim = claim("at once", TTL);
                start.wait().await;
                let granted = one.acquire(&claim, Until::Now).await.unwrap().granted().is_some();
                start.wait().await;
                if granted {
                    got.push(round);
                    one.release(&claim, Leave::used(1)).await.unwrap();
                }
            }
            got
        }));
    }
    let mut rounds = Vec::new();
    for task in tasks {
        rounds.append(&mut task.await.unwrap());
    }
    rounds.sort_unstable();
    assert!(rounds.len() > ROUNDS / 2, "hardly any round was won");
    let twice = rounds.windows(2).find(|pair| pair[0] == pair[1]);
    demand(twice.is_none(), Kind::Overlap, format!("two got it in round {twice:?}"));
}

/// Two batches with the same names in different orders never wait for each other, and lose nothing of each other.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn batches_in_different_orders_do_not_deadlock() {
    let server = Mariadb::migrated();
    let (one, other) = (backend(&server.url("")).await, backend(&server.url("")).await);
    let mut grants = Vec::new();
    for i in 0..40 {
        grants.push(take(&one, &claim(&format!("batch {i}"), TTL)).await);
    }
    let extend = |by: Arc<dyn Backend>, grants: Vec<Grant>| {
        tokio::spawn(async move {
            for round in 0..40 {
                let ttl = TTL + Duration::from_secs(round);
                for answer in by.extend(&grants.iter().collect::<Vec<_>>(), ttl).await {
                    let extended =
                        matches!(&answer, Ok(Extension::Extended { ttl: Some(left), .. }) if *left >= ttl);
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
    // A row of another is left alone, and one that is gone is told.
    let before = server.sql("SELECT CONVERT(state USING utf8mb4) FROM cotter_locks WHERE name = 'batch 0'");
    one.release(&grants[1].claim, Leave::used(1)).await.unwrap();
    let stranger = Grant::new(claim("batch 0", TTL), 1, clock().now());
    let answers = one.extend(&[&stranger, &grants[1], &grants[2]], TTL * 2).await;
    assert!(
        matches!(answers[0], Ok(Extension::Lost(_))) && matches!(answers[1], Ok(Extension::Lost(_))),
        "{answers:?}"
    );
    assert!(matches!(answers[2], Ok(Extension::Extended { .. })), "{answers:?}");
    assert_eq!(
        server.sql("SELECT CONVERT(state USING utf8mb4) FROM cotter_locks WHERE name = 'batch 0'"),
        before
    );
    for grant in &grants {
        one.release(&grant.claim, Leave::used(1)).await.unwrap();
    }
}
