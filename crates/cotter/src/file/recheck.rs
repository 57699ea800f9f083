//! A look, now and then, at the files of what is held: do they still stand in their places?
//!
//! Nothing tells when a lock file is deleted or replaced, but for an inotify instance, and those are few.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::time::sleep;

/// A lost lock file is noticed within this time.
const PERIOD: Duration = Duration::from_secs(1);
/// Looking takes at most one part in so many of the time.
const SHARE: u32 = 50;
/// How many rounds there are between two touches.
const TOUCH: u32 = 1800;

/// What is looked at.
pub(super) trait Rounded: Send + Sync + 'static {
    /// Whether anything is held.
    fn is_held(&self) -> bool;

    /// Tells those whose file does not stand in its place any more.
    fn look(&self);

    /// Keeps whoever clears away old files from the files that are held.
    fn touch(&self);
}

/// One task, asleep while nothing is held.
#[derive(Debug)]
pub(super) struct Rounds(Arc<Rest>);

#[derive(Debug)]
struct Rest {
    rests: AtomicBool,
    wake: Notify,
}

impl Rounds {
    /// On the runtime that calls.
    pub(super) fn start<T: Rounded>(held: &Arc<T>) -> Self {
        let rest = Arc::new(Rest { rests: AtomicBool::new(true), wake: Notify::new() });
        tokio::spawn(go(Arc::downgrade(held), rest.clone()));
        Self(rest)
    }

    /// Something is held from now on.
    pub(super) fn begin(&self) {
        if self.0.rests.swap(false, Ordering::SeqCst) {
            self.0.wake.notify_one();
        }
    }
}

impl Drop for Rounds {
    fn drop(&mut self) {
        // It sees that there is nothing left to look at.
        self.0.wake.notify_one();
    }
}

async fn go<T: Rounded>(held: Weak<T>, rest: Arc<Rest>) {
    let mut pause = PERIOD;
    for round in 1_u32.. {
        if held.upgrade().is_some_and(|held| !held.is_held()) {
            rest.rests.store(true, Ordering::SeqCst);
            // What came before that has woken nobody.
            if held.upgrade().is_some_and(|held| !held.is_held()) {
                rest.wake.notified().await;
            }
            rest.rests.store(false, Ordering::SeqCst);
        }
        sleep(pause).await;
        let Some(held) = held.upgrade() else { return };
        let start = Instant::now();
        held.look();
        if round % TOUCH == 0 {
            held.touch();
        }
        pause = PERIOD.max(start.elapsed() * SHARE);
    }
}
