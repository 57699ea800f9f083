//! One leader at a time, and everybody knows which.
//!
//! | file | concept |
//! |---|---|
//! | `leadership` | being the leader |
//! | `announcement` | the note in which a leader announces itself |
//! | `watch` | following the leader |

mod announcement;
mod leadership;
mod watch;

pub use leadership::Leadership;
pub use watch::{Leader, LeaderState, LeaderWatch};

use crate::api::request::LockRequest;
use crate::engine::{Core, Wait};
use crate::{Error, ErrorKind, Guard, Lease, Mode, Name, Op, Result};
use announcement::{Announcement, KEY, MAX_ANNOUNCEMENT};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A named election: candidates campaign, one of them leads until its leadership ends, and any client can follow who
/// leads.
///
/// **Is this what you want?** Yes, if one of several replicas has to do something all the time, or if others have to
/// know which of them it is. No, if the work is a run that ends ([`Mutex`](crate::Mutex), or a scheduler), or if two
/// leaders must be impossible under any circumstances: no lease can promise that, only a resource that checks the
/// leader's [token](Guard::token) can.
///
/// ```
/// # use cotter::Client;
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> cotter::Result<()> {
/// let client = Client::connect("memory:").await?;
/// let election = client.election("scheduler").announcing("10.0.0.7:8080");
/// let leadership = election.campaign().await?;
///
/// let leader = election.leader().await?.expect("somebody leads");
/// assert_eq!(leader.announcement.as_deref(), Some(&b"10.0.0.7:8080"[..]));
///
/// if let Err(lost) = leadership.scope(async { /* lead */ }).await {
///     eprintln!("stop, and campaign again: {lost}");
/// }
/// leadership.resign().await?;
/// assert_eq!(election.leader().await?, None);
/// # Ok(()) }
/// ```
///
/// The holder of the lock of this name is the leader: `mutex(n)` and `election(n)` exclude each other. An announcement
/// is a note beside the name, under the key `cotter:leader`, written under the leader's token. The note outlives its
/// writer, so an announcement counts only while the lock is held under the same token: that of a dead leader is never
/// mistaken for that of a live one.
///
/// Candidates take turns in the order of the store's queue, including those of one process. A candidate is never
/// re-elected without the store: there are no [local turns](crate::Builder::local_turns), and no owners.
#[must_use = "a handle does nothing; call campaign(), leader() or watch()"]
#[derive(Clone)]
pub struct Election {
    request: LockRequest,
    /// What a candidate announces as soon as it leads.
    announcement: Option<Vec<u8>>,
}

impl Election {
    /// The maximum length of an announcement, in bytes.
    pub const MAX_ANNOUNCEMENT: usize = MAX_ANNOUNCEMENT;

    pub(crate) fn new(core: Arc<Core>, name: &str) -> Self {
        let mut request = LockRequest::new(core, name);
        request.alone = true;
        Self { request, announcement: None }
    }

    /// Returns the name of the election.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidName`], which every operation of this handle would report.
    pub fn name(&self) -> Result<&Name> {
        self.request.name()
    }

    /// Sets how long a leadership lasts without a sign of life, and whether it is renewed. Default: the lease of the client.
    pub fn lease(mut self, lease: Lease) -> Self {
        self.request.lease = lease;
        self
    }

    /// Makes [`campaign`](Self::campaign) and [`campaign_for`](Self::campaign_for) publish an announcement as soon as
    /// this candidate leads, before they return: who follows sees a new leader and its announcement as one change.
    /// [`announce`](Leadership::announce) replaces it later.
    ///
    /// A campaign fails with [`ErrorKind::InvalidInput`], without any I/O, for more than
    /// [`MAX_ANNOUNCEMENT`](Self::MAX_ANNOUNCEMENT) bytes.
    pub fn announcing(mut self, announcement: impl Into<Vec<u8>>) -> Self {
        self.announcement = Some(announcement.into());
        self
    }

    /// Campaigns, waiting until this candidate leads. To campaign again after a loss, call this again.
    ///
    /// Cancel safety: dropping the call ends the candidacy, and a leadership that was won meanwhile is given up in the
    /// background.
    ///
    /// # Errors
    /// As [`Mutex::lock`](crate::Mutex::lock); [`ErrorKind::Lost`] if the leadership was lost as soon as it was won,
    /// [`ErrorKind::Unsupported`] where the store has no notes. With [`announcing`](Self::announcing), any error of the
    /// announcement: the leadership is then given up, so that nobody leads without being found.
    pub fn campaign(&self) -> Op<Leadership> {
        let (election, won) = (self.clone(), self.request.forever(Mode::Exclusive, |guard| guard));
        Op::new(&self.request.core().engine, async move {
            election.check()?;
            election.elected(won.await?).await
        })
    }

    /// Campaigns for at most `wait`. Returns `None` if another candidate led all that time.
    ///
    /// Cancel safety: as for [`campaign`](Self::campaign).
    ///
    /// # Errors
    /// As [`campaign`](Self::campaign); [`ErrorKind::Unavailable`] if the store did not answer within `wait`.
    pub fn campaign_for(&self, wait: Duration) -> Op<Option<Leadership>> {
        let won = self.request.within(Mode::Exclusive, Wait::For(wait), |guard| guard);
        let election = self.clone();
        Op::new(&self.request.core().engine, async move {
            election.check()?;
            match won.await? {
                Some(guard) => election.elected(guard).await.map(Some),
                None => Ok(None),
            }
        })
    }

    /// Returns the current leader, if there is one.
    ///
    /// The answer may be out of date by the time it arrives, but it is never a leader whose lease had ended before the
    /// call.
    ///
    /// Cancel safe: it only reads.
    ///
    /// # Errors
    /// [`ErrorKind::Unavailable`] if the store did not answer, [`ErrorKind::Unsupported`] where it has no notes or does
    /// not tell who holds a lock, [`ErrorKind::ForeignKey`] if the note was written by something else.
    pub fn leader(&self) -> Op<Option<Leader>> {
        let (core, name) = (self.request.core().clone(), self.request.name().cloned());
        Op::new(&self.request.core().engine, async move {
            core.usable()?;
            let (asked, name) = (core.clone(), name?);
            watch::check(&core).map_err(|e| e.with_name(&name))?;
            core.on_engine(async move { Ok(watch::look(&asked, &name).await?.leader) }).await
        })
    }

    /// Returns a watch that follows the leader. Nothing is requested before its first [`changed`](LeaderWatch::changed).
    pub fn watch(&self) -> LeaderWatch {
        LeaderWatch::new(self.request.core().clone(), self.request.name().cloned())
    }

    /// Refuses a store in which nobody could follow, and an announcement that no store keeps.
    fn check(&self) -> Result<()> {
        let name = self.request.name()?;
        self.request.core().notes().map_err(|e| e.with_name(name))?;
        self.first_word().check_size(name)
    }

    fn first_word(&self) -> Announcement {
        self.announcement.clone().map_or(Announcement::Elected, Announcement::Made)
    }

    /// Tells the observers.
    async fn elected(&self, guard: Guard) -> Result<Leadership> {
        match guard.put_note_at(KEY, self.first_word().bytes()).await {
            // Observers find out that there is a leader without its note, but not what it announces.
            Err(e) if self.announcement.is_some() || !is_unreachable(&e) => Err(e),
            _ => Ok(Leadership::new(guard)),
        }
    }
}

fn is_unreachable(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::NoQuorum)
}

impl fmt::Debug for Election {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.request.describe("Election", f)
    }
}
