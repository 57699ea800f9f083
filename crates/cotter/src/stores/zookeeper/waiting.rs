//! Waiting in the queue of a name for the end of the node before one's own.
//!
//! Of those who wait for permits, the first one watches the folder, and each other one the waiter before it: that one changes
//! its data when it is served, and the next of them becomes the first. A node that was passed over ends the wait (`roll_call`).

use super::acquire::{Ahead, Standing};
use super::backend::Inner;
use super::errors::{NO_NODE, place_is_gone};
use super::messages::Op;
use super::names::Marks;
use super::permits::Line;
use super::places::Node;
use super::replies::{Children, Data};
use super::roll_call::{MARK_AFTER, PERIOD, RollCall};
use super::session::ServerSession;
use super::watches::Watched;
use crate::backend::poll::Attempt;
use crate::backend::{Claim, Grant};
use crate::{Error, Moment, Result};
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
    /// The end that it waits for, if nothing can change for it before that.
    ahead: Option<Ahead>,
    woken: Arc<Notify>,
    /// The node that it waits for.
    watched: Option<Watched>,
    /// The folder, if that is watched since before the last look.
    folder: Option<Watched>,
    /// Its own node is gone, and nobody will ever serve it.
    is_out: bool,
    /// When it marks its node; `None` once it has.
    marks_at: Option<Moment>,
    roll: RollCall,
    /// When it looks at the line if nothing happens until then.
    next_look: Moment,
}

/// The pause after a request that failed.
const RETRY_PAUSE: Duration = Duration::from_millis(50);
/// How often the node before its own may vanish before it is watched.
const TRIES: usize = 100;
/// A watch reports every change, so this is only a precaution.
const CALM_PERIOD: Duration = Duration::from_secs(20);

impl<'a> Waiting<'a> {
    pub(super) fn new(
        inner: &'a Arc<Inner>,
        claim: &'a Claim,
        session: Arc<ServerSession>,
        own: Node,
        ahead: Ahead,
    ) -> Self {
        let marks_at = inner.link.now() + MARK_AFTER;
        Self {
            inner,
            claim,
            session,
            own,
            ahead: Some(ahead),
            woken: Arc::default(),
            watched: None,
            folder: None,
            is_out: false,
            marks_at: Some(marks_at),
            roll: RollCall::default(),
            next_look: marks_at,
        }
    }

    /// Looks where it stands, and watches whoever is in front of it.
    async fn look(&mut self) -> Result<Option<Grant>> {
        if self.marks_at.is_some_and(|at| at <= self.inner.link.now()) {
            self.mark().await?;
        }
        if self.inner.link.now() < self.next_look
            && let Some(ahead) = self.ahead.take()
            && self.watch(&ahead).await?
        {
            self.keep_in_mind(ahead);
            return Ok(None);
        }
        for _ in 0..TRIES {
            let asked = self.inner.link.now();
            let line = self.inner.line(self.claim, &self.session).await?;
            let ahead = match self.inner.standing(self.claim, self.own.clone(), &line, asked)? {
                Standing::Holds(own, asked) => {
                    // Whoever has a mark tells the next one by taking it off.
                    if self.claim.mode.is_permits() && self.marks_at.is_some() {
                        let live = self.session.live().await?;
                        self.inner.pass_the_turn(self.claim, &own, &live).await?;
                    }
                    return self.inner.grant(self.claim, &own, asked, &self.session).await.map(Some);
                }
                Standing::Behind(_, ahead) => ahead,
                Standing::Gone | Standing::Refused => {
                    self.is_out = true;
                    return Err(place_is_gone());
                }
            };
            if self.watch(&ahead).await? {
                self.keep_in_mind(ahead);
                self.mind(&line).await?;
                break;
            }
        }
        Ok(None)
    }

    /// As long as that is there, nothing changes for it. Permits may be given to others before it, and their number may change.
    fn keep_in_mind(&mut self, ahead: Ahead) {
        self.ahead = Some(ahead).filter(|_| !self.claim.mode.is_permits());
    }

    /// Shows those behind that it waits.
    async fn mark(&mut self) -> Result<()> {
        let live = self.session.live().await?;
        self.inner.mark(self.claim, &self.own, &live).await?;
        (self.marks_at, self.next_look) = (None, self.inner.link.now() + PERIOD);
        Ok(())
    }

    /// Looks whether those before it hold that should.
    async fn mind(&mut self, line: &Line) -> Result<()> {
        self.next_look = self.inner.link.now() + CALM_PERIOD;
        if let Some(marks_at) = self.marks_at {
            self.next_look = marks_at;
        } else if let Some(at) = line.entries.iter().position(|entry| entry.node == self.own.name()) {
            let live = self.session.live().await?;
            let folder = self.own.path.rsplit_once('/').map_or("/", |(folder, _)| folder);
            let pause = self.inner.call_the_roll(&mut self.roll, line, at, (folder, &live)).await?;
            let pause = pause.map_or(CALM_PERIOD, |pause| pause.min(CALM_PERIOD));
            self.next_look = self.inner.link.now() + pause;
        }
        Ok(())
    }

    /// Returns false if the node is gone already, or the line may have changed since it was read.
    async fn watch(&mut self, ahead: &Ahead) -> Result<bool> {
        let path = match ahead {
            Ahead::Node(path) => path,
            Ahead::Anybody(line) => return self.watch_folder(line).await,
        };
        if self.watched.as_ref().is_none_or(|watched| watched.path() != path) {
            self.watched = Some(self.session.watches.wait_for(path, &self.woken));
        }
        match self.session.live().await?.ask::<Data>(&Op::watch(path)).await {
            Err(failure) if failure.is(NO_NODE) => Ok(false),
            // A waiter that was served since the line was read, or whose limit was set, says nothing any more.
            Ok(data) if self.claim.mode.is_permits() && data.stat.version > i32::from(waits(&data)) => {
                self.watch_folder(path.rsplit_once('/').map_or("/", |(line, _)| line)).await
            }
            answer => Ok(answer.map(|_| true)?),
        }
    }

    /// The line is read again after it is watched.
    async fn watch_folder(&mut self, line: &str) -> Result<bool> {
        if self.folder.is_some() {
            return Ok(true);
        }
        self.folder = Some(self.session.watches.wait_for(line, &self.woken));
        let watch = Op::Children { path: line.to_owned(), watch: true };
        match self.session.live().await?.ask::<Children>(&watch).await {
            Err(failure) if failure.is(NO_NODE) => Ok(false),
            answer => Ok(answer.map(|_| false)?),
        }
    }

    /// A request that fails does not cost the place, as long as that is there and the session lives.
    fn failed(&mut self, e: Error) -> Result<Option<Grant>> {
        if e.is_retryable() && !self.is_out && !self.session.is_lost() {
            self.next_look = self.inner.link.now() + RETRY_PAUSE;
            return Ok(None);
        }
        Err(e.with_outcome_unknown())
    }
}

fn waits(data: &Data) -> bool {
    Marks::of(&data.bytes).waits
}

impl Attempt for Waiting<'_> {
    type Done = Grant;

    async fn attempt(&mut self) -> Result<Option<Grant>> {
        self.folder = None;
        match self.look().await {
            Ok(granted) => Ok(granted),
            Err(e) => self.failed(e),
        }
    }

    fn hint(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(self.woken.clone().notified_owned())
    }

    fn period(&self) -> Duration {
        self.next_look.since(self.inner.link.now())
    }
}
