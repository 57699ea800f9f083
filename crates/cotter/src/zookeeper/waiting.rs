//! Waiting in the queue of a name for the end of the node before one's own.

use super::acquire::{Ahead, Standing};
use super::backend::Inner;
use super::errors::{NO_NODE, place_is_gone};
use super::messages::Op;
use super::places::Node;
use super::replies::{Children, Data};
use super::session::ServerSession;
use super::watches::Watched;
use crate::backend::poll::Attempt;
use crate::backend::{Claim, Grant};
use crate::{Error, Result};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// A claim whose node is in the queue. If it is dropped before the grant, `release` removes the node.
pub(super) struct Waiting<'a> {
    inner: &'a Arc<Inner>,
    claim: &'a Claim,
    session: Arc<ServerSession>,
    own: Node,
    /// Who is in front of it, as long as that is known from entering the line.
    ahead: Option<Ahead>,
    woken: Arc<Notify>,
    /// The node that it waits for, or the folder.
    watched: Option<Watched>,
    /// Whether the folder is watched since before the last look.
    is_armed: bool,
    period: Duration,
}

/// The pause after a request that failed.
const RETRY_PAUSE: Duration = Duration::from_millis(50);
/// How often the node before its own may vanish before it is watched.
const TRIES: usize = 100;
/// A watch is told whatever happens, so this is only a precaution.
const CALM_PERIOD: Duration = Duration::from_secs(20);

impl<'a> Waiting<'a> {
    pub(super) fn new(
        inner: &'a Arc<Inner>,
        claim: &'a Claim,
        session: Arc<ServerSession>,
        own: Node,
        ahead: Ahead,
    ) -> Self {
        Self {
            inner,
            claim,
            session,
            own,
            ahead: Some(ahead),
            woken: Arc::default(),
            watched: None,
            is_armed: false,
            period: CALM_PERIOD,
        }
    }

    /// Looks where it stands, and watches whoever is in front of it.
    async fn look(&mut self) -> Result<Option<Grant>> {
        if let Some(ahead) = self.ahead.take()
            && self.watch(&ahead).await?
        {
            return Ok(None);
        }
        for _ in 0..TRIES {
            let ahead = match self.inner.look(self.claim, &self.own, &self.session).await? {
                Standing::Holds(own, asked) => {
                    let live = self.session.live().await?;
                    return self.inner.grant(self.claim, &own, asked, &self.session, &live).map(Some);
                }
                Standing::Behind(_, ahead) => ahead,
                Standing::Gone | Standing::Refused => return Err(place_is_gone()),
            };
            if self.watch(&ahead).await? {
                return Ok(None);
            }
        }
        Ok(None)
    }

    /// Returns false if the node is gone already, or the line may have changed since it was read.
    async fn watch(&mut self, ahead: &Ahead) -> Result<bool> {
        if self.is_armed && matches!(ahead, Ahead::Anybody(_)) {
            return Ok(true);
        }
        let (Ahead::Node(path) | Ahead::Anybody(path)) = ahead;
        if self.watched.as_ref().is_none_or(|watched| watched.path() != path) {
            self.watched = Some(self.session.watches.wait_for(path, &self.woken));
        }
        let live = self.session.live().await?;
        let answer = match ahead {
            Ahead::Node(path) => live.ask::<Data>(&Op::watch(path)).await.map(|_| true),
            // The next look counts.
            Ahead::Anybody(path) => {
                let watching = live.ask::<Children>(&Op::Children { path: path.clone(), watch: true });
                self.is_armed = true;
                watching.await.map(|_| false)
            }
        };
        match answer {
            Err(failure) if failure.is(NO_NODE) => Ok(false),
            answer => Ok(answer?),
        }
    }

    /// A request that fails does not cost the place, as long as the session lives.
    fn failed(&mut self, e: Error) -> Result<Option<Grant>> {
        if e.is_retryable() && !self.session.is_lost() {
            self.period = RETRY_PAUSE;
            return Ok(None);
        }
        Err(e.with_outcome_unknown())
    }
}

impl Attempt for Waiting<'_> {
    type Done = Grant;

    async fn attempt(&mut self) -> Result<Option<Grant>> {
        (self.period, self.is_armed) = (CALM_PERIOD, false);
        match self.look().await {
            Ok(granted) => Ok(granted),
            Err(e) => self.failed(e),
        }
    }

    fn hint(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(self.woken.clone().notified_owned())
    }

    fn period(&self) -> Duration {
        self.period
    }
}
