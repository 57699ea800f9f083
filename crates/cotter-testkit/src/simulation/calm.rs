//! What is promised where nothing goes wrong: whoever waits for a name that nobody holds gets it soon, and where a store serves
//! in order of arrival, in that order.
//!
//! Each process asks for the same name again and again, and waits until it has it. So each wait has a place in the line of the
//! store itself; that of a second task would only be in the line of its process.

use super::ask;
use super::line::Line;
use super::plan::Plan;
use super::run::{LONGEST, NAMES, SEMAPHORE, Shared, lock};
use super::world::{Delete, World};
use crate::faulty;
use crate::history::Kind;
use cotter::{Client, Guard, Mode};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// What was cut is connected again: a subscription looks every five seconds whether it leads to where requests go, and the pauses
/// between attempts to open it grow to a second and a quarter.
const SETTLING: Duration = Duration::from_millis(6_500);
/// Each process asks so often.
const VISITS: usize = 6;
/// A request takes up to so long, each way.
const WAY: Duration = Duration::from_millis(2);

/// All processes use one name. One of its holders may lose its key.
#[derive(Clone)]
struct Visitor {
    who: String,
    client: Client,
    name: &'static str,
    /// How often it is wanted by a writer, or how many permits it has.
    kind: Wanted,
    ledger: Shared,
    line: Arc<Mutex<Line>>,
    delete: Option<Delete>,
}

#[derive(Debug, Clone, Copy)]
enum Wanted {
    Locks(f64),
    Permits(u32),
}

/// Links lose and refuse nothing from now on.
pub(super) async fn calm(plan: &Plan, world: &World, clients: &[Client], ledger: &Shared) {
    let links = faulty::Plan { before: WAY, after: WAY, ..faulty::Plan::default() };
    world.all_links().for_each(|link| link.set(links));
    sleep(SETTLING).await;
    let mut rng = StdRng::seed_from_u64(plan.seed ^ 1 << 41);
    let (name, kind) = choose(plan, &mut rng);
    lock(ledger).write("--", format_args!("all is calm, and everybody wants {name}"));
    let is_ordered = clients[0].info().capabilities.ordered;
    let line = Arc::new(Mutex::new(Line::new(is_ordered, plan.store.longest_idle(plan.lease))));
    let mut tasks = JoinSet::new();
    for (process, client) in clients.iter().enumerate() {
        let visitor = Visitor {
            who: format!("p{process}"),
            client: client.clone(),
            name,
            kind,
            ledger: ledger.clone(),
            line: line.clone(),
            delete: world.server().and_then(|server| server.delete(plan)),
        };
        tasks.spawn(visitor.run(StdRng::seed_from_u64(rng.random())));
    }
    while tasks.join_next().await.is_some() {}
}

fn choose(plan: &Plan, rng: &mut StdRng) -> (&'static str, Wanted) {
    let has_permits = plan.store.has_permits(plan.members);
    match NAMES.get(rng.random_range(0..NAMES.len() + usize::from(has_permits))) {
        Some((name, writers)) if plan.store.has_readers() => (name, Wanted::Locks(*writers)),
        Some((name, _)) => (name, Wanted::Locks(1.0)),
        None => (SEMAPHORE.0, Wanted::Permits(SEMAPHORE.1)),
    }
}

impl Visitor {
    async fn run(self, mut rng: StdRng) {
        for _ in 0..VISITS {
            sleep(Duration::from_millis(rng.random_range(0..200))).await;
            let mode = match self.kind {
                Wanted::Locks(writers) if rng.random_bool(writers) => Mode::Exclusive,
                Wanted::Locks(_) => Mode::Shared,
                Wanted::Permits(of) => Mode::Permits { take: rng.random_range(1..=of), of },
            };
            self.visit(mode, &mut rng).await;
        }
    }

    async fn visit(&self, mode: Mode, rng: &mut StdRng) {
        lock(&self.ledger).write(&self.who, format_args!("waits for {} {mode:?}", self.name));
        let wait = self.line(|line| line.asks(self.who.clone()));
        let asking = ask::wait(&self.client, self.name, mode);
        let guard = match timeout(LONGEST, asking).await {
            Ok(Ok(guard)) => Arc::new(guard),
            other => {
                let text = format!("{} does not get {} {mode:?}: {other:?}", self.who, self.name);
                return lock(&self.ledger).wrong(Kind::StuckWaiter, text);
            }
        };
        let found = self.line(|line| line.got(wait));
        found.into_iter().for_each(|violation| lock(&self.ledger).wrong(violation.kind, violation.text));
        let id = lock(&self.ledger).acquired(&self.who, self.name, mode, guard.clone());
        let hold = Duration::from_millis(rng.random_range(100..400));
        let is_alone = mode == Mode::Exclusive && self.line(|line| line.others_wait());
        let delete = self.delete.as_ref().filter(|_| rng.random_bool(0.1) && is_alone);
        sleep(hold).await;
        lock(&self.ledger).releasing(&self.who, self.name, id);
        self.line(Line::leaves);
        if let Some(delete) = delete {
            lock(&self.ledger).write("--", format_args!("the lock is deleted"));
            delete(self.name);
            sleep(hold).await;
        }
        let guard: Guard = Arc::into_inner(guard).expect("the ledger has given it back");
        drop(guard.release().await);
    }

    fn line<T>(&self, change: impl FnOnce(&mut Line) -> T) -> T {
        change(&mut self.line.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
