//! Pauses and kills.

use super::Shared;
use super::slot::Slot;
use crate::clock::now;
use crate::history::What;
use rustix::process::Signal;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// How long it may take until a process has stopped.
const STOPPING: Duration = Duration::from_secs(2);
/// How long a holder is waited for, before a fault meets anybody.
const LOOKING: Duration = Duration::from_millis(500);
const TICK: Duration = Duration::from_millis(5);

/// Pauses and kills in turn, until the run is over. Returns how many were planned.
pub(super) async fn inject(shared: Rc<Shared>) -> usize {
    let mut over = shared.over.clone();
    let (mut planned, mut is_pause) = (0, true);
    loop {
        let rest = shared.bounds.ttl.mul_f64(rand::random_range(0.1..0.5));
        tokio::select! {
            _ = over.wait_for(|over| *over) => return planned,
            () = sleep(rest) => {}
        }
        let Some(slot) = victim(&shared).await else { continue };
        if is_pause {
            // A pause that the end of the run would shorten proves nothing.
            planned += usize::from(pause(&shared, &slot).await);
        } else {
            kill(&shared, &slot);
            planned += 1;
        }
        is_pause = !is_pause;
    }
}

/// A process that holds a lock, if there is one soon, and any other one otherwise.
async fn victim(shared: &Shared) -> Option<Rc<Slot>> {
    let any = |wanted: &dyn Fn(&Slot) -> bool| {
        let found: Vec<_> = shared.slots.iter().filter(|slot| slot.is_alive() && wanted(slot)).collect();
        (!found.is_empty()).then(|| found[rand::random_range(0..found.len())].clone())
    };
    let holder = async {
        loop {
            if let Some(slot) = any(&|slot| slot.holds.get()) {
                return slot;
            }
            sleep(TICK).await;
        }
    };
    timeout(LOOKING, holder).await.ok().or_else(|| any(&|_| true))
}

/// Stops a process for longer than the ttl. Whether it was to last that long.
async fn pause(shared: &Shared, slot: &Slot) -> bool {
    let (at, length) = (now(), shared.bounds.ttl.mul_f64(rand::random_range(1.3..2.0)));
    slot.is_paused.set(true);
    slot.signal(Signal::STOP);
    let stopped = timeout(STOPPING, async {
        while !slot.has_stopped() {
            sleep(TICK).await;
        }
    });
    if stopped.await.is_ok() {
        shared.log.record_at(at, slot.number, What::Paused);
    }
    let mut over = shared.over.clone();
    let is_whole = tokio::select! {
        _ = over.wait_for(|over| *over) => false,
        () = sleep(length) => true,
    };
    slot.signal(Signal::CONT);
    shared.log.record(slot.number, What::Continued);
    slot.is_paused.set(false);
    is_whole
}

/// Kills a process. What it has said and is not read yet does not count, so that its death is not before its words.
fn kill(shared: &Shared, slot: &Slot) {
    slot.killed.set(Some(now()));
    shared.log.silence(slot.number);
    slot.signal(Signal::KILL);
}
