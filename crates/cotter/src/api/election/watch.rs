//! Following the leader.

use super::announcement::{Announcement, KEY};
use crate::api::op::wait_for;
use crate::backend::{Feature, Filter, Holder, Until};
use crate::clock::Moment;
use crate::engine::timing::{LEADER_POLL, LEADER_POLL_MIN, LEADER_POLL_WITHOUT_LEASE, LEADER_WORD};
use crate::engine::{Core, Patience};
use crate::sync::lock;
use crate::{FencingToken, Name, Note, Result};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The leader of an election at one moment.
#[non_exhaustive]
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Leader {
    /// The token of its term: larger than that of every earlier leader.
    pub token: FencingToken,
    /// Its announcement; `None` as long as it has announced nothing.
    pub announcement: Option<Vec<u8>>,
    /// Its description of itself: host, process, label.
    pub label: String,
}

impl fmt::Debug for Leader {
    /// An announcement is mostly text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let announcement = self.announcement.as_ref().map(|bytes| bytes.escape_ascii().to_string());
        f.debug_struct("Leader")
            .field("token", &self.token)
            .field("announcement", &announcement)
            .field("label", &self.label)
            .finish()
    }
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
    /// It leads, and its first note has not arrived yet.
    is_silent: bool,
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
    let note = note.filter(|note| holder.as_ref().is_some_and(|holder| holder.owns(note.token)));
    let is_silent = holder.is_some() && note.is_none();
    let leader = holder.map_or(Ok(None), |holder| leader(name, holder, note.as_ref()))?;
    Ok(View { leader, is_silent, revision, again })
}

fn leader(name: &Name, holder: Holder, note: Option<&Note>) -> Result<Option<Leader>> {
    let announcement = match note.map_or(Ok(Announcement::Elected), |note| Announcement::read(name, note))? {
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
    silent: Arc<Mutex<Silent>>,
}

/// The leader that was seen without a first note, and until when that is waited for. Calls that are dropped share it.
type Silent = Option<(FencingToken, Moment)>;

impl LeaderWatch {
    pub(super) fn new(core: Arc<Core>, name: Result<Name>) -> Self {
        Self { core, name, seen: None, newest: FencingToken::from(0), silent: Arc::default() }
    }

    /// Waits for the next change and returns who leads as of then. The first call returns the current state. It never ends by
    /// itself: an election without a leader may get one.
    ///
    /// Changes are reported in order: a leader of an earlier term never follows one of a later term. Changes in quick
    /// succession may be seen as one, but the last of them is always reported. A new leader, an announcement and a
    /// resignation are reported at once, or within 250 ms on stores that do not report changes (PostgreSQL, MySQL, a
    /// quorum). A new leader is given 250 ms for its first note, so that one that is
    /// [announcing](crate::Election::announcing) itself is reported with what it announces; a [`Mutex`](crate::Mutex) of
    /// this name writes none. The death of a leader is reported when its lease ends; that it has dropped its leadership or was
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
        let (core, seen, newest, silent) =
            (self.core.clone(), self.seen.clone(), self.newest, self.silent.clone());
        let news = async move { next(&core, &name, seen.as_ref(), newest, &silent).await };
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
    silent: &Mutex<Silent>,
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
        let word = first_word(&view, &mut lock(silent), core.now());
        if !is_older && seen != Some(&view.leader) && word.is_none() {
            return Ok(view.leader);
        }
        let until = Until::Moment(word.unwrap_or(core.now() + view.again));
        if let Err(e) = core.notes()?.changed(name, KEY, view.revision, until).await {
            patience.failed(core, e, None).await?;
        }
    }
}

/// Until when to wait for the first note of a new leader, which follows the lock after a round trip: a leader that
/// announces itself at once is then one change, not two. Returns `None` for a leader that has said something, or has been
/// silent for too long.
fn first_word(view: &View, silent: &mut Silent, now: Moment) -> Option<Moment> {
    let token = view.leader.as_ref().filter(|_| view.is_silent)?.token;
    let (_, until) = silent.filter(|(of, _)| *of == token).unwrap_or((token, now + LEADER_WORD));
    *silent = Some((token, until));
    (now < until).then_some(until)
}
