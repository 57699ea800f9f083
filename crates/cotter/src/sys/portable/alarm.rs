//! An alarm made of the runtime's sleeps.
//!
//! On some systems those sleeps stand still while the machine is suspended. They are therefore short, and after each of
//! them the boot clock is asked again: a moment that passed meanwhile is noticed soon after the machine wakes up.

use super::clock::boot_nanos;
use std::io::Result;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::Notify;

/// The longest sleep without a look at the boot clock.
const SLICE: Duration = Duration::from_millis(250);
/// No moment is set.
const UNSET: u64 = u64::MAX;

/// Wakes one task at one moment of the boot clock.
#[derive(Debug)]
pub(crate) struct Alarm(Arc<Setting>);

/// The receiving end of an alarm.
#[derive(Debug)]
pub(crate) struct Ticks(Arc<Setting>);

#[derive(Debug)]
struct Setting {
    nanos: AtomicU64,
    changed: Notify,
}

impl Alarm {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self(Arc::new(Setting { nanos: AtomicU64::new(UNSET), changed: Notify::new() })))
    }

    /// Replaces the moment it was set for.
    pub(crate) fn set(&self, nanos: u64) {
        self.0.nanos.store(nanos, Ordering::SeqCst);
        self.0.changed.notify_one();
    }

    pub(crate) fn ticks(&self) -> Result<Ticks> {
        Ok(Ticks(self.0.clone()))
    }
}

impl Ticks {
    /// Completes when the alarm has gone off since the last call.
    pub(crate) async fn next(&mut self) -> Result<()> {
        loop {
            let at = self.0.nanos.load(Ordering::SeqCst);
            let left = Duration::from_nanos(at.saturating_sub(boot_nanos()));
            if left.is_zero()
                && self.0.nanos.compare_exchange(at, UNSET, Ordering::SeqCst, Ordering::SeqCst).is_ok()
            {
                return Ok(());
            }
            tokio::select! {
                () = self.0.changed.notified() => {}
                () = tokio::time::sleep(left.min(SLICE)), if at != UNSET => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_goes_off_once_at_the_moment_that_was_set_last() {
        let alarm = Alarm::new().unwrap();
        let mut ticks = alarm.ticks().unwrap();
        let set = |d: Duration| alarm.set(boot_nanos() + d.as_nanos() as u64);
        set(Duration::from_secs(1000));
        let start = boot_nanos();
        let (ticked, ()) = tokio::join!(ticks.next(), async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            set(Duration::from_millis(300));
        });
        ticked.unwrap();
        let waited = Duration::from_nanos(boot_nanos() - start);
        assert!(waited >= Duration::from_millis(300) && waited < Duration::from_secs(5), "{waited:?}");
        let again = tokio::time::timeout(Duration::from_millis(50), ticks.next());
        assert!(again.await.is_err(), "nothing is set any more");
        set(Duration::ZERO);
        ticks.next().await.unwrap();
    }
}
