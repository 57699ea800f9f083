//! What a waiter that gives no sign of life costs the one behind it.
//!
//! A backend in this process cannot be killed or stopped, so these cases need a waiter in another one
//! ([`Fixture::waiting_elsewhere`](super::Fixture::waiting_elsewhere)).

use super::fixture::{Fixture, SOON, WHILE, give, take, wait_in_task};
use crate::backend::{Backend, Grant};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

/// A waiter in another process.
pub trait Waiter {
    /// Gives it this fate. Returns false if that cannot be done to it.
    fn suffer(&mut self, fate: Fate) -> bool;

    /// Ends its fate, unless it was killed.
    fn recover(&mut self);

    /// Returns true if it has got the lock.
    fn holds(&self) -> bool;

    /// Called when the lock is released. The result is called when the next waiter has got it, and judges the time in between.
    fn free(&self, fate: Fate) -> Box<dyn FnOnce()>;
}

/// What a waiter suffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It was killed.
    Killed,
    /// It stands still, and its connections stay.
    Stopped,
    /// It runs, and its connections carry nothing.
    CutOff,
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Killed => "killed",
            Self::Stopped => "stopped",
            Self::CutOff => "cut off",
        })
    }
}

pub(super) async fn a_killed_waiter_is_passed_over(f: &Fixture) {
    let Some(Passed { other, next, .. }) = pass_over(f, Fate::Killed).await else { return };
    give(&other, &next.claim).await;
}

pub(super) async fn a_stopped_waiter_is_passed_over_and_queues_again(f: &Fixture) {
    it_queues_again(f, Fate::Stopped).await;
}

pub(super) async fn a_waiter_that_is_cut_off_is_passed_over_and_queues_again(f: &Fixture) {
    it_queues_again(f, Fate::CutOff).await;
}

/// It does not take itself for the holder, and is served after the one that has passed it.
async fn it_queues_again(f: &Fixture, fate: Fate) {
    let Some(Passed { mut waiter, other, next }) = pass_over(f, fate).await else { return };
    waiter.recover();
    tokio::time::sleep(WHILE * 5).await;
    assert!(
        !waiter.holds(),
        "violation[overlap]: it was {fate}, was passed over, and takes itself for the holder"
    );
    give(&other, &next.claim).await;
    let until = f.now() + SOON * 2;
    while !waiter.holds() {
        assert!(f.now() < until, "violation[stuck-waiter]: it was {fate}, and is not served any more");
        tokio::time::sleep(WHILE).await;
    }
}

/// A waiter that was passed over, and the one that was served instead.
struct Passed {
    waiter: Box<dyn Waiter>,
    other: Arc<dyn Backend>,
    next: Grant,
}

/// A holder, a waiter, and the one behind it, whose wait begins when the holder gives the lock back. `None` if the fixture has no
/// such waiters.
async fn pass_over(f: &Fixture, fate: Fate) -> Option<Passed> {
    let (one, other) = (f.connect().await, f.connect().await);
    let held = f.claim("a");
    take(&one, &held).await;
    let mut waiter = f.wait_elsewhere("a")?;
    let waiting: JoinHandle<Option<Grant>> = wait_in_task(&other, &f.claim("a"), f.within(SOON * 3));
    f.queued(&other, 2).await;
    // As long as it takes to be a waiter like any other.
    tokio::time::sleep(Duration::from_millis(300)).await;
    if !waiter.suffer(fate) {
        waiting.abort();
        return None;
    }
    // What it has asked for just before is answered by then: of a busy server, it could be the next holder otherwise.
    tokio::time::sleep(Duration::from_millis(300)).await;
    give(&one, &held).await;
    let has_got_it = waiter.free(fate);
    let next = waiting.await.expect("no panic").expect("violation[stuck-waiter]: the next one is served");
    has_got_it();
    Some(Passed { waiter, other, next })
}
