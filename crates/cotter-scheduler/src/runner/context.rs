//! State shared by all tasks of a runner, and requests to a store that may be down.

use super::presence::Presence;
use super::workers::Workers;
use super::{Settings, StoreClock};
use crate::decide::MAX_NOTE_LEAD;
use crate::notes::Control;
use crate::{Error, EventKind, UnixTime};
use rand::RngExt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::{Semaphore, watch};

/// State shared by all tasks of a runner.
#[derive(Debug)]
pub(super) struct Context {
    /// Tells this scheduler from others, also of the same host.
    pub(super) id: String,
    pub(super) settings: Settings,
    /// How long runs may go on when it is stopped, unless their jobs say otherwise.
    pub(super) grace: Duration,
    pub(super) clock: Arc<StoreClock>,
    pub(super) workers: Workers,
    pub(super) presence: Presence,
    /// Limits concurrent reads of notes without a lock.
    pub(super) reads: Semaphore,
    pub(super) stop: watch::Sender<Stop>,
    pub(super) control: watch::Sender<Arc<Control>>,
    /// Whether this host's clock is too far off.
    pub(super) clock_off: watch::Sender<bool>,
    /// The jobs that have succeeded, for those that follow them.
    pub(super) succeeded: watch::Sender<Vec<Arc<str>>>,
    down: AtomicBool,
}

/// The stage of a shutdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stop {
    /// It runs.
    No,
    /// No more runs are started.
    Starts,
    /// Running jobs have to end.
    Runs,
}

/// The reason why a task of the runner stops.
#[derive(Debug)]
pub(super) enum Halt {
    /// The runner stops.
    Stopped,
    /// This host's clock is too far off.
    ClockOff,
    /// Something has to be fixed, or the lock is lost.
    Failed(Error),
}

impl From<Error> for Halt {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// Bounds of the pause before a request is repeated.
const MIN_BACKOFF: Duration = Duration::from_millis(100);
const MAX_BACKOFF: Duration = Duration::from_secs(5);

impl Context {
    pub(super) fn new(settings: Settings, clock: Arc<StoreClock>, grace: Duration) -> Self {
        Self {
            id: format!("{:016x}", rand::rng().random::<u64>()),
            workers: Workers::new(settings.workers),
            presence: Presence::default(),
            reads: Semaphore::new(32),
            settings,
            grace,
            clock,
            stop: watch::Sender::new(Stop::No),
            control: watch::Sender::new(Arc::default()),
            clock_off: watch::Sender::new(false),
            succeeded: watch::Sender::default(),
            down: AtomicBool::new(false),
        }
    }

    pub(super) fn lock_name(&self, job: &str) -> String {
        format!("{}/{job}", self.settings.group)
    }

    pub(super) fn emit(&self, job: &Arc<str>, kind: EventKind) {
        self.settings.observers.emit(Some(job), kind);
    }

    pub(super) fn emit_group(&self, kind: EventKind) {
        self.settings.observers.emit(None, kind);
    }

    pub(super) fn is_stopping(&self) -> bool {
        *self.stop.borrow() > Stop::No
    }

    /// Completes when the shutdown has reached this stage.
    pub(super) async fn stopping(&self, stage: Stop) {
        let mut stop = self.stop.subscribe();
        // The sender lives as long as we do.
        let _ = stop.wait_for(|stop| *stop >= stage).await;
    }

    /// Repeats a request until the store answers, or until the shutdown has reached a stage. What a run has come to is recorded
    /// even if the store denies it at first.
    pub(super) async fn ask<T, F>(&self, until: Stop, mut question: impl FnMut() -> F) -> Result<T, Halt>
    where
        F: Future<Output = cotter::Result<T>>,
    {
        let mut pause = MIN_BACKOFF;
        loop {
            let error = match question().await {
                Ok(answer) => {
                    self.report_back();
                    return Ok(answer);
                }
                Err(error) => error,
            };
            if !may_succeed_later(until, &error) {
                return Err(Error::from(error).into());
            }
            self.report_down(&error);
            let part = rand::rng().random_range(0.5..1.0);
            tokio::select! {
                () = self.stopping(until) => return Err(Halt::Stopped),
                () = self.clock.sleep(pause.mul_f64(part)) => {}
            }
            pause = (pause * 2).min(MAX_BACKOFF);
        }
    }

    /// Queries the store's clock; an error while this host's is too far off.
    pub(super) async fn measure(&self) -> Result<UnixTime, Halt> {
        let now = self.ask(Stop::Starts, || self.clock.measure()).await?;
        if self.is_clock_off() { Err(Halt::ClockOff) } else { Ok(now) }
    }

    /// How far a note may be ahead of the clock. On a store without a clock each replica goes by its own: a slot that another
    /// one started by a clock that is ahead must not be started again.
    pub(super) fn max_note_lead(&self) -> Duration {
        match self.clock.is_of_this_host() {
            true => MAX_NOTE_LEAD.max(self.settings.max_clock_offset),
            false => MAX_NOTE_LEAD,
        }
    }

    /// Compares the clocks as of the last query, and publishes the result.
    pub(super) fn is_clock_off(&self) -> bool {
        let off = self.clock.off();
        let too_far = off > self.settings.max_clock_offset;
        if self.clock_off.send_if_modified(|known| std::mem::replace(known, too_far) != too_far) {
            let most = self.settings.max_clock_offset;
            let why = format!(
                "this host's clock differs from the store's by {off:.1?}, more than the allowed {most:?}; correct it"
            );
            let kind = if too_far { EventKind::Standby { why } } else { EventKind::Active };
            self.settings.observers.emit(None, kind);
        }
        too_far
    }

    pub(super) fn report_down(&self, error: &cotter::Error) {
        if !self.down.swap(true, Ordering::Relaxed) {
            self.settings.observers.emit(None, EventKind::StoreDown { error: error.to_string() });
        }
    }

    pub(super) fn report_back(&self) {
        if self.down.swap(false, Ordering::Relaxed) {
            self.settings.observers.emit(None, EventKind::StoreBack);
        }
    }
}

/// Whether the same request may succeed later. A store that denies what it has permitted before may permit it again, once its
/// administrator has put a role or an access list right; until then, a run that has ended must not count as crashed.
fn may_succeed_later(until: Stop, error: &cotter::Error) -> bool {
    let is_denied = matches!(error.kind(), cotter::ErrorKind::Denied | cotter::ErrorKind::Config);
    error.is_retryable() || until == Stop::Runs && is_denied
}
