//! The measurements.

use super::partner::Partner;
use super::scratch::Scratch;
use cotter::Mutex;
use cotter_console::Failure;
use std::future::Future;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::task::{JoinSet, yield_now};
use tokio::time::sleep;

/// How often a task repeats its work before it yields.
const BATCH: u64 = 64;
/// The time for the other process to join the queue before the lock is released.
const QUEUE_DELAY: Duration = Duration::from_millis(5);

/// Pairs of lock and release per second of a number of tasks, each with its own name.
pub(super) async fn pairs(
    scratch: &Scratch,
    tasks: u32,
    time: Duration,
    on: &Handle,
) -> Result<f64, Failure> {
    let mutexes: Vec<_> = (0..tasks).map(|n| scratch.client.mutex(scratch.name(n))).collect();
    rate(mutexes.into_iter().map(|mutex| move || pair(mutex.clone())), time, on).await
}

async fn pair(mutex: Mutex) -> Result<(), Failure> {
    mutex.lock().await?.finish().await?;
    Ok(())
}

/// The total rate of tasks that repeat an operation, per second.
pub(super) async fn rate<F>(
    tasks: impl Iterator<Item = impl Fn() -> F + Send + 'static>,
    time: Duration,
    on: &Handle,
) -> Result<f64, Failure>
where
    F: Future<Output = Result<(), Failure>> + Send,
{
    let start = Instant::now();
    let mut set = JoinSet::new();
    for task in tasks {
        let work = async move {
            let mut done = 0_u64;
            while start.elapsed() < time {
                task().await?;
                done += 1;
                // Some stores never make a task wait, but signals have to be handled.
                if done.is_multiple_of(BATCH) {
                    yield_now().await;
                }
            }
            Ok::<u64, Failure>(done)
        };
        set.spawn_on(work, on);
    }
    let mut all = 0;
    for done in set.join_all().await {
        all += done?;
    }
    Ok(all as f64 / start.elapsed().as_secs_f64())
}

/// The times from a release in this process to the acquisition in another one, in microseconds, sorted.
pub(super) async fn handovers(
    scratch: &Scratch,
    partner: &mut Partner,
    time: Duration,
) -> Result<Vec<f64>, Failure> {
    let mutex = scratch.client.mutex(scratch.name(0));
    let (start, mut times) = (Instant::now(), Vec::new());
    while start.elapsed() < time || times.is_empty() {
        let guard = mutex.lock().await?;
        partner.ask().await?;
        sleep(QUEUE_DELAY).await;
        let before = cotter_console::boot_clock::now();
        guard.finish().await?;
        let after = partner.holds_since().await?;
        times.push(after.saturating_sub(before) as f64 / 1e3);
    }
    times.sort_by(f64::total_cmp);
    Ok(times)
}
