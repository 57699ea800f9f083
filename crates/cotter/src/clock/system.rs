//! The system's boot clock, and sleeps on it by one alarm.

use super::{Clock, Moment, Sleep};
use crate::sync::lock;
use crate::sys::Identity;
use crate::sys::alarm::{Alarm, Ticks};
use crate::sys::clock::boot_nanos;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime};

/// The boot clock of the system. Sleeps are driven by the engine's thread, never by the runtime of a caller.
#[derive(Debug, Clone)]
pub(crate) struct SystemClock(pub(crate) Arc<Timers>);

impl Clock for SystemClock {
    fn now(&self) -> Moment {
        boot_now()
    }

    fn wall(&self) -> SystemTime {
        SystemTime::now()
    }

    fn sleep_until(&self, until: Moment) -> Sleep {
        Box::pin(TimerSleep { timers: self.0.clone(), until, id: None, alone: None })
    }
}

fn boot_now() -> Moment {
    Moment::from_nanos(boot_nanos())
}

/// All sleeps on the boot clock, in order, and the one alarm that ends them.
#[derive(Debug)]
pub(crate) struct Timers {
    /// A fork shares the alarm with it. Who sets it there takes it away from the parent.
    process: Identity,
    alarm: Alarm,
    queue: Mutex<Queue>,
}

#[derive(Debug)]
struct Queue {
    next_id: u64,
    sleepers: BTreeMap<(Moment, u64), Waker>,
    armed: Moment,
}

impl Timers {
    pub(crate) fn new() -> std::io::Result<Self> {
        let queue = Queue { next_id: 0, sleepers: BTreeMap::new(), armed: Moment::NEVER };
        Ok(Self { process: Identity::own(), alarm: Alarm::new()?, queue: Mutex::new(queue) })
    }

    /// The ticks for [`drive`](Self::drive), on the runtime of the caller.
    pub(crate) fn ticks(&self) -> std::io::Result<Ticks> {
        self.alarm.ticks()
    }

    /// Wakes sleepers for ever; runs on the engine's thread.
    pub(crate) async fn drive(self: Arc<Self>, mut ticks: Ticks) -> std::io::Result<()> {
        loop {
            ticks.next().await?;
            for waker in self.due() {
                waker.wake();
            }
        }
    }

    fn due(&self) -> Vec<Waker> {
        let now = boot_now();
        let mut queue = self.lock();
        let later = queue.sleepers.split_off(&(now + std::time::Duration::from_nanos(1), 0));
        let due = std::mem::replace(&mut queue.sleepers, later);
        queue.armed = Moment::NEVER;
        self.arm(&mut queue);
        due.into_values().collect()
    }

    fn insert(&self, until: Moment, id: Option<u64>, waker: Waker) -> u64 {
        let mut queue = self.lock();
        let id = id.unwrap_or_else(|| {
            queue.next_id += 1;
            queue.next_id
        });
        queue.sleepers.insert((until, id), waker);
        self.arm(&mut queue);
        id
    }

    fn remove(&self, until: Moment, id: u64) {
        self.lock().sleepers.remove(&(until, id));
    }

    /// Sets the alarm for the earliest sleeper. One that left keeps it set: waking once too often is cheap.
    fn arm(&self, queue: &mut Queue) {
        let Some((&(earliest, _), _)) = queue.sleepers.first_key_value() else { return };
        if earliest >= queue.armed {
            return;
        }
        queue.armed = earliest;
        self.alarm.set(earliest.as_nanos());
    }

    /// Whether this process is a fork of the one whose alarm it is.
    fn is_forked(&self) -> bool {
        Identity::own() != self.process
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        lock(&self.queue)
    }
}

struct TimerSleep {
    timers: Arc<Timers>,
    until: Moment,
    id: Option<u64>,
    /// In a fork.
    alone: Option<Arc<Mutex<Waker>>>,
}

/// How soon the thread of a sleep in a fork notices that nobody waits for it any more.
const SLICE: Duration = Duration::from_millis(250);

impl TimerSleep {
    /// Has a thread wake the task: a fork has no engine that would.
    fn sleep_alone(&mut self, waker: &Waker) {
        if let Some(alone) = &self.alone {
            return lock(alone).clone_from(waker);
        }
        let (alone, until) = (Arc::new(Mutex::new(waker.clone())), self.until);
        let waits = Arc::downgrade(&alone);
        let thread = std::thread::Builder::new().name("cotter-sleep".into()).spawn(move || {
            while let Some(alone) = waits.upgrade() {
                let left = until.since(boot_now());
                if left.is_zero() {
                    return lock(&alone).wake_by_ref();
                }
                drop(alone);
                std::thread::sleep(left.min(SLICE));
            }
        });
        match thread {
            Ok(_) => self.alone = Some(alone),
            // It has to look by itself.
            Err(_) => waker.wake_by_ref(),
        }
    }
}

impl Future for TimerSleep {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if boot_now() >= self.until {
            return Poll::Ready(());
        }
        if self.until == Moment::NEVER {
            return Poll::Pending;
        }
        if self.timers.is_forked() {
            self.sleep_alone(cx.waker());
        } else {
            self.id = Some(self.timers.insert(self.until, self.id, cx.waker().clone()));
        }
        Poll::Pending
    }
}

impl Drop for TimerSleep {
    fn drop(&mut self) {
        // A fork may have inherited it, and another thread may have had the lock of the queue.
        if let Some(id) = self.id.filter(|_| !self.timers.is_forked()) {
            self.timers.remove(self.until, id);
        }
    }
}
