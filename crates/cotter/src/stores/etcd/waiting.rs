//! Waiting in the queue of a name for the end of the entry before one's own.
//!
//! Of those who wait for permits, the first one watches the whole line, and each other one the waiter before it: that one
//! writes its entry when it is served, and the next of them becomes the first.

use super::acquire::{Ahead, Entry, Standing};
use super::backend::Inner;
use super::errors::place_is_gone;
use super::leases::seconds;
use super::patience::SHORTEST;
use super::waiter::Waiter;
use super::watches::Watched;
use crate::backend::poll::Attempt;
use crate::backend::{Claim, Grant};
use crate::{Error, Moment, Result};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// A claim whose entry is in the queue. If it is dropped before the grant, `release` removes the entry.
pub(super) struct Waiting<'a> {
    inner: &'a Arc<Inner>,
    claim: &'a Claim,
    own: Entry,
    /// A request to move the entry was not answered: it may be on either lease.
    is_moving: bool,
    woken: Arc<Waiter>,
    /// Whose end it waits for, and the watches for that.
    ahead: (Ahead, Vec<Watched>),
    /// Whether it has only been told where it stands. What happens until the watch is confirmed is seen then.
    is_new: bool,
    /// What the watch has told, and the pause before the next look while it may tell more with delay.
    hurry: Option<(i64, Duration)>,
    /// The length in seconds of the lease that it had last, and the end of that as it was last proved.
    lease: u64,
    lasts: Moment,
    /// When it looks again if nothing is told until then.
    next_look: Moment,
}

/// How often the lease of those who wait is kept alive, if it is the shortest one: twice within the time for which a proof of it
/// serves for a grant.
const KEEP_PERIOD: Duration = Duration::from_millis(SHORTEST * 1000 / 6);

/// The pause after a request that failed.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// A watch that begins while something else is written may be taken for one of the past, and told of what comes with delay, by
/// a loop of 100 ms. Whether it is cannot be seen; it is not if nothing was written until the next look. Otherwise there is
/// a second watch, and another look after this pause, and others after twice as long, until that loop has caught up.
const HURRY: Duration = Duration::from_millis(8);
const CAUGHT_UP: Duration = Duration::from_millis(100);

impl<'a> Waiting<'a> {
    pub(super) fn behind(inner: &'a Arc<Inner>, claim: &'a Claim, own: Entry, ahead: Ahead) -> Self {
        let woken = Arc::default();
        let ahead = watch(inner, claim, ahead, &woken);
        let lasts = inner.leases.proved_end(seconds(claim.ttl));
        let mut waiting = Self {
            inner,
            claim,
            own,
            is_moving: false,
            woken,
            ahead,
            is_new: true,
            hurry: None,
            lease: inner.leases.of_waiters(),
            lasts,
            next_look: Moment::ZERO,
        };
        waiting.look_in(waiting.calm_period());
        waiting
    }

    fn calm_period(&self) -> Duration {
        Duration::from_secs(seconds(self.claim.ttl)) / 4
    }

    fn look_in(&mut self, period: Duration) {
        self.next_look = self.inner.link.now() + period;
    }

    /// Keeps the place, which ends with its lease: that of those who wait, and of this term.
    async fn keep(&mut self) -> Result<Option<Grant>> {
        match self.try_to_keep().await {
            Ok(Some((own, lasts))) => (self.own, self.lasts) = (own, lasts),
            Ok(None) => return Err(self.lost()),
            Err(e) => return self.failed(e),
        }
        Ok(None)
    }

    /// What ends a place is most likely the end of its lease.
    fn lost(&self) -> Error {
        self.inner.leases.was_too_short(self.lease);
        place_is_gone()
    }

    /// Its entry on the lease, and the end of that. `None` if it is gone.
    async fn try_to_keep(&mut self) -> Result<Option<(Entry, Moment)>> {
        self.lease = self.inner.leases.of_waiters();
        let proof = self.inner.leases.proved(self.lease).await?;
        self.is_moving = true;
        let own = self.inner.attach(self.claim, self.own, proof).await;
        let own = own.inspect_err(|_| self.inner.leases.leave(self.own.lease))?;
        self.is_moving = false;
        Ok(own.map(|own| (own, proof.as_of + proof.ttl)))
    }

    async fn find(&mut self) -> Result<Standing> {
        if let Some(told) = self.woken.take_told() {
            self.hurry = Some((told, HURRY));
        }
        if let Some((told, pause)) = self.hurry.take().filter(|_| !self.is_moving)
            && let Some((standing, revision)) = self.inner.look_here(self.claim, self.own, told).await?
        {
            if revision > told && pause < CAUGHT_UP {
                self.hurry = Some((told, pause * 2));
                self.look_in(pause);
            }
            return Ok(standing);
        }
        let standing = self.inner.look_before(self.claim, self.own).await?;
        self.is_moving = false;
        Ok(standing)
    }

    /// Asks for the watch once more, if only once: of two, one is most likely told without delay.
    fn watch_twice(&mut self) {
        let (Ahead::Entry(key), watched) = &mut self.ahead else { return };
        if watched.len() == 1 {
            watched.push(self.inner.watches.wait_for(key.clone(), Vec::new(), &self.woken));
        }
    }

    /// A request that fails does not cost the place, as long as the lease lives.
    fn failed(&mut self, e: Error) -> Result<Option<Grant>> {
        if e.is_retryable() && self.inner.link.now() < self.lasts {
            self.look_in(RETRY_PAUSE);
            return Ok(None);
        }
        Err(e.with_outcome_unknown())
    }
}

/// Watches from now on. As soon as the server does, it wakes: the entry may have been deleted before. A watch of the past
/// would not need that, but is served with delay as soon as anything else was written.
fn watch(inner: &Inner, claim: &Claim, ahead: Ahead, woken: &Arc<Waiter>) -> (Ahead, Vec<Watched>) {
    let watched = match &ahead {
        Ahead::Entry(key) => vec![inner.watches.wait_for(key.clone(), Vec::new(), woken)],
        // Whoever can never be served any more is refused as soon as the limit is set, wherever it stands.
        Ahead::Waiter(key) => {
            let limit = inner.watches.follow(inner.keys.limit(&claim.name), woken.woken());
            vec![inner.watches.follow(key.clone(), woken.woken()), limit]
        }
        Ahead::Anybody => {
            let line = inner.keys.line(&claim.name);
            let limit = inner.watches.follow(inner.keys.limit(&claim.name), woken.woken());
            vec![inner.watches.wait_for(line.start(), line.end(), woken), limit]
        }
    };
    (ahead, watched)
}

impl Attempt for Waiting<'_> {
    type Done = Grant;

    async fn attempt(&mut self) -> Result<Option<Grant>> {
        if std::mem::take(&mut self.is_new) {
            return Ok(None);
        }
        if !self.woken.take_call() && self.inner.link.now() < self.next_look {
            return self.keep().await;
        }
        self.look_in(self.calm_period());
        let standing = match self.find().await {
            Ok(standing) => standing,
            Err(e) => return self.failed(e),
        };
        match standing {
            Standing::Holds(entry) => {
                if self.claim.mode.is_permits()
                    && let Err(e) = self.inner.pass_the_turn(self.claim, entry).await
                {
                    return self.failed(e);
                }
                self.inner.grant(self.claim, entry).await.map(Some)
            }
            Standing::Behind(own, ahead) => {
                if self.ahead.0 != ahead {
                    self.ahead = watch(self.inner, self.claim, ahead, &self.woken);
                    self.hurry = None;
                    self.look_in(self.calm_period());
                } else if self.hurry.is_some() {
                    self.watch_twice();
                }
                self.own = own;
                self.keep().await
            }
            Standing::Gone => Err(self.lost()),
            Standing::Refused => Err(place_is_gone()),
        }
    }

    fn hint(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(self.woken.clone().called())
    }

    fn period(&self) -> Duration {
        self.next_look.since(self.inner.link.now()).min(KEEP_PERIOD)
    }
}
