//! One name that everybody wants: four processes with four tasks each, and 64 tasks of one process.

use super::{runtime, server};
use cotter::Client;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

const CHILD: &str = "COTTER_BENCH_REDIS_CHILD";
const PROCESSES: usize = 4;
const TASKS: usize = 4;
const ROUND: Duration = Duration::from_secs(5);

pub(crate) fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// Acquisitions of so many tasks, and the longest wait.
async fn take_turns(client: &Client, tasks: usize) -> (u64, Duration) {
    let (mutex, count) = (client.mutex("one"), Arc::new(AtomicU64::new(0)));
    let start = Instant::now();
    let mut set = JoinSet::new();
    for _ in 0..tasks {
        let (mutex, count) = (mutex.clone(), count.clone());
        set.spawn(async move {
            let mut worst = Duration::ZERO;
            while start.elapsed() < ROUND {
                let asked = Instant::now();
                let guard = mutex.lock().await.unwrap();
                worst = worst.max(asked.elapsed());
                drop(guard);
                count.fetch_add(1, Ordering::Relaxed);
            }
            worst
        });
    }
    let worst = set.join_all().await.into_iter().max().unwrap();
    (count.load(Ordering::Relaxed), worst)
}

pub(crate) fn child() {
    let client = Client::connect(std::env::var(CHILD).unwrap()).wait().unwrap();
    println!("ready");
    let _ = std::io::stdin().lock().read_line(&mut String::new());
    let (count, worst) = runtime().block_on(take_turns(&client, TASKS));
    // Or its last release would not be sent, and the others would wait for the end of its lease.
    client.close(Duration::from_secs(5)).wait().unwrap();
    println!("{count} {}", worst.as_micros());
}

pub(crate) fn run() {
    let server = server();
    let mut children: Vec<_> = (0..PROCESSES)
        .map(|_| {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.env(CHILD, server.url("")).stdin(Stdio::piped()).stdout(Stdio::piped());
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
    let seconds = ROUND.as_secs_f64();
    let (rate, wait) = (all as f64 / seconds, worst as f64 / 1e3);
    println!("{PROCESSES} processes with {TASKS} tasks: {rate:.0} acquisitions/s, worst wait {wait:.1} ms");
    let client = Client::connect(server.url("")).wait().unwrap();
    let (count, worst) = runtime().block_on(take_turns(&client, 64));
    println!("64 tasks of one process: {:.0} acquisitions/s, worst wait {worst:.1?}", count as f64 / seconds);
}
