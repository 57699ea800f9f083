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
use crate::{ErrorKind, Guard, Lease, Mode, Name, Op, Result};
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
/// let election = client.election("scheduler");
/// let leadership = election.campaign().await?;
/// leadership.announce("10.0.0.7:8080").await?;
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
pub struct Election(LockRequest);

impl Election {
    /// The maximum length of an announcement, in bytes.
    pub const MAX_ANNOUNCEMENT: usize = MAX_ANNOUNCEMENT;

    pub(crate) fn new(core: Arc<Core>, name: &str) -> Self {
        let mut request = LockRequest::new(core, name);
        request.alone = true;
        Self(request)
    }

    /// Returns the name of the election.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidName`], which every operation of this handle would report.
    pub fn name(&self) -> Result<&Name> {
        self.0.name()
    }

    /// Sets how long a leadership lasts without a sign of life, and whether it is renewed. Default: the lease of the client.
    pub fn lease(mut self, lease: Lease) -> Self {
        self.0.lease = lease;
        self
    }

    /// Campaigns, waiting until this candidate leads. To campaign again after a loss, call this again.
    ///
    /// Cancel safety: dropping the call ends the candidacy, and a leadership that was won meanwhile is given up in the
    /// background.
    ///
    /// # Errors
    /// As [`Mutex::lock`](crate::Mutex::lock); [`ErrorKind::Lost`] if the leadership was lost as soon as it was won,
    /// [`ErrorKind::Unsupported`] where the store has no notes.
    pub fn campaign(&self) -> Op<Leadership> {
        let (election, won) = (self.clone(), self.0.forever(Mode::Exclusive, |guard| guard));
        Op::new(&self.0.core().engine, async move {
            election.check()?;
            elected(won.await?).await
        })
    }

    /// Campaigns for at most `wait`. Returns `None` if another candidate led all that time.
    ///
    /// Cancel safety: as for [`campaign`](Self::campaign).
    ///
    /// # Errors
    /// As [`campaign`](Self::campaign); [`ErrorKind::Unavailable`] if the store did not answer within `wait`.
    pub fn campaign_for(&self, wait: Duration) -> Op<Option<Leadership>> {
        let won = self.0.within(Mode::Exclusive, Wait::For(wait), |guard| guard);
        let election = self.clone();
        Op::new(&self.0.core().engine, async move {
            election.check()?;
            match won.await? {
                Some(guard) => elected(guard).await.map(Some),
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
        let (core, name) = (self.0.core().clone(), self.0.name().cloned());
        Op::new(&self.0.core().engine, async move {
            core.usable()?;
            let (asked, name) = (core.clone(), name?);
            watch::check(&core).map_err(|e| e.with_name(&name))?;
            core.on_engine(async move { Ok(watch::look(&asked, &name).await?.leader) }).await
        })
    }

    /// Returns a watch that follows the leader. Nothing is requested before its first [`changed`](LeaderWatch::changed).
    pub fn watch(&self) -> LeaderWatch {
        LeaderWatch::new(self.0.core().clone(), self.0.name().cloned())
    }

    /// Refuses a store in which nobody could follow.
    fn check(&self) -> Result<()> {
        let name = self.0.name()?;
        self.0.core().notes().map(|_| ()).map_err(|e| e.with_name(name))
    }
}

/// Tells the observers.
async fn elected(guard: Guard) -> Result<Leadership> {
    match guard.put_note_at(KEY, Announcement::Elected.bytes()).await {
        // Observers find out without it.
        Err(e) if !matches!(e.kind(), ErrorKind::Unavailable | ErrorKind::NoQuorum) => Err(e),
        _ => Ok(Leadership::new(guard)),
    }
}

impl fmt::Debug for Election {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.describe("Election", f)
    }
}
