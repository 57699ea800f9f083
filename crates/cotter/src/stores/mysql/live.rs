//! A connection to the server, shared by many requests, and the task that it belongs to.

use super::errors::{ended, no_answer};
use super::fate::Caller;
use super::session::{Session, Signs};
use crate::stores::shared::net::{self, AtHost, Load, next_number};
use crate::stores::shared::sql::sessions::SessionLive;
use crate::{Clock, Moment, Result};
use mysql_async::Conn;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::{Notify, mpsc, oneshot, watch};

/// The work for a connection: one or more statements, which run to their end.
type Job = Box<dyn for<'s> FnOnce(&'s mut Session) -> Running<'s, ()> + Send>;

/// A job that runs.
pub(super) type Running<'s, T> = Pin<Box<dyn Future<Output = T> + Send + 's>>;

/// A commit of a healthy server waits for a fraction of this time.
const HANGING_COMMIT: &str = "SELECT EXISTS (SELECT 1 FROM information_schema.processlist WHERE time >= 1 \
    AND state LIKE 'Waiting for semi-sync ACK from %')";

/// One connection. Jobs run one after the other, in the order of their first poll.
pub(super) struct Live {
    jobs: mpsc::UnboundedSender<Job>,
    signs: Arc<Signs>,
    /// Has the task end at once.
    stop: Arc<Notify>,
    /// Unique in this process.
    pub(super) number: u64,
    timeout: Duration,
    load: Load,
    at: AtHost,
}

impl Live {
    /// Hands a connection over to a task of the caller's runtime.
    /// `stays` is kept until the server has been told that it ends.
    pub(super) fn start(
        conn: Conn,
        clock: Arc<dyn Clock>,
        timeout: Duration,
        at: AtHost,
        stays: watch::Receiver<()>,
    ) -> Self {
        let (jobs, queue) = mpsc::unbounded_channel();
        let (signs, stop) = (Arc::<Signs>::default(), Arc::<Notify>::default());
        let session = Session::new(conn, clock, signs.clone());
        let working = work(session, queue, stop.clone());
        tokio::spawn(async move {
            working.await;
            drop(stays);
        });
        Self { jobs, signs, stop, number: next_number(), timeout, load: Load::default(), at }
    }

    /// The requests that were not answered yet.
    pub(super) fn load(&self) -> &Load {
        &self.load
    }

    /// Runs a job that changes something, if there is anything to change, and waits for its answer. If the future is dropped, the
    /// statement that is under way runs to its end, and no further one is sent. An error says whether the job may have changed
    /// something.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        job: impl for<'s> FnOnce(&'s mut Session) -> Running<'s, Result<T>> + Send + 'static,
    ) -> Result<T> {
        let caller = Caller::default();
        let answer = self.answer(&caller, job).await;
        let written = answer.as_ref().map(|_| caller.fate().has_written());
        self.at.count(written, self.has_hanging_commit()).await;
        answer
    }

    /// Whether a commit waits for a replica in vain, as far as this user may see.
    async fn has_hanging_commit(&self) -> bool {
        let asked = self.ask(|session| Box::pin(async move { session.read(HANGING_COMMIT, ()).await })).await;
        asked.is_ok_and(|rows| rows.first().and_then(|row| row.get(0)) == Some(true))
    }

    /// The same for a job that only asks, or concerns its session alone: it says nothing about whether the server carries out what has
    /// to be written.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        job: impl for<'s> FnOnce(&'s mut Session) -> Running<'s, Result<T>> + Send + 'static,
    ) -> Result<T> {
        self.answer(&Caller::default(), job).await
    }

    async fn answer<T: Send + 'static>(
        &self,
        caller: &Caller,
        job: impl for<'s> FnOnce(&'s mut Session) -> Running<'s, Result<T>> + Send + 'static,
    ) -> Result<T> {
        let _pending = self.load.enter();
        let before = self.signs.answers.load(Ordering::Relaxed);
        let answer = self.hand_over(caller, job)?;
        match tokio::time::timeout(self.timeout, answer).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(ended(caller.fate().abandon())),
            Err(_) => {
                // If nothing at all was answered in this time, the connection is dead.
                if self.signs.answers.load(Ordering::Relaxed) == before {
                    self.signs.broken.store(true, Ordering::Release);
                }
                Err(no_answer(self.timeout, caller.fate().abandon()))
            }
        }
    }
}

impl Live {
    /// The same without a time limit.
    pub(super) async fn wait<T: Send + 'static>(
        &self,
        job: impl for<'s> FnOnce(&'s mut Session) -> Running<'s, Result<T>> + Send + 'static,
    ) -> Result<T> {
        let caller = Caller::default();
        let _pending = self.load.enter();
        let answer = self.hand_over(&caller, job)?;
        answer.await.unwrap_or_else(|_| Err(ended(caller.fate().abandon())))
    }

    fn hand_over<T: Send + 'static>(
        &self,
        caller: &Caller,
        job: impl for<'s> FnOnce(&'s mut Session) -> Running<'s, Result<T>> + Send + 'static,
    ) -> Result<oneshot::Receiver<Result<T>>> {
        let (done, answer) = oneshot::channel();
        let fate = caller.fate().clone();
        let job: Job = Box::new(move |session| {
            Box::pin(async move {
                if !fate.is_abandoned() {
                    session.fate = fate;
                    let _ = done.send(job(session).await);
                }
            })
        });
        self.jobs.send(job).map_err(|_| ended(false))?;
        Ok(answer)
    }
}

/// After a pause of this length, the server is asked whether it has closed the connection: nobody reads it between two jobs, and a
/// statement that changes something would have no known outcome.
const PAUSE: Duration = Duration::from_millis(500);

/// Runs jobs until nobody can send any more, or the connection is broken.
async fn work(mut session: Session, mut jobs: mpsc::UnboundedReceiver<Job>, stop: Arc<Notify>) {
    let mut used = session.now();
    while let Some(job) = jobs.recv().await {
        let was_idle = session.now().since(used) >= PAUSE;
        let running = async {
            // A job that was not begun is begun on another connection.
            if !was_idle || session.is_there().await {
                job(&mut session).await;
            }
        };
        tokio::select! {
            biased;
            () = running => {}
            () = stop.notified() => break,
        }
        used = session.now();
        if session.is_broken() {
            break;
        }
    }
    // Whoever waits for a job that was not begun is told so before the farewell.
    drop(jobs);
    session.close().await;
}

impl net::Live for Live {
    fn is_usable(&self) -> bool {
        self.at.is_good() && !self.signs.broken.load(Ordering::Acquire) && !self.jobs.is_closed()
    }

    /// The task of the connection asks the server after a pause.
    fn may_be_stale(&self, _: impl FnOnce() -> Moment) -> bool {
        false
    }
}

impl SessionLive for Live {
    fn give_up(&self) {
        self.signs.broken.store(true, Ordering::Release);
    }

    /// Nobody reads the connection between two statements.
    async fn ended(&self) {
        self.jobs.closed().await;
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        // A task that is left alone ends after its last job; one whose connection is dead would stay.
        if self.signs.broken.load(Ordering::Acquire) {
            self.stop.notify_one();
        }
    }
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live").field("number", &self.number).finish_non_exhaustive()
    }
}
