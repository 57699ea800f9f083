//! Waiting and its order.

use super::fixture::{Fixture, SOON, TTL, WHILE, give, is_busy, poll_once, settle, take, wait_in_task};
use crate::backend::{Acquired, Backend, Claim, Extension, Leave, Until};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

pub(super) async fn waiter_gets_it_after_release(f: &Fixture) {
    let (one, other) = (f.connect().await, f.connect().await);
    let (held, wanted) = (f.claim("a"), f.claim("a"));
    let first = take(&one, &held).await;
    let waiting = wait_in_task(&other, &wanted, f.soon());
    f.queued(&one, 1).await;
    assert!(!waiting.is_finished());
    give(&one, &held).await;
    let second = waiting.await.expect("no panic").expect("granted in time");
    assert!(second.number > first.number);
    is_busy(&one, &f.claim("a")).await;
}

pub(super) async fn order_of_arrival(f: &Fixture) {
    let holder = f.connect().await;
    if !holder.info().capabilities.ordered {
        return;
    }
    let held = f.claim("a");
    let mut last = take(&holder, &held).await.number;
    let mut waiting = Vec::new();
    for _ in 0..5 {
        let (backend, claim) = (f.connect().await, f.claim("a"));
        waiting.push((backend.clone(), claim.clone(), wait_in_task(&backend, &claim, f.soon())));
        f.queued(&holder, waiting.len()).await;
    }
    give(&holder, &held).await;
    for (backend, claim, task) in waiting {
        let grant = task.await.expect("no panic").expect("granted in time");
        assert!(grant.number > last, "tokens show the order");
        last = grant.number;
        give(&backend, &claim).await;
    }
}

pub(super) async fn newcomer_does_not_pass_a_waiter(f: &Fixture) {
    let (one, other) = (f.connect().await, f.connect().await);
    if !one.info().capabilities.ordered {
        return;
    }
    let (held, wanted) = (f.claim("a"), f.claim("a"));
    take(&one, &held).await;
    let waiting = wait_in_task(&other, &wanted, f.soon());
    f.queued(&one, 1).await;
    give(&one, &held).await;
    // The waiter's task has not run since: if the newcomer gets the lock now, it has overtaken the waiter.
    is_busy(&one, &f.claim("a")).await;
    assert!(waiting.await.expect("no panic").is_some());
}

pub(super) async fn wait_ends_in_time(f: &Fixture) {
    let (one, other) = (f.connect().await, f.connect().await);
    let held = f.claim("a");
    take(&one, &held).await;
    let (end, wanted) = (Instant::now() + WHILE, f.claim("a"));
    let waiting = other.acquire(&wanted, f.within(WHILE));
    let answer = tokio::time::timeout(SOON, waiting).await.expect("it ends").expect("answers").granted();
    assert!(answer.is_none());
    assert!(Instant::now() >= end, "it has ended before its time");
    give(&one, &held).await;
    take(&one, &f.claim("a")).await;
}

pub(super) async fn dropped_waiter_leaves_the_queue(f: &Fixture) {
    let (one, other) = (f.connect().await, f.connect().await);
    let (held, wanted) = (f.claim("a"), f.claim("a"));
    take(&one, &held).await;
    let waiting = wait_in_task(&other, &wanted, Until::Forever);
    f.queued(&one, 1).await;
    waiting.abort();
    let _ = waiting.await;
    other.release(&wanted, Leave::default()).await.expect("answers");
    give(&one, &held).await;
    take(&one, &f.claim("a")).await;
}

pub(super) async fn dropped_waiter_in_the_middle_blocks_nobody(f: &Fixture) {
    let backends = [f.connect().await, f.connect().await, f.connect().await];
    let held = f.claim("a");
    take(&backends[0], &held).await;
    let (middle, last) = (f.claim("a"), f.claim("a"));
    let gone = wait_in_task(&backends[1], &middle, Until::Forever);
    f.queued(&backends[0], 1).await;
    let stays = wait_in_task(&backends[2], &last, f.soon());
    f.queued(&backends[0], 2).await;
    gone.abort();
    let _ = gone.await;
    backends[1].release(&middle, Leave::default()).await.expect("answers");
    give(&backends[0], &held).await;
    assert!(stays.await.expect("no panic").is_some());
}

/// A claim whose first request has put it in line is served before those that came later.
pub(super) async fn a_place_in_line_waits_for_its_claim(f: &Fixture) {
    let [one, other, third] = [f.connect().await, f.connect().await, f.connect().await];
    let held = f.claim("a");
    take(&one, &held).await;
    let Some(wanted) = in_line(f, &other).await else { return };
    f.queued(&one, 1).await;
    let later = f.claim("a");
    let waiting = wait_in_task(&third, &later, f.soon());
    f.queued(&one, 2).await;
    give(&one, &held).await;
    let answer = other.acquire(&wanted, f.soon()).await.expect("answers");
    let first = answer.granted().expect("granted in time");
    give(&other, &wanted).await;
    let second = waiting.await.expect("no panic").expect("granted in time");
    assert!(second.number > first.number, "{} before {}", second.number, first.number);
}

pub(super) async fn a_place_in_line_can_be_given_up(f: &Fixture) {
    let (one, other) = (f.connect().await, f.connect().await);
    let held = f.claim("a");
    take(&one, &held).await;
    let Some(wanted) = in_line(f, &other).await else { return };
    other.release(&wanted, Leave::default()).await.expect("answers");
    give(&one, &held).await;
    take(&one, &f.claim("a")).await;
}

/// A claim that the first request has put in line; `None` if the store does not do so.
async fn in_line(f: &Fixture, backend: &Arc<dyn Backend>) -> Option<Claim> {
    if !backend.info().capabilities.in_line {
        return None;
    }
    // Some stores do so once notifications arrive, which somebody has to wait for.
    let busy = wait_in_task(backend, &f.claim("a"), f.within(WHILE));
    let end = Instant::now() + SOON;
    assert!(busy.await.expect("no panic").is_none());
    loop {
        let wanted = f.claim("a");
        match backend.acquire(&wanted, Until::InLine).await.expect("answers") {
            Acquired::Queued => return Some(wanted),
            answer => assert!(Instant::now() < end, "{answer:?}"),
        }
        // It was busy, and has left nothing behind.
        tokio::time::sleep(WHILE).await;
    }
}

/// Rules 1 to 3: at whatever poll the future is dropped, a release undoes it.
pub(super) async fn acquire_dropped_at_any_poll_can_be_undone(f: &Fixture) {
    let (one, other) = (f.connect().await, f.connect().await);
    for free in [true, false] {
        for polls in 0..6 {
            let held = f.claim("a");
            take(&one, &held).await;
            let wanted = f.claim("a");
            let mut asking = Box::pin(other.acquire(&wanted, Until::Forever));
            for poll in 0..polls {
                if poll == 2 && free {
                    give(&one, &held).await;
                }
                if poll_once(&mut asking).await {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            drop(asking);
            other.release(&wanted, Leave::default()).await.expect("answers");
            one.release(&held, Leave { used: 1, keep_for: None }).await.expect("answers");
            let next = f.claim("a");
            let answer = one.acquire(&next, f.soon()).await.expect("answers").granted();
            assert!(answer.is_some(), "left behind after {polls} polls");
            give(&one, &next).await;
        }
    }
}

pub(super) async fn queued_claim_can_be_released(f: &Fixture) {
    let (one, other) = (f.connect().await, f.connect().await);
    let (held, wanted) = (f.claim("a"), f.claim("a"));
    take(&one, &held).await;
    let mut asking = Box::pin(other.acquire(&wanted, Until::Forever));
    poll_once(&mut asking).await;
    settle().await;
    drop(asking);
    other.release(&wanted, Leave::default()).await.expect("answers");
    give(&one, &held).await;
    take(&one, &f.claim("a")).await;
}

/// Several tasks that acquire again immediately after each release: with or without a queue, none starves.
pub(super) async fn contention_gives_everybody_a_turn(f: &Fixture) {
    const TAKERS: usize = 4;
    const TURNS: usize = 5;
    let (served, held) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let mut takers = Vec::new();
    for _ in 0..TAKERS {
        let (backend, claim) = (f.connect().await, f.claim("a"));
        let (served, held) = (served.clone(), held.clone());
        takers.push(tokio::spawn(async move {
            let (end, mut turns) = (Instant::now() + TTL, 0);
            while served.load(Ordering::SeqCst) < TAKERS && Instant::now() < end {
                let claim = claim.renewed();
                let answer = backend.acquire(&claim, Until::Forever).await.expect("answers").granted();
                let grant = answer.expect("it waits for ever");
                // A grant by message may be a short one, and be over before a busy machine comes to this task.
                if !matches!(backend.extend(&[&grant], TTL).await[..], [Ok(Extension::Extended { .. })]) {
                    backend.release(&claim, Leave::default()).await.expect("answers");
                    continue;
                }
                assert!(!held.swap(true, Ordering::SeqCst), "two hold it at once");
                tokio::time::sleep(Duration::from_millis(3)).await;
                held.store(false, Ordering::SeqCst);
                give(&backend, &claim).await;
                turns += 1;
                if turns == TURNS {
                    served.fetch_add(1, Ordering::SeqCst);
                }
            }
            turns
        }));
    }
    for taker in takers {
        let turns = taker.await.expect("no panic");
        assert!(turns >= TURNS, "one of {TAKERS} tasks got the lock only {turns} times");
    }
}
