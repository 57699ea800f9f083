//! Tasks of several processes, and how they end.

use super::ask;
use super::calm::calm;
use super::in_virtual_time;
use super::ledger::Ledger;
use super::plan::{PROCESSES, Plan, Trouble, What};
use super::served::Running;
use super::steps::Steps;
use super::store::Store;
use super::world::World;
use crate::faulty::{self, Counts, Faults};
use crate::history::{Kind, Violation};
use cotter::{Client, Guard, Lease, Mode, Result};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// The result of a run.
#[derive(Debug)]
pub struct Outcome {
    /// The violations.
    pub violations: Vec<Violation>,
    /// The history, a line for each event, if the run was [replayed](replay).
    pub history: Vec<String>,
    /// Locks that were held.
    pub cycles: usize,
    /// Requests that went wrong.
    pub counts: Counts,
    /// How often links were cut: one of them, those to a member, or all those of a holder.
    pub cuts: usize,
    /// Members that were restarted.
    pub restarts: usize,
    /// The time that passed in the run.
    pub simulated: Duration,
    /// What a server in memory has done, if the run was replayed.
    pub steps: Steps,
}

impl Outcome {
    /// Everything that went wrong while locks were used.
    #[must_use]
    pub fn faults(&self) -> usize {
        let Counts { lost_replies, late_requests, refused, .. } = self.counts;
        self.cuts + self.restarts + lost_replies + late_requests + refused
    }
}

pub(super) const TTL: Duration = Duration::from_millis(300);
/// Names, and how often each is wanted by a writer.
pub(super) const NAMES: [(&str, f64); 2] = [("a", 1.0), ("b", 0.4)];
/// A name with so many permits, where there is but one member: a quorum has none.
pub(super) const SEMAPHORE: (&str, u32) = ("c", 3);
const TASKS: usize = 2;
/// A run goes on until this many locks were held, and until all of its trouble is over.
pub(super) const CYCLES: usize = 200;
/// A run that needs more than this has not worked.
pub(super) const LONGEST: Duration = Duration::from_secs(600);
/// A client is closed within this time.
const GRACE: Duration = Duration::from_secs(10);

/// Runs what a seed decides.
///
/// # Panics
/// When the runtime cannot be made.
#[must_use]
pub fn simulate(store: Store, seed: u64) -> Outcome {
    outcome(store, seed, false)
}

/// The same with its history.
///
/// # Panics
/// When the runtime cannot be made.
#[must_use]
pub fn replay(store: Store, seed: u64) -> Outcome {
    outcome(store, seed, true)
}

fn outcome(store: Store, seed: u64, records: bool) -> Outcome {
    in_virtual_time(seed, run(&Plan::of(store, seed), records))
}

pub(super) type Shared = Arc<Mutex<Ledger>>;

pub(super) fn lock(ledger: &Shared) -> MutexGuard<'_, Ledger> {
    ledger.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn run(plan: &Plan, records: bool) -> Outcome {
    let ledger = Arc::new(Mutex::new(Ledger::new(records, plan.store.orders_tokens())));
    let world = World::of(plan).await.expect("members in memory start");
    if let Some(server) = world.server().filter(|_| records) {
        server.record();
    }
    let mut clients = Vec::new();
    for process in 0..PROCESSES {
        let builder = || Client::builder().lease(Lease::renewed(plan.lease)).label(format!("p{process}"));
        // A store that cannot be reached at the start is tried again.
        let client = loop {
            if let Ok(client) = world.client(process, builder()).await {
                break client;
            }
        };
        clients.push(client);
    }
    let mut tasks = JoinSet::new();
    for (process, client) in clients.iter().enumerate() {
        for task in 0..TASKS {
            let rng = StdRng::seed_from_u64(plan.seed ^ (process * TASKS + task) as u64);
            let who = format!("p{process}.{task}");
            let links = world.links_of(process);
            let task = Task {
                who,
                client: client.clone(),
                ledger: ledger.clone(),
                links,
                usual: plan.links,
                rng,
                store: plan.store,
                has_permits: plan.store.has_permits(plan.members),
            };
            tasks.spawn(task.run());
        }
    }
    let (cuts, restarts) = trouble(plan, &world, &ledger).await;
    lock(&ledger).trouble_is_over = true;
    while tasks.join_next().await.is_some() {}
    for faults in world.all_links() {
        faults.set(faulty::Plan::default());
    }
    let counts = world.counts();
    everything_is_free(plan, &clients, &ledger).await;
    calm(plan, &world, &clients, &ledger).await;
    for client in clients {
        if let Err(e) = client.close(GRACE).await {
            lock(&ledger).wrong(Kind::LeftBehind, format!("a client could not be closed: {e}"));
        }
    }
    let mut ledger = lock(&ledger);
    Outcome {
        violations: std::mem::take(&mut ledger.violations),
        history: ledger.history.take().unwrap_or_default(),
        cycles: ledger.cycles,
        counts,
        cuts: cuts + ledger.isolations,
        restarts,
        simulated: ledger.elapsed(),
        steps: world.server().map(Running::recorded).unwrap_or_default(),
    }
}

/// Cuts links and restarts members, one after the other. Returns how often each was done.
async fn trouble(plan: &Plan, world: &World, ledger: &Shared) -> (usize, usize) {
    let (down, mut cuts, mut restarts) = (faulty::Plan { down: true, ..plan.links }, 0, 0);
    for Trouble { after, member, what } in &plan.trouble {
        tokio::time::sleep(*after).await;
        match what {
            What::Restart => {
                lock(ledger).write("--", format_args!("member {member} is restarted"));
                world.restart(*member).await.expect("a member in memory starts");
                restarts += 1;
            }
            What::Cut { from, lasts } => {
                let who = from.map_or("all".to_owned(), |p| format!("p{p}"));
                lock(ledger).write("--", format_args!("member {member} is cut off from {who}"));
                world.links(*member, *from).for_each(|link| link.set(down));
                tokio::time::sleep(*lasts).await;
                world.links(*member, *from).for_each(|link| link.set(plan.links));
                cuts += 1;
            }
            what => {
                lock(ledger).write("--", format_args!("{what:?}"));
                world.server().expect("no member has that").befalls(*what);
            }
        }
    }
    (cuts, restarts)
}

/// When nothing goes wrong any more, every lock is free soon.
async fn everything_is_free(plan: &Plan, clients: &[Client], ledger: &Shared) {
    let ((semaphore, of), soon) = (SEMAPHORE, plan.store.longest_idle(plan.lease));
    let permits = plan.store.has_permits(plan.members).then_some((semaphore, Mode::Permits { take: of, of }));
    for (name, mode) in NAMES.map(|(name, _)| (name, Mode::Exclusive)).into_iter().chain(permits) {
        for (process, client) in clients.iter().enumerate() {
            let since = Instant::now();
            match ask::try_for(client, name, mode, soon).await {
                Ok(Some(guard)) => {
                    let after = since.elapsed();
                    lock(ledger).write("--", format_args!("p{process} gets {name} after {after:?}"));
                    drop(guard.release().await);
                }
                other => {
                    let text = format!("p{process} does not get {name} when all is well again: {other:?}");
                    lock(ledger).wrong(Kind::IdleWaiter, text);
                }
            }
        }
    }
}

struct Task {
    who: String,
    client: Client,
    ledger: Shared,
    /// From its process to all members, and what goes wrong there usually.
    links: Vec<Faults>,
    usual: faulty::Plan,
    rng: StdRng,
    store: Store,
    has_permits: bool,
}

impl Task {
    async fn run(mut self) {
        loop {
            {
                let ledger = lock(&self.ledger);
                let enough = ledger.cycles >= CYCLES && ledger.trouble_is_over;
                if enough || ledger.elapsed() > LONGEST {
                    return;
                }
            }
            let (name, mode) = self.choose();
            match self.get(name, mode).await {
                Ok(Some(guard)) => self.hold(name, mode, guard).await,
                Ok(None) => self.pause(5).await,
                Err(e) => {
                    lock(&self.ledger).write(&self.who, format_args!("{name} {:?}", e.kind()));
                    self.pause(20).await;
                }
            }
        }
    }

    async fn pause(&mut self, most: u64) {
        tokio::time::sleep(Duration::from_millis(self.rng.random_range(0..=most))).await;
    }

    fn choose(&mut self) -> (&'static str, Mode) {
        match NAMES.get(self.rng.random_range(0..NAMES.len() + usize::from(self.has_permits))) {
            Some((name, writers)) => match self.rng.random_bool(*writers) || !self.store.has_readers() {
                true => (name, Mode::Exclusive),
                false => (name, Mode::Shared),
            },
            None => {
                let (name, of) = SEMAPHORE;
                (name, Mode::Permits { take: self.rng.random_range(1..of), of })
            }
        }
    }

    async fn get(&mut self, name: &str, mode: Mode) -> Result<Option<Guard>> {
        let wait = Duration::from_millis(self.rng.random_range(1..200));
        match self.rng.random_range(0..8) {
            0 => ask::try_once(&self.client, name, mode).await,
            1..4 => ask::try_for(&self.client, name, mode, wait).await,
            // Whoever loses patience drops the future where it stands.
            way => {
                let patience = if way == 4 { wait / 10 } else { wait * 10 };
                let asking = ask::wait(&self.client, name, mode);
                tokio::time::timeout(patience, asking).await.ok().transpose()
            }
        }
    }

    /// Mostly for a moment; sometimes for longer than the lease, with or without renewals.
    async fn hold(&mut self, name: &'static str, mode: Mode, guard: Guard) {
        let guard = Arc::new(guard);
        let id = lock(&self.ledger).acquired(&self.who, name, mode, guard.clone());
        match self.rng.random_range(0..100) {
            0..4 => self.outlive_the_lease(name, &guard).await,
            4..9 => self.pause(1_200).await,
            _ => self.pause(6).await,
        }
        lock(&self.ledger).releasing(&self.who, name, id);
        let guard = Arc::into_inner(guard).expect("the ledger has given it back");
        match self.rng.random_range(0..4) {
            0 => drop(guard),
            _ => drop(guard.release().await),
        }
    }

    /// Cuts its process off from all members until the lease is over, which it must be told. The cuts of the plan change the
    /// same links, and may end this one early; then the lease is renewed.
    async fn outlive_the_lease(&mut self, name: &str, guard: &Guard) {
        self.set_links(faulty::Plan { down: true, ..self.usual });
        lock(&self.ledger).isolated(&self.who);
        // In a task of its own, which nothing else wakes.
        let told = tokio::spawn(guard.lost());
        tokio::time::sleep(self.store.lease() * 3 / 2).await;
        self.set_links(self.usual);
        let is_lost = !guard.is_valid();
        tokio::time::sleep(Duration::from_millis(1)).await;
        if is_lost && !told.is_finished() {
            let text = format!("{} was not told that it has lost {name}", self.who);
            lock(&self.ledger).wrong(Kind::UntoldLoss, text);
        }
        told.abort();
    }

    fn set_links(&self, plan: faulty::Plan) {
        self.links.iter().for_each(|link| link.set(plan));
    }
}
