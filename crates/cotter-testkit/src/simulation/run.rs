//! A run: several processes, what happens to their store, and what is left in the end.

use super::ask;
use super::calm::calm;
use super::in_virtual_time;
use super::ledger::Ledger;
use super::plan::{PROCESSES, Plan, Trouble, What};
use super::served::Running;
use super::steps::Steps;
use super::store::Store;
use super::task::Task;
use super::world::World;
use crate::faulty::{self, Counts};
use crate::history::{Kind, Violation};
use cotter::{Client, Lease, Mode, Owner};
use rand::SeedableRng;
use rand::rngs::StdRng;
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
            // Under an owner it can lock again what it holds.
            tasks.spawn(Owner::new().scope(task.run()));
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
