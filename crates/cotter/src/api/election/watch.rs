//! Following the leader.

use super::announcement::{Announcement, KEY};
use crate::api::op::wait_for;
use crate::backend::{Feature, Filter, Holder, Until};
use crate::engine::timing::{LEADER_POLL, LEADER_POLL_MIN, LEADER_POLL_WITHOUT_LEASE};
use crate::engine::{Core, Patience};
use crate::{FencingToken, Name, Note, Result};
use std::sync::Arc;
use std::time::Duration;

/// The leader of an election at one moment.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Leader {
    /// The token of its term: larger than that of every earlier leader.
    pub token: FencingToken,
    /// Its announcement; `None` as long as it has announced nothing.
    pub announcement: Option<Vec<u8>>,
    /// Its description of itself: host, process, label.
    pub label: String,
}

/// Who leads at one moment: what a [`LeaderWatch`] reports.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum LeaderState {
    /// This one leads.
    Led(Leader),
    /// Nobody leads: there is no candidate yet, or the last leader resigned, died or lost its lock.
    Vacant,
}

impl LeaderState {
    /// Returns the leader, if there is one.
    pub fn leader(&self) -> Option<&Leader> {
        match self {
            Self::Led(leader) => Some(leader),
            Self::Vacant => None,
        }
    }

    /// Returns the leader, if there is one.
    pub fn into_leader(self) -> Option<Leader> {
        match self {
            Self::Led(leader) => Some(leader),
            Self::Vacant => None,
        }
    }
}

/// The state of an election in the store.
pub(super) struct View {
    pub(super) leader: Option<Leader>,
    /// The revision of the note, which is older than the rest of this.
    revision: u64,
    /// When to look again, if the note does not change before.
    again: Duration,
}

/// Loads the note first: a change after that is noticed by its revision. A note counts only while the lock is held under
/// the token that wrote it; it outlives its writer.
pub(super) async fn look(core: &Core, name: &Name) -> Result<View> {
    let note = core.notes()?.load(name, KEY).await?;
    let page = core.admin()?.list(&Filter::exactly(name), None).await?;
    // Readers of the lock of this name do not lead.
    let holder = page.records.into_iter().flat_map(|record| record.holders).find(|h| h.mode.is_exclusive());
    let revision = note.as_ref().map_or(0, |n| n.revision);
    let again = again(holder.as_ref());
    let leader = holder.map_or(Ok(None), |holder| leader(name, holder, note.as_ref()))?;
    Ok(View { leader, revision, again })
}

fn leader(name: &Name, holder: Holder, note: Option<&Note>) -> Result<Option<Leader>> {
    let said = match note.filter(|note| holder.owns(note.token)) {
        Some(note) => Announcement::read(name, note)?,
        None => Announcement::Elected,
    };
    let announcement = match said {
        Announcement::Resigned => return Ok(None),
        Announcement::Elected => None,
        Announcement::Made(bytes) => Some(bytes),
    };
    Ok(Some(Leader { token: holder.token, announcement, label: holder.label }))
}

/// A leader whose lease is not renewed is gone when it ends.
fn again(holder: Option<&Holder>) -> Duration {
    match holder {
        Some(Holder { remaining: Some(left), .. }) => (*left).clamp(LEADER_POLL_MIN, LEADER_POLL),
        Some(_) => LEADER_POLL_WITHOUT_LEASE,
        None => LEADER_POLL,
    }
}

/// Refuses a store that cannot tell who leads, before any I/O.
pub(super) fn check(core: &Core) -> Result<()> {
    core.notes()?;
    let info = core.backend.info();
    if info.capabilities.records { Ok(()) } else { Err(Feature::Admin.missing(info)) }
}

/// Follows the leader of an election, change by change.
///
/// ```
/// # use cotter::{Client, LeaderState};
/// # fn main() -> cotter::Result<()> {
/// # let client = Client::connect("memory:").wait()?;
/// let election = client.election("scheduler");
/// let mut watch = election.watch();
/// assert_eq!(watch.blocking_changed()?, LeaderState::Vacant);
///
/// let leadership = election.campaign().wait()?;
/// leadership.announce("10.0.0.7:8080").wait()?;
/// let now = watch.blocking_changed()?;
/// assert_eq!(now.leader().map(|leader| leader.token), Some(leadership.token()));
/// # Ok(()) }
/// ```
#[must_use = "a watch asks nothing until its next change is awaited"]
#[derive(Debug)]
pub struct LeaderWatch {
    core: Arc<Core>,
    name: Result<Name>,
    /// The value that was returned last; `None` before the first time.
    seen: Option<Option<Leader>>,
    newest: FencingToken,
}

impl LeaderWatch {
    pub(super) fn new(core: Arc<Core>, name: Result<Name>) -> Self {
        Self { core, name, seen: None, newest: FencingToken::from(0) }
    }

    /// Waits for the next change and returns who leads as of then. The first call returns the current state. It never ends by
    /// itself: an election without a leader may get one.
    ///
    /// Changes are reported in order: a leader of an earlier term never follows one of a later term. Changes in quick
    /// succession may be seen as one, but the last of them is always reported. A new leader, an announcement and a
    /// resignation are reported at once, or within 250 ms on stores that do not report changes (PostgreSQL, MySQL, a
    /// quorum). The death of a leader is reported when its lease ends; that it has dropped its leadership or was
    /// evicted, after 5 s at the latest.
    ///
    /// Cancel safe: a dropped call loses no change.
    ///
    /// # Errors
    /// [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable) after 30 s without any answer from the store
    /// ([`Builder::give_up`](crate::Builder::give_up)): the leader is then not known, and the next call tries again.
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) where the store has no notes or does not tell who
    /// holds a lock.
    pub async fn changed(&mut self) -> Result<LeaderState> {
        self.core.usable()?;
        let name = self.name.clone()?;
        check(&self.core).map_err(|e| e.with_name(&name))?;
        let (core, seen, newest) = (self.core.clone(), self.seen.clone(), self.newest);
        let news = async move { next(&core, &name, seen.as_ref(), newest).await };
        let leader = self.core.wait_on_engine(news, None).await?;
        self.newest = leader.as_ref().map_or(self.newest, |l| l.token.max(self.newest));
        self.seen = Some(leader.clone());
        Ok(leader.map_or(LeaderState::Vacant, LeaderState::Led))
    }

    /// Like [`changed`](Self::changed), for threads without a runtime; see [`Op::wait`](crate::Op::wait).
    ///
    /// # Errors
    /// As [`changed`](Self::changed); [`ErrorKind::Misuse`](crate::ErrorKind::Misuse) in an async task.
    pub fn blocking_changed(&mut self) -> Result<LeaderState> {
        let engine = self.core.engine.clone();
        wait_for(&engine, self.changed())
    }
}

async fn next(
    core: &Core,
    name: &Name,
    seen: Option<&Option<Leader>>,
    newest: FencingToken,
) -> Result<Option<Leader>> {
    let mut patience = Patience::new();
    loop {
        let view = match look(core, name).await {
            Ok(view) => view,
            Err(e) => {
                patience.failed(core, e, None).await?;
                continue;
            }
        };
        patience.answered();
        let is_older = view.leader.as_ref().is_some_and(|l| l.token < newest);
        if !is_older && seen != Some(&view.leader) {
            return Ok(view.leader);
        }
        let until = Until::Moment(core.now() + view.again);
        if let Err(e) = core.notes()?.changed(name, KEY, view.revision, until).await {
            patience.failed(core, e, None).await?;
        }
    }
}
