//! Permits, on a clock that the test moves.

use crate::steps::waiters;
use cotter::{Client, ErrorKind, Fence, LossCause, ManualClock, Mode, Owner, Released, Semaphore, memory};
use cotter_testkit::timing;
use cotter_testkit::timing::FAR;
use std::time::Duration;

const S: Duration = Duration::from_secs(1);

fn pair() -> (ManualClock, Client, Client) {
    let (clock, store) = (ManualClock::new(), memory::Store::new());
    let connect = || Client::builder().clock(clock.clone()).connect_to(store.clone()).wait().unwrap();
    (clock.clone(), connect(), connect())
}

/// The number of permits of "a" that could be had now.
fn free(client: &Client, of: u32) -> u32 {
    let one_more = || client.semaphore("a", of).try_acquire().wait().unwrap();
    let taken: Vec<_> = std::iter::from_fn(one_more).collect();
    taken.len() as u32
}

fn until(condition: impl Fn() -> bool) {
    timing::until("it comes about", condition);
}

fn kind(semaphore: &Semaphore) -> ErrorKind {
    semaphore.try_acquire().wait().expect_err("refused").kind()
}

#[test]
fn permits_are_taken_all_or_nothing_and_given_back_together() {
    let (_, one, other) = pair();
    let (ours, theirs) = (one.semaphore("a", 5), other.semaphore("a", 5));
    let three = ours.clone().take(3).acquire().wait().unwrap();
    assert_eq!(three.mode(), Mode::Permits { take: 3, of: 5 });
    assert!(theirs.clone().take(3).try_acquire().wait().unwrap().is_none());
    assert_eq!(free(&other, 5), 2, "the attempt took nothing");
    let two = theirs.take(2).try_acquire_for(FAR).wait().unwrap().expect("two are free");
    assert!(two.token() > three.token());
    assert!(ours.try_acquire().wait().unwrap().is_none());
    assert_eq!(three.release().wait().unwrap(), Released::Yes);
    assert_eq!(free(&one, 5), 3);
    two.finish().wait().unwrap();
    assert_eq!(free(&one, 5), 5);
}

#[test]
fn impossible_numbers_are_refused_before_the_store_is_asked() {
    let (_, client, _) = pair();
    // Whoever asks the store hears that the name is a lock.
    let _lock = client.mutex("a").lock().wait().unwrap();
    for (take, of) in [(0, 3), (4, 3), (1, 0), (0, 0)] {
        assert_eq!(kind(&client.semaphore("a", of).take(take)), ErrorKind::InvalidInput, "{take} of {of}");
    }
    assert_eq!(kind(&client.semaphore("a", 3)), ErrorKind::LimitMismatch);
    let zero = client.semaphore("a", 3).set_limit(0).wait().unwrap_err();
    assert_eq!(zero.kind(), ErrorKind::InvalidInput);
}

#[test]
fn a_permit_is_not_re_entered_and_a_lost_one_bars_nobody() {
    let (clock, one, _) = pair();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(Owner::new().scope(async {
        let short = one.semaphore("a", 2).lease(cotter::Lease::fixed(S));
        let first = short.acquire().await.unwrap();
        let second = short.acquire().await.unwrap();
        assert_eq!((first.holds(), second.holds()), (1, 1));
        assert!(short.try_acquire().await.unwrap().is_none(), "both are taken");
        clock.advance(S);
        assert_eq!(first.check().unwrap_err().cause, LossCause::Expired);
        drop(short.try_acquire().await.unwrap().expect("they have run out"));
    }));
}

#[test]
fn permits_of_a_holder_that_does_not_renew_come_back() {
    let (clock, one, other) = pair();
    let lost = one.semaphore("a", 3).take(2).lease(cotter::Lease::fixed(S)).acquire().wait().unwrap();
    assert_eq!(free(&other, 3), 1);
    clock.advance(S);
    assert_eq!(free(&other, 3), 3);
    assert_eq!(lost.release().wait().unwrap(), Released::AlreadyLost);
    assert_eq!(free(&other, 3), 3, "not given back a second time");
}

#[test]
fn a_waiter_that_wants_many_is_not_overtaken() {
    let (_, one, other) = pair();
    let (first, second) = (one.semaphore("a", 3).acquire().wait(), one.semaphore("a", 3).acquire().wait());
    let all = other.semaphore("a", 3).take(3);
    let waiting = std::thread::spawn(move || all.acquire().wait().unwrap());
    until(|| waiters(&one) == 1);
    assert_eq!(free(&one, 3), 0, "one is free, for the waiter");
    drop(first);
    assert_eq!(free(&one, 3), 0, "two are free, for the waiter");
    drop(second);
    drop(waiting.join().unwrap());
    assert_eq!(free(&one, 3), 3);
}

#[test]
fn an_abandoned_wait_takes_nothing() {
    let (_, one, other) = pair();
    let held = one.semaphore("a", 3).take(2).acquire().wait().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (wants, late) = (other.semaphore("a", 3).take(3), other.semaphore("a", 3));
    let waiting = runtime.spawn(async move { wants.acquire().await.map(drop) });
    until(|| waiters(&one) == 1);
    let behind = runtime.spawn(async move { late.acquire().await.map(drop) });
    waiting.abort();
    assert!(runtime.block_on(waiting).unwrap_err().is_cancelled());
    runtime.block_on(behind).unwrap().unwrap();
    assert_eq!(free(&one, 3), 1);
    held.finish().wait().unwrap();
    assert_eq!(free(&one, 3), 3);
}

#[test]
fn a_limit_that_others_do_not_share_is_refused_while_they_use_it() {
    let (_, one, other) = pair();
    let held = one.semaphore("a", 3).acquire().wait().unwrap();
    assert_eq!(kind(&other.semaphore("a", 4)), ErrorKind::LimitMismatch);
    assert_eq!(other.mutex("a").try_lock().wait().unwrap_err().kind(), ErrorKind::LimitMismatch);
    assert_eq!(other.rwlock("a").try_read().wait().unwrap_err().kind(), ErrorKind::LimitMismatch);
    held.finish().wait().unwrap();
    assert_eq!(free(&other, 4), 4);
}

/// All are tasks of one process, in one local queue.
#[test]
fn a_waiter_that_is_refused_takes_nobody_with_it() {
    let (_, one, other) = pair();
    let held = other.semaphore("a", 1).acquire().wait().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let mut right = one.semaphore("a", 1).acquire();
        let mut wrong = one.semaphore("a", 2).acquire();
        let mut last = one.semaphore("a", 1).acquire();
        for op in [&mut right, &mut wrong, &mut last] {
            let queued = tokio::time::timeout(Duration::ZERO, op).await;
            assert!(queued.is_err(), "it waits");
        }
        held.finish().await.unwrap();
        let in_use = right.await.unwrap();
        assert_eq!(wrong.await.unwrap_err().kind(), ErrorKind::LimitMismatch);
        in_use.finish().await.unwrap();
        last.await.expect("it says the right limit").finish().await.unwrap();
    });
}

#[test]
fn the_limit_rises_and_falls_under_its_users() {
    let (_, one, other) = pair();
    let (old, new) = (one.semaphore("a", 2), other.semaphore("a", 2));
    let held = old.clone().take(2).acquire().wait().unwrap();
    let patient = old.clone();
    let waiting = std::thread::spawn(move || patient.acquire().wait().unwrap());
    until(|| waiters(&other) == 1);
    let clone = new.clone();
    new.set_limit(3).wait().unwrap();
    let woken = waiting.join().unwrap();
    assert_eq!(kind(&old), ErrorKind::LimitMismatch);
    assert!(clone.try_acquire().wait().unwrap().is_none(), "clones say the new limit");
    new.set_limit(1).wait().unwrap();
    held.check().unwrap();
    woken.check().unwrap();
    drop(woken);
    assert!(new.try_acquire().wait().unwrap().is_none(), "two are held, of one");
    drop(held);
    drop(new.try_acquire().wait().unwrap().expect("one is free"));
    assert_eq!(free(&one, 2), 2, "not in use: whoever comes sets the limit");
}

/// All are tasks of one process, in one local queue: the store knows only the first of them.
#[test]
fn tasks_that_wait_go_on_under_the_limit_that_their_process_sets() {
    let (_, one, other) = pair();
    let held = other.semaphore("a", 2).take(2).acquire().wait().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let ours = one.semaphore("a", 2);
        let mut few = [(); 3].map(|()| ours.acquire());
        let (mut wrong, mut all) = (one.semaphore("a", 3).acquire(), ours.clone().take(2).acquire());
        for op in few.iter_mut().chain([&mut wrong, &mut all]) {
            let queued = tokio::time::timeout(Duration::ZERO, op).await;
            assert!(queued.is_err(), "it waits");
        }
        ours.set_limit(5).await.unwrap();
        let mut permits = Vec::new();
        for op in few {
            permits.push(op.await.expect("its place was kept"));
        }
        assert_eq!(wrong.await.unwrap_err().kind(), ErrorKind::LimitMismatch);
        ours.set_limit(1).await.unwrap();
        assert_eq!(all.await.unwrap_err().kind(), ErrorKind::LimitMismatch, "it wants more than there are");
        drop((permits, held));
        drop(ours.acquire().await.expect("free again"));
    });
}

#[test]
fn a_waiter_that_wants_more_than_a_smaller_limit_is_refused_and_blocks_nobody() {
    let (_, one, other) = pair();
    let held = one.semaphore("a", 4).take(3).acquire().wait().unwrap();
    let all = other.semaphore("a", 4).take(4);
    let waiting = std::thread::spawn(move || all.acquire().wait());
    until(|| waiters(&one) == 1);
    one.semaphore("a", 4).set_limit(3).wait().unwrap();
    assert_eq!(waiting.join().unwrap().unwrap_err().kind(), ErrorKind::LimitMismatch);
    held.finish().wait().unwrap();
    assert_eq!(free(&one, 3), 3);
}

#[tokio::test]
async fn work_runs_with_permits() {
    let (_, one, other) = tokio::task::spawn_blocking(pair).await.unwrap();
    let (ours, theirs) = (one.semaphore("a", 2).take(2), other.semaphore("a", 2));
    let busy =
        async |_: &cotter::Guard| theirs.try_with(async |_| panic!("it is busy")).await.unwrap().is_none();
    assert!(ours.with(busy).await.unwrap());
    assert_eq!(theirs.try_with_for(S, async |permit| permit.is_valid()).await.unwrap(), Some(true));
}

#[test]
fn a_fence_rejects_no_permit() {
    let (_, client, _) = pair();
    let (first, second) = (
        client.semaphore("a", 2).acquire().wait().unwrap(),
        client.semaphore("a", 2).acquire().wait().unwrap(),
    );
    let fence = Fence::new();
    fence.admit(&second).unwrap();
    fence.admit(&first).unwrap();
}
