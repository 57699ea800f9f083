//! How late runs start at a thousand starts a second, beside what the store can do at most.

use crate::{runtime, scheduled};
use cotter::Client;
use cotter_scheduler::{Job, Run, Trigger, UnixTime};
use cotter_testkit::servers;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const JOBS: u32 = 1000;
const PERIOD: Duration = Duration::from_secs(1);
const WARM_UP: Duration = Duration::from_secs(5);
const WATCHED: Duration = Duration::from_secs(20);

pub(crate) fn memory() {
    measure("memory:");
}

pub(crate) fn file() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    measure(&format!("file://{}", folder.path().join("store").display()));
}

pub(crate) fn redis() {
    let server = servers::Redis::start();
    measure(&server.open_url(""));
}

fn measure(url: &str) {
    runtime().block_on(async {
        let client = Client::connect(url).await.expect("the store can be used");
        println!("the store by itself: {:.0} starts a second", limit(&client).await);
        let late = Arc::new(Mutex::new(Vec::new()));
        let jobs = (0..JOBS).map(|n| job(n, &late)).collect();
        scheduled(&client, jobs, tokio::time::sleep(WARM_UP + WATCHED)).await;
        report(std::mem::take(&mut *late.lock().expect("no panic")));
        let _ = client.close(Duration::from_secs(5)).await;
    });
}

/// What a start asks of the store (a lock, two reads, three writes), over and over in 64 tasks.
async fn limit(client: &Client) -> f64 {
    const TASKS: usize = 64;
    let begin = Instant::now();
    let tasks: Vec<_> = (0..TASKS).map(|n| tokio::spawn(raw(client.clone(), n, begin))).collect();
    let mut done = 0;
    for task in tasks {
        done += task.await.expect("no panic");
    }
    f64::from(done) / begin.elapsed().as_secs_f64()
}

async fn raw(client: Client, task: usize, begin: Instant) -> u32 {
    let (mutex, mut done) = (client.mutex(format!("raw/{task}")), 0);
    while begin.elapsed() < Duration::from_secs(3) {
        let guard = mutex.lock().await.expect("the store answers");
        client.note(guard.name()).await.expect("the store answers");
        for _ in 0..2 {
            guard.put_note([b'x'; 400]).await.expect("the store answers");
        }
        // Several runs are written to the history at once.
        if done % 4 == 0 {
            guard.put_note_at("history", [b'x'; 400]).await.expect("the store answers");
        }
        guard.finish().await.expect("the store answers");
        done += 1;
    }
    done
}

/// A start and how late it was.
type Late = Arc<Mutex<Vec<Duration>>>;

fn job(number: u32, late: &Late) -> Job {
    let (late, begin) = (late.clone(), Instant::now());
    let trigger = Trigger::fixed_rate(PERIOD).expect("a period");
    let job = Job::new(format!("job-{number}"), trigger, move |run: Run| {
        let now = UnixTime::now();
        if begin.elapsed() > WARM_UP {
            late.lock().expect("no panic").push(now.since(run.slot()));
        }
        async {}
    });
    job.initial_delay(Duration::from_secs(2) + PERIOD * number / JOBS)
}

fn report(mut late: Vec<Duration>) {
    late.sort_unstable();
    let at = |percent: usize| {
        late.get((late.len() * percent).div_ceil(100).max(1) - 1).copied().unwrap_or_default()
    };
    let rate = late.len() as f64 / WATCHED.as_secs_f64();
    println!("{rate:.0} starts a second of {} wanted", JOBS);
    println!("late: median {:.1?}, p99 {:.1?}, worst {:.1?}", at(50), at(99), at(100));
}
