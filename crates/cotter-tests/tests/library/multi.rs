//! Several locks at once: all or none, in one order, and lost as one.

use cotter::{Client, ErrorKind, Lease, LossCause, ManualClock, Mutex, Released, memory, multi};
use cotter_testkit::faulty::{Faults, Faulty, Plan};
use cotter_testkit::timing::until;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

const S: Duration = Duration::from_secs(1);
const SOON: Duration = Duration::from_secs(20);

fn client(store: &memory::Store, clock: &ManualClock) -> Client {
    let client = Client::builder().clock(clock.clone()).lease(Lease::fixed(10 * S));
    client.connect_to(store.clone()).wait().unwrap()
}

fn free(mutex: &Mutex) -> bool {
    mutex.try_lock().wait().unwrap().is_some()
}

/// Sixteen tasks that lock the same mutexes, half of them in the other order.
pub(crate) fn sixteen_tasks_in_both_orders(mutexes: impl Fn(usize) -> Vec<Mutex> + Sync) {
    const TASKS: usize = 16;
    const EACH: usize = 20;
    let (inside, done) = (AtomicU32::new(0), AtomicU32::new(0));
    let start = Barrier::new(TASKS);
    std::thread::scope(|scope| {
        for task in 0..TASKS {
            let (inside, done, start, mutexes) = (&inside, &done, &start, &mutexes);
            scope.spawn(move || {
                let mut mine = mutexes(task);
                if task % 2 == 1 {
                    mine.reverse();
                }
                start.wait();
                for round in 0..EACH {
                    let all = multi(&mine);
                    let guard = if round % 3 == 0 {
                        all.try_lock_for(SOON).wait().unwrap().expect("violation[stuck-waiter]: a deadlock")
                    } else {
                        all.lock().wait().unwrap()
                    };
                    assert_eq!(guard.guards().len(), mine.len());
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "violation[overlap]: not alone");
                    inside.fetch_sub(1, Ordering::SeqCst);
                    guard.finish().wait().unwrap();
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(done.into_inner() as usize, TASKS * EACH);
}

#[test]
fn sixteen_tasks_lock_two_stores_in_both_orders() {
    let stores = [memory::Store::new(), memory::Store::new()];
    let clients: Vec<_> = (0..4)
        .map(|_| stores.clone().map(|store| Client::builder().connect_to(store).wait().unwrap()))
        .collect();
    sixteen_tasks_in_both_orders(|task| {
        let [one, other] = &clients[task % clients.len()];
        vec![one.mutex("b"), one.mutex("a"), other.mutex("a")]
    });
}

#[test]
fn none_is_held_when_one_is_busy() {
    let (clock, stores) = (ManualClock::new(), [memory::Store::new(), memory::Store::new()]);
    let ([one, other], holder) = (stores.each_ref().map(|s| client(s, &clock)), client(&stores[1], &clock));
    let (a, b, c) = (one.mutex("a"), one.mutex("b"), other.mutex("c"));
    for busy in [&a, &b, &c] {
        let held = busy.lock().wait().unwrap();
        assert!(multi([&c, &b, &a]).try_lock().wait().unwrap().is_none());
        assert!(multi([&c, &b, &a]).try_lock_for(Duration::ZERO).wait().unwrap().is_none());
        for mutex in [&a, &b, &c].into_iter().filter(|m| !std::ptr::eq(*m, busy)) {
            assert!(free(mutex), "violation[left-behind]: {mutex:?} is held although another was busy");
        }
        held.finish().wait().unwrap();
    }
    let all = multi([&c, &b, &a]).try_lock().wait().unwrap().expect("all are free");
    assert!(holder.mutex("c").try_lock().wait().unwrap().is_none());
    assert_eq!(all.release().wait().unwrap(), Released::Yes);
    // Dropping does the same, in the background.
    let all = multi([&a, &c]).lock().wait().unwrap();
    drop(all);
    assert!(free(&a) && free(&c));
}

#[test]
fn a_dropped_call_leaves_nothing_behind() {
    let (clock, store) = (ManualClock::new(), memory::Store::new());
    let (one, other) = (client(&store, &clock), client(&store, &clock));
    let (a, b) = (one.mutex("a"), one.mutex("b"));
    let held = other.mutex("b").lock().wait().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let mut locking = multi([&a, &b]).lock();
        for _ in 0..3 {
            let once = std::future::poll_fn(|cx| {
                std::task::Poll::Ready(std::pin::Pin::new(&mut locking).poll(cx).is_ready())
            });
            assert!(!once.await);
        }
        assert!(other.mutex("a").try_lock().await.unwrap().is_none(), "it holds the first of them");
    });
    assert!(free(&a), "violation[left-behind]: the first of them is held");
    held.finish().wait().unwrap();
    // The place of the dropped one is left in the background.
    drop(b.try_lock_for(SOON).wait().unwrap().expect("violation[left-behind]: the second one is held"));
}

#[test]
fn a_loss_of_one_is_a_loss_of_all() {
    let (clock, stores) = (ManualClock::new(), [memory::Store::new(), memory::Store::new()]);
    let [one, other] = stores.each_ref().map(|s| client(s, &clock));
    let short = other.mutex("b").lease(Lease::fixed(3 * S));
    let guard = multi([&one.mutex("a"), &short]).lock().wait().unwrap();
    let left = guard.remaining().expect("leases end");
    assert!(left <= 3 * S && left > 2 * S, "{left:?}");
    let (lost, expiring) = (guard.lost(), guard.expiring(S));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    clock.advance(2 * S);
    assert!(guard.is_valid() && guard.check().is_ok());
    assert_eq!(runtime.block_on(expiring).expect("it is still held").name.as_str(), "b");
    clock.advance(S);
    assert_eq!(guard.check().unwrap_err().name.as_str(), "b");
    assert_eq!(guard.remaining(), Some(Duration::ZERO));
    let lost = runtime.block_on(lost);
    assert_eq!((lost.name.as_str(), lost.cause), ("b", LossCause::Expired));
    // Nobody else starts beside work that may not have stopped yet.
    assert!(!free(&client(&stores[0], &clock).mutex("a")));
    assert_eq!(guard.finish().wait().unwrap_err().kind(), ErrorKind::Lost);
    assert!(free(&one.mutex("a")) && free(&short));
}

#[test]
fn one_that_is_lost_while_another_is_waited_for_ends_the_wait() {
    let (clock, store) = (ManualClock::new(), memory::Store::new());
    let (one, other) = (client(&store, &clock), client(&store, &clock));
    let held = other.mutex("b").lease(Lease::fixed(60 * S)).lock().wait().unwrap();
    let (a, b) = (one.mutex("a"), one.mutex("b"));
    let waiting = std::thread::spawn({
        let all = multi([&a, &b]);
        move || all.lock().wait().unwrap_err()
    });
    until("it waits", || other.holder("b").wait().unwrap().and_then(|r| r.waiters) == Some(1));
    clock.advance(11 * S);
    let error = waiting.join().unwrap();
    assert_eq!((error.kind(), error.lost().unwrap().name.as_str()), (ErrorKind::Lost, "a"));
    assert!(free(&a));
    held.finish().wait().unwrap();
}

#[test]
fn what_cannot_be_locked_together_is_refused() {
    let store = memory::Store::new();
    let connect = || Client::builder().connect_to(store.clone()).wait().unwrap();
    let (one, other) = (connect(), connect());
    let (a, same) = (one.mutex("a"), other.mutex("a"));
    let refused = |all: cotter::Multi| all.lock().wait().unwrap_err().kind();
    assert_eq!(refused(multi([&a, &same])), ErrorKind::InvalidInput);
    assert_eq!(refused(multi([])), ErrorKind::InvalidInput);
    assert_eq!(refused(multi([&a, &one.mutex("")])), ErrorKind::InvalidName);
    // Another store may have the same name.
    let elsewhere = Client::connect("memory:").wait().unwrap();
    let work = async |guard: &cotter::MultiGuard| guard.guards().len();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let held = runtime.block_on(multi([&a, &elsewhere.mutex("a")]).with(work)).unwrap();
    assert_eq!(held, 2);
    assert!(free(&a));
}

/// Whichever of the two comes first in the order of the locks.
#[test]
fn a_loss_does_not_hide_behind_another_error() {
    for down in 0..2 {
        let (clock, faults) = (ManualClock::new(), Faults::seeded(0));
        let connect = |n| {
            let client = Client::builder().clock(clock.clone());
            let connecting = if n == down {
                let store = Faulty::new(memory::Store::new(), &faults);
                client.lease(Lease::fixed(3600 * S)).connect_to(store)
            } else {
                client.lease(Lease::fixed(2 * S)).connect_to(memory::Store::new())
            };
            connecting.wait().unwrap()
        };
        let mutexes = [connect(0), connect(1)].map(|client| client.mutex("a"));
        let guard = multi(&mutexes).lock().wait().unwrap();
        clock.advance(3 * S);
        faults.set(Plan { down: true, ..Plan::default() });
        let finish = std::thread::spawn(move || guard.finish().wait());
        // The release is repeated until the client gives up.
        while !finish.is_finished() {
            clock.advance(S);
            std::thread::sleep(S / 1000);
        }
        let error = finish.join().unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Lost, "{error}");
    }
}
