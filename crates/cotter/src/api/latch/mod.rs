//! Waiting until a number of parties have arrived.
//!
//! | file | concept |
//! |---|---|
//! | `parties` | the note of a latch |
//! | `update` | reading and changing it |

mod parties;
mod update;

use crate::engine::Core;
use crate::{Error, ErrorKind, Moment, Name, Op, Result};
use parties::{MAX_ID, MAX_PARTIES, Parties, check_id, check_parties};
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use update::{Change, gone, read, update, wait};

/// A named count-down latch: opens once `n` different parties have counted down, and stays open until it is deleted.
///
/// **Is this what you want?** Yes, if work may start only when others, in any process, have finished theirs: the shards
/// of an import, the replicas of a migration. No, if only one at a time may do something ([`Mutex`](crate::Mutex)), if
/// the parties meet repeatedly (create a latch for each round), or if all of them are tasks of one process
/// (`tokio::sync::Barrier`, `JoinSet`).
///
/// A party is an id, not a call: counting down twice with the same id counts once, no matter which process repeats it
/// and whether or not the first answer was lost. Choose ids that identify the party (`shard-7`), not random ones.
///
/// ```
/// # use cotter::{Client, LatchEnd};
/// # fn main() -> cotter::Result<()> {
/// let client = Client::connect("memory:").wait()?;
/// let import = client.latch("import:2026-11");
/// import.create(2).wait()?; // each party may do so: the same number again is no error
/// assert_eq!(import.count_down("shard-1").wait()?, 1);
/// assert_eq!(import.count_down("shard-1").wait()?, 1);
/// assert_eq!(import.count_down("shard-2").wait()?, 0);
/// assert_eq!(import.wait().wait()?, LatchEnd::Open);
/// import.delete().wait()?;
/// # Ok(()) }
/// ```
///
/// A latch is a note beside its name, under the key `cotter:latch`, that is changed by compare-and-set. It therefore
/// works on every store that [can do that](crate::backend::Capabilities::swap), and is unrelated to a lock of the same
/// name. Notes do not expire; a deleted latch leaves a few bytes. A latch takes up to
/// [`MAX_PARTIES`](Self::MAX_PARTIES) parties, because a note has room for that many ids.
///
/// The death of a party goes unnoticed: use [`wait_for`](Self::wait_for) with a limit, then look at the
/// [`state`](Self::state).
#[must_use = "a handle does nothing; call create(), count_down() or wait()"]
#[derive(Clone)]
pub struct Latch {
    core: Arc<Core>,
    name: Result<Name>,
}

/// How a wait for a latch ended.
#[must_use = "a latch that is gone has not opened"]
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum LatchEnd {
    /// All parties have counted down.
    Open,
    /// There is no such latch: it was deleted, or never created.
    Gone,
}

/// The state of a latch at one moment.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LatchState {
    /// The number of parties that open it.
    pub of: u32,
    /// The number of parties that are still missing; zero once the latch is open.
    pub left: u32,
    /// The ids of the parties that have counted down, in order of arrival.
    pub parties: Vec<String>,
}

impl Latch {
    /// The maximum number of parties of a latch.
    pub const MAX_PARTIES: u32 = MAX_PARTIES;
    /// The maximum length of the id of a party, in bytes.
    pub const MAX_ID: usize = MAX_ID;

    pub(crate) fn new(core: Arc<Core>, name: &str) -> Self {
        Self { core, name: Name::new(name) }
    }

    /// Returns the name of the latch.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidName`], which every operation of this handle would report.
    pub fn name(&self) -> Result<&Name> {
        self.name.as_ref().map_err(Clone::clone)
    }

    /// Creates the latch for `parties` parties. Does nothing if it already exists with the same number, open or not.
    ///
    /// Cancel safety: if the call is dropped, the latch may or may not have been created; repeat it.
    ///
    /// # Errors
    /// [`ErrorKind::LimitMismatch`] if it exists with another number, [`ErrorKind::InvalidInput`] for no parties or
    /// more than [`MAX_PARTIES`](Self::MAX_PARTIES), [`ErrorKind::Unsupported`] where the store has no compare-and-set,
    /// [`ErrorKind::Unavailable`] after 30 s without an answer ([`Builder::give_up`](crate::Builder::give_up)).
    pub fn create(&self, parties: u32) -> Op<()> {
        self.op(async move |core, name| {
            check_parties(parties).map_err(|e| e.with_name(&name))?;
            update(&core, &name, |latch| match latch {
                None => Ok(Change::Write(Some(Parties::new(parties)), ())),
                Some(latch) if latch.of == parties => Ok(Change::Keep(())),
                Some(latch) => {
                    let why =
                        format!("this latch is for {} parties, not {parties}; delete it first", latch.of);
                    Err(Error::new(ErrorKind::LimitMismatch, why).with_name(&name))
                }
            })
            .await
        })
    }

    /// Counts down for a party, and returns how many are left. An id counts once, however often this is called; once
    /// the latch is open, nothing counts any more. An id has 1 to [`MAX_ID`](Self::MAX_ID) bytes and no control
    /// characters.
    ///
    /// Cancel safety: if the call is dropped, the party may or may not have been counted; repeat it with the same id.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if there is no such latch, [`ErrorKind::InvalidInput`] for a bad id; otherwise as
    /// [`create`](Self::create).
    pub fn count_down(&self, party: impl AsRef<str>) -> Op<u32> {
        let party = party.as_ref().to_owned();
        self.op(async move |core, name| {
            check_id(&party).map_err(|e| e.with_name(&name))?;
            let mut first = None;
            update(&core, &name, |latch| {
                // After a lost answer it may be another latch of the same name, which this call has nothing to do with.
                let mut latch =
                    latch.filter(|l| *first.get_or_insert(l.id) == l.id).ok_or_else(|| gone(&name))?;
                let added = latch.add(&party);
                let left = latch.left();
                Ok(if added { Change::Write(Some(latch), left) } else { Change::Keep(left) })
            })
            .await
        })
    }

    /// Waits until the latch is open, or gone.
    ///
    /// Cancel safe: dropping the call ends the wait.
    ///
    /// # Errors
    /// [`ErrorKind::Unavailable`] after 30 s without any answer from the store
    /// ([`Builder::give_up`](crate::Builder::give_up)), [`ErrorKind::Unsupported`] where it has no compare-and-set.
    pub fn wait(&self) -> Op<LatchEnd> {
        let waiting = self.waiting(None);
        Op::new(&self.core.engine, async move {
            let why = "the store ended a wait without end";
            waiting.await?.ok_or_else(|| Error::new(ErrorKind::Protocol, why))
        })
    }

    /// Waits until the latch is open, or gone, for at most `within`. Returns `None` if the latch was closed all that
    /// time.
    ///
    /// Cancel safe: dropping the call ends the wait.
    ///
    /// # Errors
    /// As [`wait`](Self::wait); [`ErrorKind::Unavailable`] also if the store did not answer within the time.
    pub fn wait_for(&self, within: Duration) -> Op<Option<LatchEnd>> {
        Op::new(&self.core.engine, self.waiting(Some(within)))
    }

    /// Returns which parties have counted down; `None` if there is no such latch.
    ///
    /// Cancel safe: it only reads.
    ///
    /// # Errors
    /// [`ErrorKind::Unavailable`] if the store did not answer, [`ErrorKind::Unsupported`] where it has no compare-and-set.
    pub fn state(&self) -> Op<Option<LatchState>> {
        self.op(async move |core, name| {
            let latch = read(&core, &name).await?;
            Ok(latch.map(|l| LatchState { of: l.of, left: l.left(), parties: l.ids }))
        })
    }

    /// Deletes the latch. Waiters learn that it is [gone](LatchEnd::Gone), unless it was open already, even if it is
    /// created again at once. Does nothing if there is no such latch.
    ///
    /// Cancel safety: if the call is dropped, the latch may or may not have been deleted.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub fn delete(&self) -> Op<()> {
        self.op(async move |core, name| {
            update(&core, &name, |latch| {
                Ok(if latch.is_some() { Change::Write(None, ()) } else { Change::Keep(()) })
            })
            .await
        })
    }

    fn op<T, F>(&self, work: impl FnOnce(Arc<Core>, Name) -> F + Send + 'static) -> Op<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let (core, name) = (self.core.clone(), self.name.clone());
        Op::new(&self.core.engine, async move {
            let name = ready(&core, name)?;
            core.on_engine(work(core.clone(), name)).await
        })
    }

    fn waiting(&self, within: Option<Duration>) -> impl Future<Output = Result<Option<LatchEnd>>> + use<> {
        let (core, name) = (self.core.clone(), self.name.clone());
        async move {
            let name = ready(&core, name)?;
            let end: Option<Moment> = within.map(|within| core.now() + within);
            let asked = core.clone();
            let named = name.clone();
            let waiting = async move { wait(&asked, &name, end).await };
            core.wait_on_engine(waiting, end).await.map_err(|e| e.with_name(&named))
        }
    }
}

/// Refuses what cannot work, before any I/O.
fn ready(core: &Core, name: Result<Name>) -> Result<Name> {
    core.usable()?;
    let name = name?;
    core.swap().map_err(|e| e.with_name(&name))?;
    Ok(name)
}

impl fmt::Debug for Latch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Latch").field("name", &self.name).finish_non_exhaustive()
    }
}
