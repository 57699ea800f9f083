//! One timer descriptor on the boot clock. It fires at once when a suspended machine wakes up after the moment it was
//! set for.

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::io::Result;
use std::os::fd::OwnedFd;
use tokio::net::unix::pipe::Receiver;

/// Wakes one task at one moment of the boot clock.
#[derive(Debug)]
pub(crate) struct Alarm(OwnedFd);

/// The receiving end of an alarm, tied to one runtime.
///
/// A timer descriptor reads like a pipe, and the pipe's end is the reactor's safe way to take a descriptor over.
#[derive(Debug)]
pub(crate) struct Ticks(Receiver);

impl Alarm {
    pub(crate) fn new() -> Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        Ok(Self(timerfd_create(TimerfdClockId::Boottime, flags)?))
    }

    /// Replaces the moment it was set for.
    pub(crate) fn set(&self, nanos: u64) {
        // Zero would disarm the descriptor.
        let nanos = nanos.max(1);
        let at = Timespec { tv_sec: (nanos / 1_000_000_000) as i64, tv_nsec: (nanos % 1_000_000_000) as i64 };
        let spec = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: at };
        timerfd_settime(&self.0, TimerfdTimerFlags::ABSTIME, &spec)
            .expect("a valid time on a timer of our own");
    }

    /// To be called in the runtime that will wait.
    pub(crate) fn ticks(&self) -> Result<Ticks> {
        Receiver::from_owned_fd_unchecked(self.0.try_clone()?).map(Ticks)
    }
}

impl Ticks {
    /// Completes when the alarm has gone off since the last call.
    pub(crate) async fn next(&mut self) -> Result<()> {
        self.0.readable().await?;
        // Reading resets the descriptor; how often it fired is of no interest.
        let _ = self.0.try_read(&mut [0_u8; 8]);
        Ok(())
    }
}
