//! One task's attempts, recorded.

use super::{Habits, Shared};
use crate::history::{Use, What};
use crate::now;
use cotter::{Guard, Mutex};
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
        let ask = self.choose();
        let attempt = self.shared.attempts.fetch_add(1, Ordering::Relaxed);
        let name = self.shared.orders.names[which].clone();
        let mutex = self.shared.client.mutex(&name);
        let (mode, patient) = (Use::Exclusive, ask != Ask::Try);
        self.record(What::Wanted { attempt, name, mode, patient });
        let guard = match self.get(ask, mutex).await {
            Ok(guard) => guard,
            Err(why) => {
                self.record(What::Left { attempt, why });
                return Ok(());
            }
        };
        self.record(What::Acquired { attempt, token: guard.token().get(), deadline: deadline(&guard) });
        self.use_it(attempt, which, guard).await
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

    async fn get(&self, ask: Ask, mutex: Mutex) -> Result<Guard, String> {
        let failed = |e: cotter::Error| format!("error: {e}");
        let busy = || "busy".to_owned();
        match ask {
            Ask::Lock => mutex.lock().await.map_err(failed),
            Ask::Try => mutex.try_lock().await.map_err(failed)?.ok_or_else(busy),
            Ask::TryFor(d) => mutex.try_lock_for(d).await.map_err(failed)?.ok_or_else(busy),
            Ask::LockFor(d) => match tokio::time::timeout(d, mutex.lock()).await {
                Ok(locked) => locked.map_err(failed),
                Err(_) => Err("cancelled".to_owned()),
            },
        }
    }

    async fn use_it(&mut self, attempt: u64, which: usize, guard: Guard) -> io::Result<()> {
        let token = guard.token().get();
        let pause = Duration::from_micros(self.rng.random_range(0..=self.shared.orders.work_us));
        let blocking = self.rng.random_bool(0.5);
        let work = guard.scope(work(&self.shared, which, token, pause, blocking)).await;
        match work {
            Ok(done) => {
                done?;
                self.give_back(attempt, guard).await;
            }
            Err(lost) => {
                let (cause, deadline) = (format!("{:?}", lost.cause), deadline(&guard));
                self.record(What::Lost { attempt, cause, deadline });
            }
        }
        Ok(())
    }

    async fn give_back(&mut self, attempt: u64, guard: Guard) {
        self.record(What::Releasing { attempt, deadline: deadline(&guard) });
        let how = match self.shared.orders.habits {
            Habits::Steady => 0,
            Habits::Erratic => self.rng.random_range(0..4),
        };
        let answer = match how {
            0 | 1 => format!("{:?}", guard.release().await),
            2 => {
                drop(guard);
                "dropped".to_owned()
            }
            _ => {
                // Never polled: it must be carried out all the same.
                drop(guard.release());
                "not awaited".to_owned()
            }
        };
        self.record(What::Released { attempt, answer });
    }

    fn record(&self, what: What) {
        self.shared.log.record(what);
    }
}

/// Reads, works, and writes: to the resource that checks tokens and to the one that does not.
async fn work(shared: &Shared, which: usize, token: u64, pause: Duration, blocking: bool) -> io::Result<()> {
    let process = u64::from(shared.orders.process);
    let resources = &shared.resources[which];
    let mut seen = [None; 2];
    for (resource, seen) in resources.iter().zip(&mut seen) {
        *seen = resource.read(token, process)?;
    }
    match (pause.is_zero(), blocking) {
        (true, _) => {}
        (_, true) => std::thread::sleep(pause),
        (_, false) => tokio::time::sleep(pause).await,
    }
    for (resource, seen) in resources.iter().zip(seen) {
        if let Some(seen) = seen {
            resource.write(token, seen + 1)?;
        }
    }
    Ok(())
}

/// As far as the guard knows. A hold that is lost has none any more; what was recorded before stands.
fn deadline(guard: &Guard) -> Option<u64> {
    let left = guard.remaining().filter(|d| !d.is_zero())?;
    Some(now() + left.as_nanos() as u64)
}
