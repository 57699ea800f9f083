//! One owner in several tasks: what it re-enters, and what it must not.

use cotter::{Client, Owner, memory};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

fn client(store: &memory::Store) -> Client {
    Client::builder().backend(store.clone()).connect().wait().unwrap()
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
