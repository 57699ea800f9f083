//! What all tasks of a runner share.

use super::{Settings, StoreClock};
use crate::notes::Control;
use crate::{Error, EventKind, UnixTime};
use rand::RngExt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::{Semaphore, watch};

/// What all tasks of a runner share.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) settings: Settings,
    pub(super) clock: Arc<StoreClock>,
    pub(super) workers: Arc<Semaphore>,
    /// Notes that are looked at without a lock at the same time.
    pub(super) looks: Semaphore,
    pub(super) stop: watch::Sender<Stop>,
    pub(super) control: watch::Sender<Arc<Control>>,
    /// This host's clock is too far off.
    pub(super) off: watch::Sender<bool>,
    down: AtomicBool,
}

/// How far the runner is in stopping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stop {
    /// It runs.
    No,
    /// Nothing new is started.
    Starts,
    /// What runs has to end.
    Runs,
}

/// Why a task of the runner gives up.
#[derive(Debug)]
pub(super) enum Halt {
    /// The runner stops.
    Stopped,
    /// This host's clock is too far off.
    ClockOff,
    /// Somebody has to mend something, or the lock is lost.
    Failed(Error),
}

impl From<Error> for Halt {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// The shortest and the longest pause before a question is repeated.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

impl Context {
    pub(super) fn new(settings: Settings, clock: Arc<StoreClock>) -> Self {
        Self {
            workers: Arc::new(Semaphore::new(settings.workers)),
            looks: Semaphore::new(32),
            settings,
            clock,
            stop: watch::Sender::new(Stop::No),
            control: watch::Sender::new(Arc::default()),
            off: watch::Sender::new(false),
            down: AtomicBool::new(false),
        }
    }

    pub(super) fn lock_name(&self, job: &str) -> String {
        format!("{}/{job}", self.settings.group)
    }

    pub(super) fn tell(&self, job: &Arc<str>, kind: EventKind) {
        self.settings.observer.tell(Some(job), kind);
    }

    pub(super) fn is_stopping(&self) -> bool {
        *self.stop.borrow() > Stop::No
    }

    /// Completes when the runner is as far in stopping as this.
    pub(super) async fn stopping(&self, how_far: Stop) {
        let mut stop = self.stop.subscribe();
        // The sender lives as long as we do.
        let _ = stop.wait_for(|stop| *stop >= how_far).await;
    }

    /// Asks the store until it answers, or until the runner is as far in stopping as this.
    pub(super) async fn ask<T, F>(&self, until: Stop, mut question: impl FnMut() -> F) -> Result<T, Halt>
    where
        F: Future<Output = cotter::Result<T>>,
    {
        let (mut pause, longest) = PAUSES;
        loop {
            let error = match question().await {
                Ok(answer) => {
                    self.is_back();
                    return Ok(answer);
                }
                Err(error) => error,
            };
            if !error.is_retryable() {
                return Err(Error::from(error).into());
            }
            self.is_down(&error);
            let part = rand::rng().random_range(0.5..1.0);
            tokio::select! {
                () = self.stopping(until) => return Err(Halt::Stopped),
                () = self.clock.sleep(pause.mul_f64(part)) => {}
            }
            pause = (pause * 2).min(longest);
        }
    }

    /// The store's clock; an error while this host's is too far off.
    pub(super) async fn measure(&self) -> Result<UnixTime, Halt> {
        let now = self.ask(Stop::Starts, || self.clock.measure()).await?;
        if self.is_off() { Err(Halt::ClockOff) } else { Ok(now) }
    }

    /// Compares the clocks as of the last question, and tells those who wait.
    pub(super) fn is_off(&self) -> bool {
        let off = self.clock.off();
        let too_far = off > self.settings.max_clock_offset;
        if self.off.send_if_modified(|known| std::mem::replace(known, too_far) != too_far) {
            let most = self.settings.max_clock_offset;
            let why = format!(
                "this host's clock is off from the store's by {off:.1?}, {most:?} are allowed; set it right"
            );
            let kind = if too_far { EventKind::StandsBy { why } } else { EventKind::Again };
            self.settings.observer.tell(None, kind);
        }
        too_far
    }

    pub(super) fn is_down(&self, error: &cotter::Error) {
        if !self.down.swap(true, Ordering::Relaxed) {
            self.settings.observer.tell(None, EventKind::StoreDown { error: error.to_string() });
        }
    }

    pub(super) fn is_back(&self) {
        if self.down.swap(false, Ordering::Relaxed) {
            self.settings.observer.tell(None, EventKind::StoreBack);
        }
    }
}
