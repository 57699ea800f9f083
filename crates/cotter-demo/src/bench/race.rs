//! Tasks of one or several processes that acquire one lock repeatedly, and the order in which they got it.
//!
//! A process cannot see whether another one held the lock between two of its own holds. So each process records its runs:
//! holds that follow one another so closely that no other process can have been in between. The sorted runs of all
//! processes show the complete order.

use super::partner::Partner;
use super::scratch::Scratch;
use cotter::Mutex;
use cotter_console::{Exit, Failure, boot_clock};
use std::sync::{Arc, Mutex as Lock, PoisonError};
use std::time::{Duration, Instant};
use tokio::task::{JoinSet, yield_now};

/// The number of tasks of each process.
pub(super) const TASKS: u32 = 4;
pub(super) const PROCESSES: usize = 4;
/// The maximum gap within a run, in nanoseconds. A round trip through the store and another process takes longer.
const MAX_GAP_NANOS: u64 = 30_000;

/// The record of the tasks of one process.
#[derive(Debug, Default)]
pub(super) struct Log {
    holds: u64,
    /// The number of hand-overs between tasks within a run.
    handovers: u64,
    /// The longest wait, in nanoseconds.
    worst: u64,
    runs: Vec<Run>,
}

/// Consecutive holds: start, end, and the first and last task.
type Run = [u64; 4];

impl Log {
    fn hold(&mut self, task: u64, asked: u64) {
        let since = boot_clock::now();
        self.holds += 1;
        self.worst = self.worst.max(since.saturating_sub(asked));
        match self.runs.last_mut().filter(|[_, end, ..]| since.saturating_sub(*end) < MAX_GAP_NANOS) {
            Some([_, end, _, last]) => {
                self.handovers += u64::from(*last != task);
                (*end, *last) = (since, task);
            }
            None => self.runs.push([since, since, task, task]),
        }
    }

    /// The record as lines; the first one has the totals.
    pub(super) fn lines(&self) -> Vec<String> {
        let first = format!("{} {} {}", self.holds, self.handovers, self.worst);
        std::iter::once(first)
            .chain(self.runs.iter().map(|[a, b, c, d]| format!("{a} {b} {c} {d}")))
            .collect()
    }

    fn read(lines: &[String]) -> Option<Self> {
        let numbers =
            |line: &String| -> Option<Vec<u64>> { line.split(' ').map(|n| n.parse().ok()).collect() };
        let (first, rest) = lines.split_first()?;
        let [holds, handovers, worst] = numbers(first)?[..] else { return None };
        let runs = rest.iter().map(|line| Run::try_from(numbers(line)?).ok()).collect::<Option<_>>()?;
        Some(Self { holds, handovers, worst, runs })
    }
}

/// The result of a round.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outcome {
    pub(super) per_second: f64,
    /// The share of acquisitions by another task than the one before.
    pub(super) handed: f64,
    /// Hand-overs to another process, per second.
    pub(super) between: f64,
    pub(super) worst_millis: f64,
}

impl Outcome {
    fn of(logs: &[Log], time: Duration) -> Self {
        let runs = |(i, log): (usize, &Log)| log.runs.iter().map(move |run| (*run, i)).collect::<Vec<_>>();
        let mut all: Vec<_> = logs.iter().enumerate().flat_map(runs).collect();
        all.sort_unstable();
        let pairs = || all.windows(2).map(|pair| (pair[0], pair[1]));
        let between = pairs().filter(|((_, one), (_, next))| one != next).count() as f64;
        let changes = pairs().filter(|((a, one), (b, next))| (one, a[3]) != (next, b[2])).count() as f64;
        let (holds, handovers) = logs.iter().fold((0, 0), |(a, b), log| (a + log.holds, b + log.handovers));
        let worst = logs.iter().map(|log| log.worst).max().unwrap_or_default();
        Self {
            per_second: holds as f64 / time.as_secs_f64(),
            handed: (handovers as f64 + changes) / (holds.max(1) as f64),
            between: between / time.as_secs_f64(),
            worst_millis: worst as f64 / 1e6,
        }
    }
}

/// A round in this process.
pub(super) async fn here(scratch: &Scratch, tasks: u32, time: Duration) -> Result<Outcome, Failure> {
    let log = run(scratch.client.mutex(scratch.name(0)), tasks, time).await?;
    Ok(Outcome::of(&[log], time))
}

/// A round in several other processes.
pub(super) async fn elsewhere(partners: &mut [Partner], time: Duration) -> Result<Outcome, Failure> {
    for partner in &mut *partners {
        partner.race(time).await?;
    }
    let mut logs = Vec::new();
    for partner in partners {
        let said = Log::read(&partner.lines().await?);
        logs.push(
            said.ok_or_else(|| Failure::new(Exit::Protocol, "the other process sent an invalid message"))?,
        );
    }
    Ok(Outcome::of(&logs, time))
}

/// The part of one process in a round.
pub(super) async fn run(mutex: Mutex, tasks: u32, time: Duration) -> Result<Log, Failure> {
    let (log, start) = (Arc::new(Lock::new(Log::default())), Instant::now());
    let mut set = JoinSet::new();
    for task in 0..u64::from(tasks) {
        let (mutex, log) = (mutex.clone(), log.clone());
        set.spawn(async move {
            while start.elapsed() < time {
                let asked = boot_clock::now();
                let guard = mutex.lock().await?;
                log.lock().unwrap_or_else(PoisonError::into_inner).hold(task, asked);
                drop(guard);
                // A single task never waits, but signals have to be handled.
                yield_now().await;
            }
            Ok::<_, Failure>(())
        });
    }
    for done in set.join_all().await {
        done?;
    }
    let log = std::mem::take(&mut *log.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(log)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_several_processes_are_put_in_order() {
        let log = |runs: &[Run]| Log { holds: 10, handovers: 4, worst: 2_000_000, runs: runs.into() };
        let one = log(&[[0, 10, 1, 1], [40, 50, 1, 2], [90, 95, 1, 1]]);
        let other = log(&[[20, 30, 1, 1], [60, 70, 1, 2], [75, 80, 1, 1], [82, 85, 1, 1]]);
        let read = Log::read(&other.lines()).unwrap();
        let outcome = Outcome::of(&[one, read], Duration::from_secs(2));
        // Four times to the other process, and once within a process from the second task to the first.
        assert_eq!((outcome.per_second, outcome.between), (10.0, 2.0));
        assert_eq!((outcome.handed, outcome.worst_millis), (0.65, 2.0));
        assert!(Log::read(&["1 2".into()]).is_none() && Log::read(&[]).is_none());
    }
}
