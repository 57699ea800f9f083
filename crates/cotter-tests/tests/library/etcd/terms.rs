//! A leader that was paused revokes leases when it goes on, by their ends as it remembers them. Here somebody else does, after another
//! leader was chosen: what a former leader does in the moment before it learns of its successor is done by its successor.

use super::leases;
use cotter::backend::{Acquired, Backend, Extension, Grant, Leave, Until};
use cotter_testkit::bare::{backend, claim, client, take};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::{Etcd, Proxy};
use cotter_testkit::timing::{eventually, happens};
use std::sync::Arc;
use std::time::Duration;

const TTL: Duration = Duration::from_secs(6);
/// A holder renews its lock, and a waiter looks, more often than this.
const RENEWED: Duration = Duration::from_secs(3);

/// Lets a leader follow the one before it, waits until all processes may have noticed, and revokes all leases that were there
/// before.
async fn another_leader_and_the_end_of_all_earlier_leases(server: &Etcd) {
    let earlier = leases(server);
    server.move_leader();
    tokio::time::sleep(RENEWED).await;
    earlier.iter().for_each(|lease| _ = server.ctl(&["lease", "revoke", lease]));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn what_a_former_leader_revokes_ends_no_lock() {
    for dialect in ["", "dialect=concurrency"] {
        let server = Etcd::start(3);
        let (one, other) = (client(&server.url(dialect), TTL).await, client(&server.url(dialect), TTL).await);
        let guard = one.mutex("a").lock().await.unwrap();
        for _ in 0..2 {
            another_leader_and_the_end_of_all_earlier_leases(&server).await;
            let second = other.mutex("a").try_lock().await.unwrap();
            let text = format!("it was granted, and {:?} is left to its holder", guard.remaining());
            demand(second.is_none(), Kind::Overlap, text);
            demand(guard.is_valid(), Kind::Overlap, format!("{:?}", guard.check()));
        }
        let token = guard.token();
        guard.finish().await.unwrap();
        assert!(other.mutex("a").try_lock().await.unwrap().expect("it is free").token() > token);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn what_a_former_leader_revokes_ends_no_share() {
    let server = Etcd::start(3);
    let (one, other) = (client(&server.url(""), TTL).await, client(&server.url(""), TTL).await);
    let reader = one.rwlock("r").read().await.unwrap();
    let permit = one.semaphore("p", 1).acquire().await.unwrap();
    another_leader_and_the_end_of_all_earlier_leases(&server).await;
    let text = "a writer holds beside a reader";
    demand(other.rwlock("r").try_write().await.unwrap().is_none(), Kind::SharedWithExclusive, text);
    let text = "two have the one permit";
    demand(other.semaphore("p", 1).try_acquire().await.unwrap().is_none(), Kind::Overlap, text);
    reader.finish().await.unwrap();
    permit.finish().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn what_a_former_leader_revokes_costs_no_place() {
    let server = Etcd::start(3);
    let (one, other) = (backend(&server.url("")).await, backend(&server.url("")).await);
    let (held, waiting) = (claim("a", Duration::from_secs(60)), claim("a", TTL));
    take(&one, &held).await;
    let wait = tokio::spawn({
        let (other, waiting) = (other.clone(), waiting.clone());
        async move { other.acquire(&waiting, Until::Forever).await }
    });
    eventually("it is in the queue", || super::keys(&server, "cotter/lock/a/").len() == 2).await;
    let earlier = leases(&server);
    // That of those who wait.
    let own = |lease: &&String| server.ctl(&["lease", "timetolive", lease]).contains("TTL(2s)");
    let own = earlier.iter().find(own).expect("its lease");
    server.move_leader();
    tokio::time::sleep(Duration::from_secs(1)).await;
    server.ctl(&["lease", "revoke", own]);
    one.release(&held, Leave::used(1)).await.unwrap();
    let ended = happens("it is woken", wait).await.unwrap();
    let granted = ended.as_ref().is_ok_and(|answer| format!("{answer:?}").starts_with("Granted"));
    demand(granted, Kind::LostPlace, format!("{ended:?}"));
    other.release(&waiting, Leave::used(1)).await.unwrap();
}

async fn extend(backend: &Arc<dyn Backend>, grant: &Grant) -> cotter::Result<()> {
    match backend.extend(&[grant], TTL).await.remove(0)? {
        Extension::Extended { .. } => Ok(()),
        lost => {
            demand(false, Kind::NeedlessLoss, format!("its entry is there, and it is {lost:?}"));
            unreachable!("demanded")
        }
    }
}

/// Such a request may lie in the socket of a member that stands still.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn a_move_that_arrives_late_takes_no_entry_back() {
    let server = Etcd::start(3);
    let proxy = Proxy::start(server.port(0));
    let backend = backend(&format!("etcd://127.0.0.1:{}?timeout=1s", proxy.port())).await;
    let held = claim("late", TTL);
    let grant = take(&backend, &held).await;
    let lease = || server.lease_of("cotter/lock/late/").expect("its entry is there");
    let first = lease();
    server.move_leader();
    tokio::time::sleep(TTL / 6).await;
    let kept = proxy.keep_request(held.id.to_string().as_bytes());
    let error = extend(&backend, &grant).await.unwrap_err();
    assert!(error.is_retryable() && kept.is_caught() && lease() == first, "{error}");
    extend(&backend, &grant).await.unwrap();
    let second = lease();
    server.move_leader();
    tokio::time::sleep(TTL / 6).await;
    extend(&backend, &grant).await.unwrap();
    let third = lease();
    assert!(first != second && second != third, "{first}, {second}, {third}");
    kept.let_go();
    tokio::time::sleep(Duration::from_millis(300)).await;
    demand(lease() == third, Kind::Overlap, "an entry is on a lease that nobody keeps alive any more");
    extend(&backend, &grant).await.unwrap();
    backend.release(&held, Leave::used(1)).await.unwrap();
}

/// The entry of a waiter begins on the lease that was asked for and is moved to that of those who wait. If it is served while such a
/// move is under way, it must not stay where the move finds it.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn a_move_that_arrives_when_its_waiter_holds_has_no_effect() {
    let server = Etcd::start(1);
    let proxy = Proxy::start(server.port(0));
    let one = backend(&server.url("")).await;
    let other = backend(&format!("etcd://127.0.0.1:{}?timeout=1s", proxy.port())).await;
    let (held, waiting) = (claim("late", TTL), claim("late", Duration::from_secs(60)));
    take(&one, &held).await;
    let before = super::keys(&server, "cotter/lock/late/");
    let queued = other.acquire(&waiting, Until::InLine).await.unwrap();
    assert!(matches!(queued, Acquired::Queued), "{queued:?}");
    let entries = super::keys(&server, "cotter/lock/late/");
    let entry = entries.into_iter().find(|key| !before.contains(key)).expect("it is in the queue");
    // What a move depends on.
    let kept = proxy.keep_request(b"/evicted/");
    let wait = tokio::spawn({
        let (other, waiting) = (other.clone(), waiting.clone());
        async move { other.acquire(&waiting, Until::Forever).await }
    });
    eventually("it is being moved", || kept.is_caught()).await;
    // It is served as soon as it has given up the move.
    one.release(&held, Leave::used(1)).await.unwrap();
    let ended = happens("it is woken", wait).await.unwrap();
    assert!(format!("{ended:?}").contains("Granted"), "{ended:?}");
    let lease = || server.lease_of(&entry).expect("its entry is there");
    let granted = lease();
    kept.let_go();
    tokio::time::sleep(Duration::from_millis(300)).await;
    demand(lease() == granted, Kind::Overlap, "what is held is on a lease that is not known");
    other.release(&waiting, Leave::used(1)).await.unwrap();
}

/// The process does not know what such a request has done until it looks.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn a_move_whose_answer_is_lost_costs_no_lock() {
    let server = Etcd::start(1);
    let backend = backend(&server.url("")).await;
    let held = claim("moved", TTL);
    let grant = take(&backend, &held).await;
    let lease = || server.lease_of("cotter/lock/moved/").expect("its entry is there");
    let own = lease();
    let granted = server.ctl(&["lease", "grant", "60"]);
    let other = granted.split_whitespace().nth(1).expect("its id");
    let key = &super::keys(&server, "cotter/lock/moved/")[0];
    server.ctl(&["put", "--lease", other, key, &held.label]);
    assert_eq!(lease(), other);
    let error = extend(&backend, &grant).await.unwrap_err();
    assert!(error.is_retryable(), "{error}");
    extend(&backend, &grant).await.unwrap();
    assert_eq!(lease(), own);
    backend.release(&held, Leave::used(1)).await.unwrap();
}
