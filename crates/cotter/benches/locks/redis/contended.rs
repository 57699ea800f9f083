//! One name that everybody wants: four processes with four tasks each, and 64 tasks of one process.

use super::{others, runtime, server};
use cotter::Client;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

const CHILD: &str = "COTTER_BENCH_REDIS_CHILD";
/// As usual: a process may serve its own tasks for a slice.
const LOCAL: &str = "cotter";
/// Every acquisition is one of the server.
const ONE_BY_ONE: &str = "cotter-one-by-one";
const PROCESSES: usize = 4;
const TASKS: usize = 4;
const ROUND: Duration = Duration::from_secs(5);

pub(crate) fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// Acquisitions of so many tasks, and the longest wait.
async fn take_turns<F: Future<Output = ()> + Send>(
    tasks: usize,
    take: impl Fn() -> F + Clone + Send + Sync + 'static,
) -> (u64, Duration) {
    let (count, start) = (Arc::new(AtomicU64::new(0)), Instant::now());
    let mut set = JoinSet::new();
    for _ in 0..tasks {
        let (take, count) = (take.clone(), count.clone());
        set.spawn(async move {
            let mut worst = Duration::ZERO;
            while start.elapsed() < ROUND {
                let asked = Instant::now();
                take().await;
                worst = worst.max(asked.elapsed());
                count.fetch_add(1, Ordering::Relaxed);
            }
            worst
        });
    }
    let worst = set.join_all().await.into_iter().max().unwrap();
    (count.load(Ordering::Relaxed), worst)
}

async fn by_cotter(client: &Client, tasks: usize) -> (u64, Duration) {
    let mutex = client.mutex("one");
    take_turns(tasks, move || {
        let mutex = mutex.clone();
        async move { drop(mutex.lock().await.unwrap()) }
    })
    .await
}

async fn by_rslock(url: &str) -> (u64, Duration) {
    let manager = others::rslock(url);
    take_turns(TASKS, move || {
        let manager = manager.clone();
        async move { others::take(&manager, "one").await }
    })
    .await
}

pub(crate) fn child() {
    let said = std::env::var(CHILD).unwrap();
    let (kind, url) = said.split_once(' ').unwrap();
    let runtime = runtime();
    println!("ready");
    let _ = std::io::stdin().lock().read_line(&mut String::new());
    let (count, worst) = if kind == "rslock" {
        runtime.block_on(by_rslock(url))
    } else {
        let client = Client::builder().url(url).local_turns(kind == LOCAL).connect().wait().unwrap();
        let done = runtime.block_on(by_cotter(&client, TASKS));
        // Or its last release would not be sent, and the others would wait for the end of its lease.
        client.close(Duration::from_secs(5)).wait().unwrap();
        done
    };
    println!("{count} {}", worst.as_micros());
}

/// Several processes, with so many acquisitions a second and this longest wait in milliseconds.
fn processes(kind: &str, url: &str) -> (f64, f64) {
    let mut children: Vec<_> = (0..PROCESSES)
        .map(|_| {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.env(CHILD, format!("{kind} {url}")).stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child = command.spawn().unwrap();
            let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
            assert_eq!(said.next().unwrap().unwrap(), "ready");
            (child, said)
        })
        .collect();
    for (child, _) in &mut children {
        writeln!(child.stdin.as_mut().unwrap()).unwrap();
    }
    let (mut all, mut worst) = (0, 0);
    for (mut child, mut said) in children {
        let line = said.next().unwrap().unwrap();
        let (count, micros) = line.split_once(' ').unwrap();
        all += count.parse::<u64>().unwrap();
        worst = worst.max(micros.parse::<u64>().unwrap());
        child.wait().unwrap();
    }
    (all as f64 / ROUND.as_secs_f64(), worst as f64 / 1e3)
}

pub(crate) fn run() {
    let server = server();
    let url = server.url("");
    for kind in [LOCAL, ONE_BY_ONE, "rslock"] {
        let (rate, wait) = processes(kind, &url);
        println!(
            "{kind}: {PROCESSES} processes with {TASKS} tasks: {rate:.0} acquisitions/s, worst wait {wait:.1} ms"
        );
    }
    let client = Client::connect(&url).wait().unwrap();
    let (count, worst) = runtime().block_on(by_cotter(&client, 64));
    let seconds = ROUND.as_secs_f64();
    println!("64 tasks of one process: {:.0} acquisitions/s, worst wait {worst:.1?}", count as f64 / seconds);
}
