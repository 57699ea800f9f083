//! A store, replicas on it, and what they do.

use cotter::backend::{Connect, Host};
use cotter::clock::{Clock, Moment, Sleep};
use cotter::{Client, memory};
use cotter_scheduler::{Event, EventKind, Handle, Job, Run, Scheduler, Trigger, UnixTime};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub(crate) const S: Duration = Duration::from_secs(1);
pub(crate) const MS: Duration = Duration::from_millis(1);

/// Timers of the runtime go by milliseconds.
const GRAIN: Duration = Duration::from_millis(5);

/// What happened, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<Started>>>, Arc<Mutex<Vec<Event>>>);

/// One start of a job's work.
#[derive(Debug, Clone)]
pub(crate) struct Started {
    pub(crate) job: &'static str,
    pub(crate) slot: UnixTime,
    pub(crate) attempt: u32,
    pub(crate) token: u64,
    pub(crate) at: tokio::time::Instant,
}

impl Log {
    pub(crate) fn add(&self, job: &'static str, run: &Run) {
        let at = tokio::time::Instant::now();
        let (slot, attempt, token) = (run.slot(), run.attempt(), run.token().get());
        self.0.lock().unwrap().push(Started { job, slot, attempt, token, at });
    }

    pub(crate) fn starts(&self) -> Vec<Started> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    pub(crate) fn events(&self, wanted: impl Fn(&EventKind) -> bool) -> usize {
        self.1.lock().unwrap().iter().filter(|event| wanted(&event.kind)).count()
    }

    pub(crate) fn told(&self) -> Vec<String> {
        self.1.lock().unwrap().iter().map(ToString::to_string).collect()
    }

    /// The slots that were started, in order.
    pub(crate) fn slots(&self) -> Vec<String> {
        self.starts().iter().map(|s| s.slot.to_string()).collect()
    }

    /// A job whose runs take so long.
    pub(crate) fn job(&self, name: &'static str, trigger: Trigger, takes: Duration) -> Job {
        let log = self.clone();
        Job::new(name, trigger, move |run: Run| {
            let log = log.clone();
            async move {
                log.add(name, &run);
                tokio::time::sleep(takes).await;
            }
        })
    }

    /// Milliseconds of each start after `from`.
    pub(crate) fn millis(&self, from: tokio::time::Instant) -> Vec<u64> {
        let millis = |s: &Started| s.at.saturating_duration_since(from).as_millis() as u64;
        self.starts().iter().map(millis).collect()
    }
}

/// The time of a store: that of the runtime, and of day. It begins between two seconds, for a slot that is due at the very moment at
/// which a test looks may or may not have been started.
#[derive(Debug)]
struct OffBeat {
    origin: tokio::time::Instant,
    wall: SystemTime,
}

impl OffBeat {
    fn new() -> Self {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        let wall = SystemTime::UNIX_EPOCH + S * since.as_secs() as u32 + MS * 300;
        Self { origin: tokio::time::Instant::now(), wall }
    }
}

impl Clock for OffBeat {
    fn now(&self) -> Moment {
        Moment::ZERO + S + self.origin.elapsed()
    }

    fn wall(&self) -> SystemTime {
        self.wall + self.origin.elapsed()
    }

    fn sleep_until(&self, until: Moment) -> Sleep {
        Box::pin(tokio::time::sleep(until.since(self.now()).min(S * 1_000_000)))
    }
}

/// A store that several replicas share.
#[derive(Debug, Clone)]
pub(crate) struct World {
    store: memory::Store,
    pub(crate) log: Log,
}

/// A scheduler that runs.
pub(crate) struct Replica {
    pub(crate) client: Client,
    pub(crate) handle: Handle,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<cotter_scheduler::Result<()>>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self { store: memory::Store::new(), log: Log::default() }
    }

    pub(crate) async fn client(&self) -> Client {
        self.client_of(|store| store).await
    }

    /// A client that sees the store through something.
    pub(crate) async fn client_of<C: Connect>(&self, through: impl FnOnce(memory::Store) -> C) -> Client {
        // A store in memory has the time of whoever connects first.
        drop(self.store.connect(&Host::without_engine(Arc::new(OffBeat::new()))).await.unwrap());
        let store = through(self.store.clone());
        Client::builder().in_this_runtime().connect_to(store).await.unwrap()
    }

    /// Starts a replica, after some settings.
    pub(crate) async fn start(&self, set: impl FnOnce(Scheduler) -> Scheduler) -> Replica {
        self.start_on(self.client().await, set, S * 30)
    }

    pub(crate) fn start_on(
        &self,
        client: Client,
        set: impl FnOnce(Scheduler) -> Scheduler,
        grace: Duration,
    ) -> Replica {
        let events = self.log.1.clone();
        let observe = move |event: &Event| events.lock().unwrap().push(event.clone());
        // A client that comes later takes the time of day from the system, which does not jump with the runtime.
        let scheduler = Scheduler::new(&client, "g").observe(observe).max_clock_offset(S * 1_000_000);
        let scheduler = set(scheduler);
        let handle = scheduler.handle();
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(scheduler.run_until(stopped, grace));
        Replica { client, handle, stop: Some(stop), task }
    }
}

impl Replica {
    /// Stops it in order.
    pub(crate) async fn stop(mut self) {
        drop(self.stop.take());
        self.task.await.unwrap().unwrap();
    }

    /// As if its process had died.
    pub(crate) async fn kill(self) {
        self.task.abort();
        let _ = self.task.await;
    }
}

/// Equal, as far as timers go; starts are never early.
#[track_caller]
pub(crate) fn assert_times(got: &[u64], wanted: &[u64]) {
    let near = |(got, wanted): (&u64, &u64)| (*wanted..=wanted + GRAIN.as_millis() as u64).contains(got);
    let same = got.len() == wanted.len() && got.iter().zip(wanted).all(near);
    assert!(same, "\n   got {got:?}\nwanted {wanted:?}");
}

pub(crate) async fn sleep(d: Duration) {
    tokio::time::sleep(d).await;
}
