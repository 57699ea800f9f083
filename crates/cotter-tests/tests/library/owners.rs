//! One owner in several tasks: what it re-enters, and what it must not.

use cotter::{Client, Eviction, LossCause, Owner, memory};
use cotter_testkit::history::{Kind, demand};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

fn client(store: &memory::Store) -> Client {
    Client::builder().connect_to(store.clone()).wait().unwrap()
}

/// Only a lock that is held is re-entered.
#[test]
fn of_two_calls_that_wait_the_second_waits_for_the_guard_of_the_first() {
    let store = memory::Store::new();
    let (client, me) = (client(&store), Owner::new());
    let held = client.mutex("a").lock().wait().unwrap();
    let mutex = client.mutex("a").owner(&me);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let (mut first, mut second) = (std::pin::pin!(mutex.lock()), std::pin::pin!(mutex.lock()));
        let moment = Duration::from_millis(100);
        assert!(tokio::time::timeout(moment, &mut first).await.is_err());
        assert!(tokio::time::timeout(moment, &mut second).await.is_err());
        held.finish().await.unwrap();
        let guard = first.await.unwrap();
        assert!(tokio::time::timeout(moment, &mut second).await.is_err());
        assert_eq!(mutex.lock().await.unwrap().holds(), 2, "one that comes now re-enters");
        drop(guard);
        assert_eq!(second.await.unwrap().holds(), 1);
    });
}

/// Between the look for the hold and the re-entry, its last guard may be given back by another task of the same owner.
#[test]
fn a_lock_that_is_given_back_meanwhile_is_not_re_entered() {
    let store = memory::Store::new();
    let (client, other, me) = (client(&store), client(&store), Owner::new());
    let (inside, overlaps, over) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    let enter_and_leave = || {
        let mutex = client.mutex("a").owner(&me);
        while !over.load(Ordering::SeqCst) {
            let guard = mutex.lock().wait().expect("the owner has lost nothing");
            inside.fetch_add(1, Ordering::SeqCst);
            (0..20).for_each(|_| std::hint::spin_loop());
            inside.fetch_sub(1, Ordering::SeqCst);
            drop(guard);
        }
    };
    let look = || {
        let mutex = other.mutex("a");
        while !over.load(Ordering::SeqCst) {
            let Some(guard) = mutex.try_lock().wait().unwrap() else { continue };
            for _ in 0..50 {
                overlaps.fetch_add(inside.load(Ordering::SeqCst), Ordering::SeqCst);
            }
            drop(guard);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(enter_and_leave);
        scope.spawn(enter_and_leave);
        scope.spawn(look);
        std::thread::sleep(Duration::from_secs(2));
        over.store(true, Ordering::SeqCst);
    });
    assert_eq!(overlaps.into_inner(), 0, "two owners at once");
}

/// A client that has taken over a lock for its owner, from another one.
fn resumed(store: &memory::Store, me: &Owner) -> (Client, cotter::Guard) {
    let (one, other) = (client(store), client(store));
    let held = one.mutex("a").lock().wait().unwrap();
    let ticket = held.into_ticket(Duration::from_secs(60)).wait().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let guard = runtime.block_on(me.scope(async { other.resume(&ticket).await })).unwrap();
    (other, guard)
}

/// It waited for itself for ever.
#[test]
fn an_owner_takes_a_resumed_lock_again() {
    let (store, me) = (memory::Store::new(), Owner::new());
    let (client, guard) = resumed(&store, &me);
    let mutex = client.mutex("a").owner(&me);
    let again = mutex.try_lock().wait().unwrap();
    demand(again.is_some(), Kind::StuckWaiter, "it is not the owner's any more");
    assert_eq!(guard.holds(), 2);
    drop(again);
    let foreign = client.mutex("a").try_lock().wait().unwrap();
    demand(foreign.is_none(), Kind::Overlap, "somebody else has it, too");
    drop(guard);
    assert_eq!(mutex.lock().wait().unwrap().holds(), 1, "it is free");
}

/// As with every other lock: the guard that its owner still has may not know of the loss.
#[test]
fn an_owner_that_has_lost_a_resumed_lock_is_told_so() {
    let (store, me) = (memory::Store::new(), Owner::new());
    let (client, guard) = resumed(&store, &me);
    let evicted = client.admin().evict("a").wait().unwrap();
    assert!(matches!(evicted, Eviction::Evicted { token } if token == guard.token()), "{evicted:?}");
    while guard.is_valid() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let error = client.mutex("a").owner(&me).lock().wait().unwrap_err();
    assert_eq!(error.lost().map(|lost| lost.cause), Some(LossCause::Evicted), "{error}");
    drop(guard);
    assert_eq!(client.mutex("a").owner(&me).lock().wait().unwrap().holds(), 1);
}

/// They have asked the store already when the lock is passed to one of them.
#[test]
fn a_resumed_lock_goes_to_one_of_those_who_wait() {
    let (store, me) = (memory::Store::new(), Owner::new());
    let (client, guard) = resumed(&store, &me);
    let inside = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let guard = client.mutex("a").lock().wait().unwrap();
                let others = inside.fetch_add(1, Ordering::SeqCst);
                demand(others == 0, Kind::Overlap, "two have it");
                std::thread::sleep(Duration::from_millis(10));
                inside.fetch_sub(1, Ordering::SeqCst);
                drop(guard);
            });
        }
        std::thread::sleep(Duration::from_millis(100));
        drop(guard);
    });
}
