//! The system's boot clock, and sleeps on it by one timer descriptor.

use super::{Clock, Moment, Sleep};
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};
use std::collections::BTreeMap;
use std::future::Future;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::SystemTime;
use tokio::net::unix::pipe::Receiver;

/// `CLOCK_BOOTTIME`. Sleeps are driven by the engine's thread, never by the runtime of a caller.
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
        Box::pin(TimerSleep { timers: self.0.clone(), until, id: None })
    }
}

fn boot_now() -> Moment {
    let t = clock_gettime(ClockId::Boottime);
    Moment::from_nanos(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64)
}

/// All who sleep on the boot clock, in order, and the one descriptor that wakes them.
#[derive(Debug)]
pub(crate) struct Timers {
    fd: OwnedFd,
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
        let fd = timerfd_create(TimerfdClockId::Boottime, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        let queue = Queue { next_id: 0, sleepers: BTreeMap::new(), armed: Moment::NEVER };
        Ok(Self { fd, queue: Mutex::new(queue) })
    }

    /// What [`drive`](Self::drive) reads, on the runtime of the caller.
    ///
    /// A timer descriptor reads like a pipe, and the pipe's end is the reactor's safe way to take a descriptor over.
    pub(crate) fn ticks(&self) -> std::io::Result<Receiver> {
        Receiver::from_owned_fd_unchecked(self.fd.try_clone()?)
    }

    /// Wakes sleepers for ever; runs on the engine's thread.
    pub(crate) async fn drive(self: Arc<Self>, fd: Receiver) -> std::io::Result<()> {
        loop {
            fd.readable().await?;
            // Reading resets the descriptor; how often it fired says nothing that the queue does not.
            let _ = fd.try_read(&mut [0_u8; 8]);
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

    /// Sets the descriptor for the earliest sleeper. One that left keeps it armed: waking once too often is cheap.
    fn arm(&self, queue: &mut Queue) {
        let Some((&(earliest, _), _)) = queue.sleepers.first_key_value() else { return };
        if earliest >= queue.armed {
            return;
        }
        queue.armed = earliest;
        // Zero would disarm the descriptor.
        let nanos = earliest.as_nanos().max(1);
        let at = Timespec { tv_sec: (nanos / 1_000_000_000) as i64, tv_nsec: (nanos % 1_000_000_000) as i64 };
        let spec = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: at };
        timerfd_settime(&self.fd, TimerfdTimerFlags::ABSTIME, &spec)
            .expect("a valid time on a timer of our own");
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct TimerSleep {
    timers: Arc<Timers>,
    until: Moment,
    id: Option<u64>,
}

impl Future for TimerSleep {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if boot_now() >= self.until {
            return Poll::Ready(());
        }
        if self.until != Moment::NEVER {
            self.id = Some(self.timers.insert(self.until, self.id, cx.waker().clone()));
        }
        Poll::Pending
    }
}

impl Drop for TimerSleep {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.timers.remove(self.until, id);
        }
    }
}
