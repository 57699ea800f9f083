//! A periodic look at the files that are locked: are they still at their paths?
//!
//! Nothing tells when a lock file is deleted or replaced, except an inotify instance, and a user may have few of those.

use super::holds::{Hold, Holds};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::time::sleep;

/// A lost lock file is noticed within this time.
const PERIOD: Duration = Duration::from_secs(1);
/// Where looking takes long, the pauses are this many times as long.
const PAUSE_FACTOR: u32 = 50;
/// Files are touched in one round of this many.
const TOUCH_ROUNDS: u32 = 1800;

/// The task that looks at the files of one client. It sleeps while nothing is held.
#[derive(Debug)]
pub(super) struct Rechecks(Arc<Sleep>);

#[derive(Debug)]
struct Sleep {
    asleep: AtomicBool,
    wake: Notify,
}

impl Rechecks {
    /// Starts it on the runtime of the caller.
    pub(super) fn start<H: Hold>(holds: &Arc<Holds<H>>) -> Self {
        let task = Arc::new(Sleep { asleep: AtomicBool::new(true), wake: Notify::new() });
        tokio::spawn(run(Arc::downgrade(holds), task.clone()));
        Self(task)
    }

    /// Something is held from now on.
    pub(super) fn begin(&self) {
        if self.0.asleep.swap(false, Ordering::SeqCst) {
            self.0.wake.notify_one();
        }
    }
}

impl Drop for Rechecks {
    fn drop(&mut self) {
        // The task sees that its client has gone, and ends.
        self.0.wake.notify_one();
    }
}

async fn run<H: Hold>(holds: Weak<Holds<H>>, task: Arc<Sleep>) {
    let mut pause = PERIOD;
    for round in 1_u32.. {
        if holds.upgrade().is_some_and(|holds| holds.is_empty()) {
            task.asleep.store(true, Ordering::SeqCst);
            // A grant that came before that has woken nobody.
            if holds.upgrade().is_some_and(|holds| holds.is_empty()) {
                task.wake.notified().await;
            }
            task.asleep.store(false, Ordering::SeqCst);
        }
        sleep(pause).await;
        let Some(holds) = holds.upgrade() else { return };
        let start = Instant::now();
        holds.check();
        if round % TOUCH_ROUNDS == 0 {
            holds.touch();
        }
        pause = PERIOD.max(start.elapsed() * PAUSE_FACTOR);
    }
}
