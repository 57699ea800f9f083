//! Whether the store answers: what keeps "busy" from being said of a store that is down, and a wait from going on for
//! ever.

use crate::engine::core::Core;
use crate::engine::report::{Doing, Event, report};
use crate::engine::timing::{CALM, RECENT_ANSWER};
use crate::{Error, ErrorKind, Moment, Name, Result};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// What one client has heard of its store.
#[derive(Debug, Default)]
pub(crate) struct Pulse {
    /// When the store last answered, in nanoseconds.
    heard: AtomicU64,
    /// The question whether it is there, for all who want to know.
    probe: Mutex<Option<watch::Receiver<Option<Result<()>>>>>,
    /// Whether there is an outage.
    down: AtomicBool,
    outage: Mutex<Option<Outage>>,
}

/// A time without answers.
#[derive(Debug)]
struct Outage {
    since: Moment,
    last: Moment,
    failures: u64,
    /// Whether something was answered after the last failure.
    answered: bool,
}

impl Core {
    /// The store has answered something.
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
            let server = self.server().to_owned();
            report(Event::Answers { server, after: now.since(since), failures });
        }
    }

    /// A request of the engine's own has failed. Told once for each outage: with a thousand locks it is the same server.
    pub(crate) fn failed(&self, doing: Doing, name: &Name, error: &Error) {
        if doing == Doing::Acquiring && !error.is_retryable() {
            // Those who wait are told.
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
            let server = self.server().to_owned();
            report(Event::Fails { server, doing, name: name.clone(), error: error.to_string() });
        }
    }

    /// Whether the store has answered something since then, or shortly before.
    fn has_heard(&self, since: Moment) -> bool {
        let heard = Moment::from_nanos(self.pulse.heard.load(Ordering::Relaxed));
        self.is_immediate() || heard + RECENT_ANSWER >= since
    }

    /// Finds out in the background whether the store is there, if that is not known.
    pub(crate) fn check_pulse(self: &Arc<Self>, now: Moment) {
        if !self.has_heard(now) {
            drop(self.probe());
        }
    }

    /// Makes sure that the store has answered something since then; asks it if need be, and waits for that until `by`.
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

    /// One question at a time, in the background.
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
                Err(e) if e.kind() == ErrorKind::Unavailable => Err(core.at_the_server(e)),
                _ => {
                    core.hear();
                    Ok(())
                }
            };
            tell.send_replace(Some(answer));
        });
        told
    }

    /// Nothing has come in time.
    pub(crate) fn silence(&self) -> Error {
        let silence = Error::new(ErrorKind::Unavailable, "the store did not answer in time");
        self.at_the_server(silence.with_backend(self.backend.info().scheme))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
