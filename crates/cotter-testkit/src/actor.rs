//! One process of a history that is played inside this one.

use crate::history::{Recorder, Use, What};
use cotter::{Client, Guard, Lost, Released, Result};
use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

type Now = Arc<dyn Fn() -> u64 + Send + Sync>;

/// A client that records what it does. Cloning gives another task of the same process.
#[derive(Clone)]
pub struct Actor {
    client: Client,
    log: Recorder,
    now: Now,
    attempts: Arc<AtomicU64>,
}

/// A guard whose end is recorded. Dropping it records a release.
#[derive(Debug)]
pub struct Played {
    actor: Actor,
    attempt: u64,
    guard: Option<Guard>,
    /// The latest deadline that was seen; renewals move it.
    deadline: AtomicU64,
}

/// How often a holder looks at its deadline. A renewal moves it by more than this, so none is missed.
const LOOK: Duration = Duration::from_millis(10);

impl Actor {
    /// Plays this process of the log, with the system's time.
    pub fn new(client: Client, log: &Recorder, process: u32) -> Self {
        Self::on_clock(client, log, process, crate::now)
    }

    /// The same with another time, which must be the client's own.
    pub fn on_clock(
        client: Client,
        log: &Recorder,
        process: u32,
        now: impl Fn() -> u64 + Send + Sync + 'static,
    ) -> Self {
        Self { client, log: log.of_process(process), now: Arc::new(now), attempts: Arc::default() }
    }

    /// Its client.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Waits for the lock.
    ///
    /// # Errors
    /// As [`cotter::Mutex::lock`].
    pub async fn lock(&self, name: &str) -> Result<Played> {
        self.acquire(name, Use::Exclusive).await
    }

    /// One attempt.
    ///
    /// # Errors
    /// As [`cotter::Mutex::try_lock`].
    pub async fn try_lock(&self, name: &str) -> Result<Option<Played>> {
        self.try_acquire(name, Use::Exclusive).await
    }

    /// Waits for this time.
    ///
    /// # Errors
    /// As [`cotter::Mutex::try_lock_for`].
    pub async fn try_lock_for(&self, name: &str, wait: Duration) -> Result<Option<Played>> {
        self.try_acquire_for(name, Use::Exclusive, wait).await
    }

    /// Waits until the name is held in this way.
    ///
    /// # Errors
    /// As [`cotter::Semaphore::acquire`].
    pub async fn acquire(&self, name: &str, mode: Use) -> Result<Played> {
        let guard = async {
            Ok(Some(match mode {
                Use::Exclusive => self.client.mutex(name).lock().await?,
                Use::Shared => self.client.rwlock(name).read().await?.into(),
                Use::Permits { take, of } => {
                    self.client.semaphore(name, of).take(take).acquire().await?.into()
                }
            }))
        };
        Ok(self.ask(name, mode, true, guard).await?.expect("a wait without end ends with a guard"))
    }

    /// One attempt to hold the name in this way.
    ///
    /// # Errors
    /// As [`cotter::Semaphore::try_acquire`].
    pub async fn try_acquire(&self, name: &str, mode: Use) -> Result<Option<Played>> {
        let guard = async {
            Ok(match mode {
                Use::Exclusive => self.client.mutex(name).try_lock().await?,
                Use::Shared => self.client.rwlock(name).try_read().await?.map(Guard::from),
                Use::Permits { take, of } => {
                    self.client.semaphore(name, of).take(take).try_acquire().await?.map(Guard::from)
                }
            })
        };
        self.ask(name, mode, false, guard).await
    }

    /// Waits for at most this time to hold the name in this mode.
    ///
    /// # Errors
    /// As [`cotter::Semaphore::try_acquire_for`].
    pub async fn try_acquire_for(&self, name: &str, mode: Use, wait: Duration) -> Result<Option<Played>> {
        let guard = async {
            Ok(match mode {
                Use::Exclusive => self.client.mutex(name).try_lock_for(wait).await?,
                Use::Shared => self.client.rwlock(name).try_read_for(wait).await?.map(Guard::from),
                Use::Permits { take, of } => {
                    self.client.semaphore(name, of).take(take).try_acquire_for(wait).await?.map(Guard::from)
                }
            })
        };
        self.ask(name, mode, true, guard).await
    }

    /// Campaigns, and announces its token as the leader.
    ///
    /// # Errors
    /// As [`cotter::Election::campaign`].
    pub async fn campaign(&self, name: &str) -> Result<Played> {
        let election = self.client.election(name);
        let asking = self.ask(name, Use::Exclusive, true, async move {
            let leadership = election.campaign().await?;
            leadership.announce(leadership.token().to_string()).await?;
            Ok(Some(Guard::from(leadership)))
        });
        Ok(asking.await?.expect("a wait without end ends with a guard"))
    }

    async fn ask(
        &self,
        name: &str,
        mode: Use,
        patient: bool,
        asking: impl Future<Output = Result<Option<Guard>>>,
    ) -> Result<Option<Played>> {
        let attempt = self.attempts.fetch_add(1, Ordering::Relaxed);
        self.record(What::Wanted { attempt, name: name.to_owned(), mode, patient });
        let mut leaving = Leaving { actor: self, attempt, why: "cancelled".to_owned(), done: false };
        match asking.await {
            Ok(Some(guard)) => {
                leaving.done = true;
                let (token, now) = (guard.token().get(), (self.now)());
                // A process that was stopped may be given what is over already.
                let deadline = self.deadline(&guard).or_else(|| guard.remaining().map(|_| now));
                self.record(What::Acquired { attempt, token, deadline });
                let deadline = AtomicU64::new(deadline.unwrap_or(0));
                Ok(Some(Played { actor: self.clone(), attempt, guard: Some(guard), deadline }))
            }
            Ok(None) => {
                leaving.why = "busy".to_owned();
                Ok(None)
            }
            Err(e) => {
                leaving.why = format!("error: {e}");
                Err(e)
            }
        }
    }

    fn deadline(&self, guard: &Guard) -> Option<u64> {
        // The clock first: a process that is stopped in between must not believe in a later deadline than the guard.
        let now = (self.now)();
        let left = guard.remaining().filter(|d| !d.is_zero())?;
        Some(now + left.as_nanos() as u64)
    }

    fn record(&self, what: What) {
        self.log.record_at((self.now)(), what);
    }
}

/// Records that a wait ended without a guard, also when it was dropped.
struct Leaving<'a> {
    actor: &'a Actor,
    attempt: u64,
    why: String,
    done: bool,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        if !self.done {
            let why = std::mem::take(&mut self.why);
            self.actor.record(What::Left { attempt: self.attempt, why });
        }
    }
}

impl Played {
    /// The guard.
    pub fn guard(&self) -> &Guard {
        self.guard.as_ref().expect("taken only when it ends")
    }

    /// Gives it back.
    ///
    /// # Errors
    /// As [`Guard::release`].
    pub async fn release(mut self) -> Result<Released> {
        let (actor, attempt) = (self.actor.clone(), self.attempt);
        let answer = self.take().release().await;
        actor.record(What::Released { attempt, answer: format!("{answer:?}") });
        answer
    }

    /// Gives it back, and fails if it was lost on the way.
    ///
    /// # Errors
    /// As [`Guard::finish`].
    pub async fn finish(self) -> Result<()> {
        let lost = self.guard().lost();
        match self.release().await? {
            Released::AlreadyLost => Err(lost.await.into()),
            _ => Ok(()),
        }
    }

    /// Asks for its release and does not wait for it, nor poll it: it must be carried out all the same.
    pub fn release_unpolled(mut self) {
        drop(self.take().release());
    }

    fn take(&mut self) -> Guard {
        self.releasing();
        self.guard.take().expect("taken only when it ends")
    }

    /// Works inside the lock until it is done or the loss is told, which is recorded.
    ///
    /// # Errors
    /// [`Lost`]; the work was dropped where it stood.
    pub async fn work<F: Future>(&self, work: F) -> Result<F::Output, Lost> {
        let mut scope = pin!(self.guard().scope(work));
        let done = loop {
            tokio::select! {
                biased;
                done = &mut scope => break done,
                () = tokio::time::sleep(LOOK) => drop(self.last_deadline()),
            }
        };
        done.inspect_err(|lost| self.lost(lost))
    }

    /// Records that the loss was told, and when.
    pub fn lost(&self, lost: &Lost) {
        let (cause, deadline) = (format!("{:?}", lost.cause), self.last_deadline());
        self.actor.record(What::Lost { attempt: self.attempt, cause, deadline });
    }

    fn releasing(&self) {
        let deadline = self.last_deadline();
        self.actor.record(What::Releasing { attempt: self.attempt, deadline });
    }

    /// A lost guard does not say any more until when it was valid.
    fn last_deadline(&self) -> Option<u64> {
        let now = self.actor.deadline(self.guard()).unwrap_or(0);
        let latest = self.deadline.fetch_max(now, Ordering::Relaxed).max(now);
        (latest > 0).then_some(latest)
    }
}

impl Drop for Played {
    fn drop(&mut self) {
        if self.guard.is_some() {
            self.releasing();
        }
    }
}

impl fmt::Debug for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Actor").field("client", &self.client).finish_non_exhaustive()
    }
}
