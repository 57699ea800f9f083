//! Tasks of one or several processes that take one lock again and again, and who had it after whom.
//!
//! A process cannot see when another one has had the lock between two of its own holds. So each writes down its runs:
//! holds that follow one another so closely that nobody else can have been in between. The runs of all processes, put
//! in order, show the rest.

use super::{nanos, others, two_workers};
use crate::children::Other;
use cotter::{Client, Mutex};
use std::io::BufRead;
use std::sync::{Arc, Mutex as StdMutex};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

pub(crate) const ROUND: Duration = Duration::from_secs(2);
/// A round trip to the server and another process take longer.
const BETWEEN: u64 = 30_000;

/// What tasks of one process saw.
#[derive(Debug, Default)]
struct Log {
    holds: u64,
    /// From one task to another within a run.
    handovers: u64,
    runs: Vec<Run>,
}

/// Holds that follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Run {
    start: u64,
    end: u64,
    process: usize,
    first: usize,
    last: usize,
}

impl Log {
    fn hold(&mut self, task: usize, since: u64) {
        self.holds += 1;
        match self.runs.last_mut().filter(|run| since.saturating_sub(run.end) < BETWEEN) {
            Some(run) => {
                self.handovers += u64::from(run.last != task);
                (run.end, run.last) = (nanos(), task);
            }
            None => self.runs.push(Run { start: since, end: nanos(), process: 0, first: task, last: task }),
        }
    }
}

/// What became of one round.
pub(crate) struct Outcome {
    pub(crate) per_second: f64,
    /// To another task, wherever it is.
    pub(crate) handovers: f64,
    /// To another process.
    pub(crate) between: f64,
    pub(crate) worst_ms: f64,
    /// In percent of the time.
    pub(crate) free: f64,
}

/// One round: so many processes with so many tasks each.
pub(crate) fn round(kind: &str, url: &str, processes: usize, tasks: usize) -> Outcome {
    among((0..processes).map(|_| start(kind, url, tasks)).collect())
}

/// A process with so many tasks.
pub(crate) fn start(kind: &str, url: &str, tasks: usize) -> Other {
    Other::start("race", &format!("{kind} {tasks} {url}"))
}

/// One round of these processes.
pub(crate) fn among(mut children: Vec<Other>) -> Outcome {
    children.iter_mut().for_each(Other::tell);
    let (mut holds, mut handovers, mut worst, mut runs) = (0, 0, 0, Vec::new());
    for (process, child) in children.into_iter().enumerate() {
        for line in child.end() {
            let numbers: Vec<u64> = line.split(' ').map(|n| n.parse().unwrap()).collect();
            match numbers[..] {
                [start, end, first, last] => {
                    let [first, last] = [first, last].map(|task| task as usize);
                    runs.push(Run { start, end, process, first, last });
                }
                [all, changes, micros] => {
                    holds += all;
                    handovers += changes;
                    worst = worst.max(micros);
                }
                _ => panic!("{line}"),
            }
        }
    }
    runs.sort_unstable();
    let pairs = || runs.windows(2).map(|pair| (pair[0], pair[1]));
    let between = pairs().filter(|(one, next)| one.process != next.process).count() as f64;
    handovers += pairs().filter(|(a, b)| (a.process, a.last) != (b.process, b.first)).count() as u64;
    let free: u64 = pairs().map(|(one, next)| next.start.saturating_sub(one.end)).sum();
    let all = runs.last().map_or(0, |run| run.end) - runs.first().map_or(0, |run| run.start);
    let seconds = ROUND.as_secs_f64();
    Outcome {
        per_second: holds as f64 / seconds,
        handovers: handovers as f64 / seconds,
        between: between / seconds,
        worst_ms: worst as f64 / 1e3,
        free: free as f64 / all.max(1) as f64 * 100.0,
    }
}

/// In each of the processes.
pub(crate) fn child(said: &str) {
    let mut words = said.splitn(3, ' ');
    let mut word = || words.next().unwrap();
    let (kind, tasks, url) = (word(), word().parse().unwrap(), word());
    let runtime = two_workers();
    let (log, worst) = if kind == "rslock" {
        let manager = others::rslock(url);
        go();
        runtime.block_on(race(tasks, move |task, log| {
            let manager = manager.clone();
            async move { others::take(&manager, "one", || log.lock().unwrap().hold(task, nanos())).await }
        }))
    } else {
        let client = Client::builder().local_turns(kind != "one-by-one").connect(url).wait().unwrap();
        let mutex = client.mutex("one");
        go();
        let done = runtime.block_on(race(tasks, move |task, log| by_cotter(mutex.clone(), task, log)));
        // Or its last release would not be sent, and the others would wait for the end of its lease.
        client.close(Duration::from_secs(5)).wait().unwrap();
        done
    };
    println!("{} {} {}", log.holds, log.handovers, worst.as_micros());
    log.runs.iter().for_each(|run| println!("{} {} {} {}", run.start, run.end, run.first, run.last));
}

fn go() {
    println!("ready");
    let _ = std::io::stdin().lock().read_line(&mut String::new());
}

async fn by_cotter(mutex: Mutex, task: usize, log: Arc<StdMutex<Log>>) {
    let guard = mutex.lock().await.unwrap();
    log.lock().unwrap().hold(task, nanos());
    drop(guard);
}

/// What was seen, and the longest wait.
async fn race<F: Future<Output = ()> + Send>(
    tasks: usize,
    take: impl Fn(usize, Arc<StdMutex<Log>>) -> F + Clone + Send + Sync + 'static,
) -> (Log, Duration) {
    let (log, start) = (Arc::new(StdMutex::new(Log::default())), Instant::now());
    let mut set = JoinSet::new();
    for task in 0..tasks {
        let (take, log) = (take.clone(), log.clone());
        set.spawn(async move {
            let mut worst = Duration::ZERO;
            while start.elapsed() < ROUND {
                let asked = Instant::now();
                take(task, log.clone()).await;
                worst = worst.max(asked.elapsed());
            }
            worst
        });
    }
    let worst = set.join_all().await.into_iter().max().unwrap();
    let log = std::mem::take(&mut *log.lock().unwrap());
    (log, worst)
}
