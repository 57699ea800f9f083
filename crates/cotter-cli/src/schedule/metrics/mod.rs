//! `--metrics`: figures about the jobs for Prometheus, and whether the store answers.
//!
//! | file | concept |
//! |---|---|
//! | `server` | HTTP |
//! | `figures`, `locks` | what this process has seen of each job, and of the locks that jobs take |
//! | `health` | when the store has last answered |
//! | `page`, `locks_page` | all figures as text; those of locks |

mod figures;
mod health;
mod locks;
mod locks_page;
mod page;
mod server;

use cotter::Client;
use cotter_console::duration::words;
use cotter_console::{Exit, Failure};
use cotter_scheduler::{Event, Handle, JobStatus, Jobs, UnixTime};
use figures::Figures;
use health::Health;
use locks::Locks;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

/// The status of the jobs is loaded from the store at most this often, however often it is asked for.
const MAX_AGE: Duration = Duration::from_secs(5);
/// How long a page waits for the store.
const STORE_TIMEOUT: Duration = Duration::from_secs(5);

/// The data behind the page.
pub(super) struct Metrics {
    group: String,
    figures: Figures,
    locks: Locks,
    health: Health,
    /// The store, once it has answered.
    store: OnceLock<Client>,
    /// The scheduler, once there is one.
    scheduler: OnceLock<Handle>,
    /// The status of all jobs if the store has answered, and when it was asked.
    loaded: tokio::sync::Mutex<Option<(Instant, Option<Arc<Status>>)>>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

/// The status of the jobs in the store, whichever host has run them.
struct Status {
    jobs: Vec<JobStatus>,
    now: UnixTime,
}

impl Metrics {
    /// Serves at this address until it is dropped. Returns the address too, in case the port was left to the system.
    pub(super) async fn start(
        at: SocketAddr,
        unhealthy_after: Duration,
        group: &str,
    ) -> Result<(Arc<Self>, SocketAddr), Failure> {
        let failed = |error| Failure::new(Exit::Config, format!("--metrics {at}: cannot listen: {error}"));
        let listener = TcpListener::bind(at).await.map_err(failed)?;
        let at = listener.local_addr().map_err(failed)?;
        let metrics = Arc::new(Self {
            group: group.to_owned(),
            figures: Figures::default(),
            locks: Locks::new(group),
            health: Health::new(unhealthy_after),
            store: OnceLock::new(),
            scheduler: OnceLock::new(),
            loaded: tokio::sync::Mutex::default(),
            tasks: Mutex::default(),
        });
        metrics.keep(tokio::spawn(server::serve(listener, Arc::downgrade(&metrics))));
        Ok((metrics, at))
    }

    /// Starts to ask the store.
    pub(super) fn connected(self: &Arc<Self>, client: &Client) {
        if self.store.set(client.clone()).is_ok() {
            self.health.answered();
            let asking = health::ask(client.clone(), self.group.clone(), Arc::downgrade(self));
            self.keep(tokio::spawn(asking));
        }
    }

    /// Sets the scheduler whose workers are counted.
    pub(super) fn scheduled_by(&self, scheduler: &Handle) {
        let _ = self.scheduler.set(scheduler.clone());
    }

    /// Sets the names of the jobs, and of the locks and limits that the file gives them.
    pub(super) fn names<'a>(
        &self,
        jobs: impl Iterator<Item = &'a str>,
        locks: impl Iterator<Item = &'a str>,
    ) {
        self.figures.names(jobs);
        self.locks.names(locks);
    }

    /// An event of a lock of this process.
    pub(super) fn of_lock(&self, event: &cotter::Event) {
        self.locks.event(event);
    }

    pub(super) fn event(&self, event: &Event) {
        self.figures.event(event);
    }

    /// The page with all figures.
    async fn page(&self) -> String {
        let status = self.status().await;
        let workers = self.scheduler.get().and_then(Handle::workers);
        let own = page::Own { jobs: self.figures.all(), locks: self.locks.all(), workers };
        page::page(&self.group, &own, &self.health, status.as_deref())
    }

    /// Whether the store answers, and the page that says so.
    fn healthz(&self) -> Result<String, String> {
        match (self.health.silence(), self.health.is_healthy()) {
            (_, true) => Ok("ok\n".to_owned()),
            (Some(silence), _) => Err(format!("the store has not answered for {}\n", words(silence))),
            (None, _) => Err("the store has not answered yet\n".to_owned()),
        }
    }

    /// The status of all jobs, unless the store does not answer.
    async fn status(&self) -> Option<Arc<Status>> {
        let client = self.store.get()?;
        let mut loaded = self.loaded.lock().await;
        if let Some((at, status)) = &*loaded
            && at.elapsed() < MAX_AGE
        {
            return status.clone();
        }
        let loading = async {
            let of_group = Jobs::new(client, &self.group);
            let jobs = of_group.list().await.ok()?;
            Some(Arc::new(Status { jobs, now: of_group.now().await.ok()? }))
        };
        let status = timeout(STORE_TIMEOUT, loading).await.ok().flatten();
        if status.is_some() {
            self.health.answered();
        }
        *loaded = Some((Instant::now(), status.clone()));
        status
    }

    fn keep(&self, task: JoinHandle<()>) {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).push(task);
    }
}

impl Drop for Metrics {
    fn drop(&mut self) {
        let tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        tasks.iter().for_each(JoinHandle::abort);
    }
}
