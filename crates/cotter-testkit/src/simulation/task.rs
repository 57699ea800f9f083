//! A task of a process: it asks for one name after the other, in all ways, and holds what it gets.

use super::ask;
use super::nested::{ANSWERED, Nested};
use super::run::{CYCLES, LONGEST, NAMES, SEMAPHORE, Shared, lock};
use super::store::Store;
use crate::faulty::{self, Faults};
use crate::history::Kind;
use cotter::{Client, Guard, Mode, Result};
use rand::RngExt;
use rand::rngs::StdRng;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

pub(super) struct Task {
    pub(super) who: String,
    pub(super) client: Client,
    pub(super) ledger: Shared,
    /// From its process to all members, and what goes wrong there usually.
    pub(super) links: Vec<Faults>,
    pub(super) usual: faulty::Plan,
    pub(super) rng: StdRng,
    pub(super) store: Store,
    pub(super) has_permits: bool,
}

impl Task {
    pub(super) async fn run(mut self) {
        loop {
            {
                let ledger = lock(&self.ledger);
                let enough = ledger.cycles >= CYCLES && ledger.trouble_is_over;
                if enough || ledger.elapsed() > LONGEST {
                    return;
                }
            }
            let (name, mode) = self.choose();
            let asked = timeout(ANSWERED, self.get(name, mode)).await;
            match asked {
                Err(_) => {
                    let text = format!("{} has no answer about {name}", self.who);
                    lock(&self.ledger).wrong(Kind::StuckWaiter, text);
                }
                Ok(Ok(Some(guard))) => self.hold(name, mode, guard).await,
                Ok(Ok(None)) => self.pause(5).await,
                Ok(Err(e)) => {
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

    /// Mostly for a moment; sometimes for longer than the lease, with or without renewals. And sometimes more than once.
    async fn hold(&mut self, name: &'static str, mode: Mode, guard: Guard) {
        let guard = Arc::new(guard);
        let id = lock(&self.ledger).acquired(&self.who, name, mode, guard.clone());
        let (client, ledger, who) = (self.client.clone(), self.ledger.clone(), self.who.clone());
        let nested = Nested { who: &who, client: &client, ledger: &ledger, name, mode };
        let mut more = Vec::new();
        if !matches!(mode, Mode::Permits { .. }) && self.rng.random_bool(0.25) {
            more = nested.lock(&guard, &mut self.rng).await;
        }
        match self.rng.random_range(0..100) {
            0..4 => self.outlive_the_lease(name, &guard).await,
            4..9 => self.pause(1_200).await,
            _ => self.pause(6).await,
        }
        lock(&self.ledger).releasing(&self.who, name, id);
        more.push(Arc::into_inner(guard).expect("the ledger has given it back"));
        // Any of them may be the last.
        while !more.is_empty() {
            let guard = more.swap_remove(self.rng.random_range(0..more.len()));
            nested.release(guard, more.len(), &mut self.rng).await;
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
