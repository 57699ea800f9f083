//! Liveness of the store: prevents "busy" from being reported for a store that is down, and a wait from going on for
//! ever.

use crate::backend::Until;
use crate::engine::core::Core;
use crate::engine::patience::Patience;
use crate::engine::report::Doing;
use crate::engine::timing::{CALM, MAX_UNSETTLED, RECENT_ANSWER};
use crate::sync::lock;
use crate::{Error, ErrorKind, Moment, Name, Result};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tokio::sync::watch;

/// One client's knowledge about its store.
#[derive(Debug, Default)]
pub(crate) struct Pulse {
    /// The time of the store's last answer, in nanoseconds.
    heard: AtomicU64,
    /// The pending liveness check, shared by all tasks that need its result.
    probe: Mutex<Option<watch::Receiver<Option<Result<()>>>>>,
    /// True during an outage.
    down: AtomicBool,
    outage: Mutex<Option<Outage>>,
}

/// A period without answers.
#[derive(Debug)]
struct Outage {
    since: Moment,
    last: Moment,
    failures: u64,
    /// True if the store answered after the last failure.
    answered: bool,
}

impl Core {
    /// Records that the store has answered.
    pub(crate) fn hear(&self) {
        let now = self.now();
        self.pulse.heard.store(now.as_nanos(), Ordering::Relaxed);
        if self.pulse.down.load(Ordering::Relaxed) {
            self.recover(now);
        }
    }

    fn recover(&self, now: Moment) {
        let (first, over) = {
            let mut outage = lock(&self.pulse.outage);
            let first = outage.as_mut().is_some_and(|o| !std::mem::replace(&mut o.answered, true));
            (first, outage.take_if(|o| now.since(o.last) >= CALM))
        };
        if first {
            self.background.hurry();
        }
        if let Some(Outage { since, failures, .. }) = over {
            self.pulse.down.store(false, Ordering::Relaxed);
            self.reporter.recovered(now.since(since), failures);
        }
    }

    /// The same, for answers that matter only after an outage: they are too many to read the clock for each.
    pub(crate) fn hear_after_outage(&self) {
        if self.pulse.down.load(Ordering::Relaxed) {
            self.hear();
        }
    }

    /// Returns the time of the last answer that was noted.
    pub(crate) fn last_heard(&self) -> Moment {
        Moment::from_nanos(self.pulse.heard.load(Ordering::Relaxed))
    }

    /// Records that a request that will be repeated has failed. Reported once per outage: a thousand locks share the
    /// same server.
    pub(crate) fn failed(&self, doing: Doing, name: &Name, error: &Error) {
        if doing == Doing::Acquiring && !error.is_retryable() {
            // The waiters receive this error themselves.
            return;
        }
        let now = self.now();
        let first = {
            let mut outage = lock(&self.pulse.outage);
            let first = outage.is_none();
            let outage = outage.get_or_insert(Outage { since: now, last: now, failures: 0, answered: false });
            (outage.last, outage.failures, outage.answered) = (now, outage.failures + 1, false);
            first
        };
        if first {
            self.pulse.down.store(true, Ordering::Relaxed);
            self.reporter.outage(doing, name, error.clone());
        }
    }

    /// Waits until another request may be sent: in an outage, what was asked in vain has to be undone first if there is much of it.
    ///
    /// # Errors
    /// [`ErrorKind::Unavailable`], at the end of the wait or after `give_up`.
    pub(crate) async fn room(&self, until: Until) -> Result<()> {
        let end = if until == Until::Now { Some(self.now()) } else { until.moment() };
        let mut patience = Patience::new();
        while self.has_no_room() {
            let why = format!(
                "the store does not answer, and {MAX_UNSETTLED} requests are to be undone when it does; no more are sent"
            );
            let full = Error::new(ErrorKind::Unavailable, why).with_backend(self.backend.info().scheme);
            patience.failed(self, self.at_the_server(full), end).await?;
        }
        Ok(())
    }

    /// Returns true if nothing may be asked now that would have to be undone.
    pub(crate) fn has_no_room(&self) -> bool {
        self.background.is_full() && self.pulse.down.load(Ordering::Relaxed)
    }

    /// Returns true if the store has answered since then, or shortly before.
    fn has_heard(&self, since: Moment) -> bool {
        self.is_immediate() || self.last_heard() + RECENT_ANSWER >= since
    }

    /// Checks the store in the background, unless it has answered recently.
    pub(crate) fn check_pulse(self: &Arc<Self>, now: Moment) {
        if !self.has_heard(now) {
            drop(self.probe());
        }
    }

    /// Ensures that the store has answered since then; sends it a request if necessary, and waits for the answer until
    /// `by`.
    pub(crate) async fn answers_since(self: &Arc<Self>, since: Moment, by: Moment) -> Result<()> {
        if self.has_heard(since) {
            return Ok(());
        }
        let mut told = self.probe();
        tokio::select! {
            biased;
            told = told.wait_for(Option::is_some) => match told.as_deref() {
                Ok(Some(told)) => told.clone(),
                _ => Err(self.silence()),
            },
            () = self.clock().sleep_until(by) => Err(self.silence()),
        }
    }

    /// Starts a check in the background, at most one at a time.
    fn probe(self: &Arc<Self>) -> watch::Receiver<Option<Result<()>>> {
        let mut probe = lock(&self.pulse.probe);
        if let Some(told) = probe.as_ref().filter(|t| t.borrow().is_none() && t.has_changed().is_ok()) {
            return told.clone();
        }
        let (tell, told) = watch::channel(None);
        *probe = Some(told.clone());
        drop(probe);
        let core = self.clone();
        self.engine.spawn(async move {
            let answer = match core.backend.time().await {
                Err(e) if matches!(e.kind(), ErrorKind::Unavailable | ErrorKind::NoQuorum) => {
                    Err(core.at_the_server(e))
                }
                _ => {
                    core.hear();
                    Ok(())
                }
            };
            tell.send_replace(Some(answer));
        });
        told
    }

    /// Returns the error for an answer that did not come in time.
    pub(crate) fn silence(&self) -> Error {
        let silence = Error::new(ErrorKind::Unavailable, "the store did not answer in time");
        self.at_the_server(silence.with_backend(self.backend.info().scheme))
    }
}
