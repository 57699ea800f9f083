//! One name, 64 tasks on two worker threads: how often the lock goes to a task that was queued before the release.

use crate::rounds::compare;
use cotter::Client;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

const TASKS: usize = 64;
const ROUND: Duration = Duration::from_millis(500);

#[derive(Default)]
struct Count {
    all: AtomicU64,
    queued: AtomicU64,
    stop: AtomicBool,
}

/// Counts an acquisition that had to wait in a queue apart from one that found the lock free.
async fn counted<F: Future>(count: &Count, lock: F) -> F::Output {
    let mut lock = pin!(lock);
    let mut waited = false;
    let got = poll_fn(|cx| {
        let answer = lock.as_mut().poll(cx);
        waited |= answer.is_pending();
        answer
    })
    .await;
    count.all.fetch_add(1, Ordering::Relaxed);
    if waited {
        count.queued.fetch_add(1, Ordering::Relaxed);
    }
    got
}

/// Thousands of hand-overs per second; prints their share of all acquisitions once.
fn round<T, L, F>(runtime: &Runtime, lock: &L, share: &mut f64) -> f64
where
    L: Fn() -> F + Clone + Send + Sync + 'static,
    F: Future<Output = T> + Send,
    T: Send,
{
    let count = Arc::new(Count::default());
    let start = Instant::now();
    let tasks: Vec<_> = (0..TASKS)
        .map(|_| {
            let (count, lock) = (count.clone(), lock.clone());
            runtime.spawn(async move {
                while !count.stop.load(Ordering::Relaxed) {
                    drop(counted(&count, lock()).await);
                }
            })
        })
        .collect();
    std::thread::sleep(ROUND);
    count.stop.store(true, Ordering::Relaxed);
    let seconds = start.elapsed().as_secs_f64();
    let (all, queued) =
        (count.all.load(Ordering::Relaxed) as f64, count.queued.load(Ordering::Relaxed) as f64);
    runtime.block_on(async {
        for task in tasks {
            task.await.unwrap();
        }
    });
    *share = queued / all;
    queued / seconds / 1e3
}

pub(crate) fn run() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let plain = Arc::new(tokio::sync::Mutex::new(()));
    let memory = Client::connect("memory:").wait().unwrap();
    let folder = tempfile::Builder::new().prefix("cotter-bench").tempdir().unwrap();
    let store = crate::file::private(folder.path());
    let file = Client::connect(&store).wait().unwrap();
    let by = |client: &Client| {
        let mutex = client.mutex("hand-over");
        move || {
            let lock = mutex.lock();
            async move { lock.await.unwrap() }
        }
    };
    let (by_memory, by_file) = (by(&memory), by(&file));
    let by_tokio = move || plain.clone().lock_owned();
    let mut shares = [0.0; 3];
    let [a, b, c] = &mut shares;
    compare(
        "thousand hand-overs per second, 64 tasks",
        &mut [
            ("tokio::sync::Mutex", &mut || round(&runtime, &by_tokio, a)),
            ("memory:", &mut || round(&runtime, &by_memory, b)),
            ("file:", &mut || round(&runtime, &by_file, c)),
        ],
    );
    println!("share of hand-overs among acquisitions: {:.4} {:.4} {:.4}", shares[0], shares[1], shares[2]);
}
