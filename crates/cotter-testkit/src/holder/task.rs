//! One task's attempts, recorded.

use super::{Habits, Shared};
use crate::Played;
use crate::history::Use;
use cotter::Result;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

pub(super) struct Task {
    shared: Arc<Shared>,
    rng: StdRng,
}

/// How a task asks.
enum Ask {
    Lock,
    Try,
    TryFor(Duration),
    /// Cancelled if it takes longer.
    LockFor(Duration),
}

impl Task {
    pub(super) fn new(shared: Arc<Shared>, number: u64) -> Self {
        let orders = &shared.orders;
        let seed = orders.seed ^ (u64::from(orders.process) << 20) ^ number;
        Self { rng: StdRng::seed_from_u64(seed), shared }
    }

    pub(super) async fn run(mut self) -> io::Result<()> {
        while !self.shared.stop.load(Ordering::Acquire) {
            let which = self.rng.random_range(0..self.shared.orders.names.len());
            self.attempt(which).await?;
            // A task that never waits would keep this thread from all others.
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    async fn attempt(&mut self, which: usize) -> io::Result<()> {
        let mode = self.shared.orders.usage_of(which).choose(&mut self.rng);
        let name = self.shared.orders.names[which].clone();
        let Ok(Some(held)) = self.get(name, mode).await else {
            return Ok(());
        };
        let pause = Duration::from_micros(self.rng.random_range(0..=self.shared.orders.work_us));
        let blocking = self.rng.random_bool(0.5);
        let token = held.guard().token().get();
        let job = Job { which, token, alone: mode == Use::Exclusive, pause, blocking };
        if let Ok(worked) = held.work(job.work(&self.shared)).await {
            worked?;
        }
        self.give_back(held).await;
        Ok(())
    }

    fn choose(&mut self) -> Ask {
        if self.shared.orders.habits == Habits::Steady {
            return Ask::Lock;
        }
        let mut pause = |most| Duration::from_micros(self.rng.random_range(0..most));
        let (short, long) = (pause(20_000), pause(100_000));
        match self.rng.random_range(0..100) {
            0..70 => Ask::Lock,
            70..80 => Ask::Try,
            80..90 => Ask::TryFor(long),
            _ => Ask::LockFor(short),
        }
    }

    /// What went wrong stands in the history.
    async fn get(&mut self, name: String, mode: Use) -> Result<Option<Played>> {
        let actor = self.shared.actor.clone();
        match self.choose() {
            Ask::Lock => actor.acquire(&name, mode).await.map(Some),
            Ask::Try => actor.try_acquire(&name, mode).await,
            Ask::TryFor(d) => actor.try_acquire_for(&name, mode, d).await,
            Ask::LockFor(d) => match tokio::time::timeout(d, actor.acquire(&name, mode)).await {
                Ok(locked) => locked.map(Some),
                Err(_) => Ok(None),
            },
        }
    }

    async fn give_back(&mut self, held: Played) {
        let how = match self.shared.orders.habits {
            Habits::Steady => 0,
            Habits::Erratic => self.rng.random_range(0..4),
        };
        match how {
            0 | 1 => drop(held.release().await),
            2 => drop(held),
            _ => held.release_unpolled(),
        }
    }
}

/// The work inside a lock.
struct Job {
    which: usize,
    token: u64,
    /// What several hold at once protects no resource.
    alone: bool,
    pause: Duration,
    blocking: bool,
}

impl Job {
    /// Reads, works, and writes: to the resource that checks tokens and to the one that does not.
    async fn work(self, shared: &Shared) -> io::Result<()> {
        let process = u64::from(shared.orders.process);
        let [checked, unchecked] = &shared.resources[self.which];
        let mut seen = [None; 2];
        let both = [Some(checked).filter(|_| self.alone), Some(unchecked)];
        for (resource, seen) in both.iter().zip(&mut seen) {
            *seen = resource.map(|r| r.read(self.token, process)).transpose()?.flatten();
        }
        match (self.pause.is_zero(), self.blocking) {
            (true, _) => {}
            (_, true) => std::thread::sleep(self.pause),
            (_, false) => tokio::time::sleep(self.pause).await,
        }
        for (resource, seen) in both.into_iter().zip(seen) {
            if let (Some(resource), Some(seen)) = (resource, seen) {
                resource.write(self.token, seen + 1)?;
            }
        }
        Ok(())
    }
}
