//! A clock that moves only when a test moves it.

use super::{Clock, Idle, Moment, Sleep};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime};

/// A clock for tests. It moves only by [`advance`](Self::advance) and [`suspend`](Self::suspend).
///
/// A clone is another handle to the same clock.
///
/// ```
/// # use cotter::{Client, Lease, ManualClock};
/// # use std::time::Duration;
/// # fn main() -> cotter::Result<()> {
/// let clock = ManualClock::new();
/// let client = Client::builder().clock(clock.clone()).connect("memory:").wait()?;
/// let lease = Lease::fixed(Duration::from_secs(10));
/// let guard = client.mutex("orders").lease(lease).lock().wait()?;
/// clock.advance(Duration::from_secs(9));
/// assert!(guard.is_valid());
/// clock.advance(Duration::from_secs(1));
/// assert!(!guard.is_valid());
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct ManualClock(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    now: Moment,
    wall: SystemTime,
    next_id: u64,
    sleepers: BTreeMap<(Moment, u64), Waker>,
    engines: Vec<Idle>,
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::new()
    }
}

impl ManualClock {
    /// Creates a clock set to noon of 1 January 2026, UTC.
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(State {
            now: Moment::from_nanos(1_000_000_000),
            wall: SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_268_800),
            next_id: 0,
            sleepers: BTreeMap::new(),
            engines: Vec::new(),
        })))
    }

    /// Moves the time forward by `d`, step by step: everything that becomes due on the way happens at its own time.
    ///
    /// Returns when the engines on this clock have nothing left to do at the new time. Tasks of other runtimes are
    /// woken but not waited for. Must not be called from a task that an engine waits for.
    pub fn advance(&self, d: Duration) {
        let target = self.now() + d;
        self.settle();
        while let Some(step) = self.next_due(target) {
            self.move_to(step);
            self.settle();
        }
        self.move_to(target);
        self.settle();
    }

    /// Moves the time forward by `d` at once, like a machine that was suspended: everything that became due meanwhile
    /// happens late, at the new time.
    pub fn suspend(&self, d: Duration) {
        self.settle();
        self.move_to(self.now() + d);
        self.settle();
    }

    /// Sets the time of day, forward or back, and nothing else.
    pub fn set_wall(&self, wall: SystemTime) {
        self.lock().wall = wall;
    }

    fn next_due(&self, target: Moment) -> Option<Moment> {
        let state = self.lock();
        let (&(due, _), _) = state.sleepers.first_key_value()?;
        (due <= target).then(|| due.max(state.now))
    }

    fn move_to(&self, to: Moment) {
        let due = {
            let state = &mut *self.lock();
            state.wall += to.since(state.now);
            state.now = state.now.max(to);
            let later = state.sleepers.split_off(&(state.now + Duration::from_nanos(1), 0));
            std::mem::replace(&mut state.sleepers, later)
        };
        due.into_values().for_each(Waker::wake);
    }

    /// Waits for all engines: twice, because one of them may have given another something to do.
    fn settle(&self) {
        let engines = {
            let mut state = self.lock();
            state.engines.retain(|e| e.0.strong_count() > 0);
            state.engines.clone()
        };
        for _ in 0..if engines.len() > 1 { 2 } else { 1 } {
            engines.iter().for_each(Idle::wait);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        crate::sync::lock(&self.0)
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Moment {
        self.lock().now
    }

    fn wall(&self) -> SystemTime {
        self.lock().wall
    }

    fn sleep_until(&self, until: Moment) -> Sleep {
        Box::pin(ManualSleep { clock: self.clone(), until, id: None })
    }

    fn attach(&self, engine: Idle) {
        self.lock().engines.push(engine);
    }
}

struct ManualSleep {
    clock: ManualClock,
    until: Moment,
    id: Option<u64>,
}

impl Future for ManualSleep {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let clock = self.clock.clone();
        let mut state = clock.lock();
        if state.now >= self.until {
            return Poll::Ready(());
        }
        let id = self.id.unwrap_or_else(|| {
            state.next_id += 1;
            state.next_id
        });
        self.id = Some(id);
        state.sleepers.insert((self.until, id), cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for ManualSleep {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.clock.lock().sleepers.remove(&(self.until, id));
        }
    }
}
