//! Random operations by several processes on `memory`, each behind faults of its own.

use cotter::{Client, Error, Lease, Result, memory};
use cotter_testkit::faulty::{Faults, Faulty, Plan};
use cotter_testkit::history::{
    Happened, History, Kind, Limits, Recorder, Violation, check, check_void, demand,
};
use cotter_testkit::{Actor, Played, Usage, sized};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const TTL: Duration = Duration::from_millis(150);
const PROCESSES: u32 = 3;
const TASKS: u64 = 6;
/// Each is used in its own way.
const NAMES: [(&str, Usage); 4] = [
    ("one", Usage::Mutex),
    ("two", Usage::Mutex),
    ("three", Usage::RwLock { writers: 0.3 }),
    ("four", Usage::Semaphore { of: 3, most: 2 }),
];

/// Faults cost places and leave leases to run out; what remains is exclusion, tokens and losses told in time.
fn limits() -> Limits {
    let wide = Duration::from_secs(60);
    Limits { place_slack: wide, idle: wide, loss_margin: Duration::from_millis(100), ..Limits::default() }
}

fn everything_goes_wrong() -> Plan {
    Plan {
        before: Duration::from_millis(3),
        after: Duration::from_millis(3),
        lost_replies: 0.03,
        late_requests: 0.02,
        refused: 0.02,
        ..Plan::default()
    }
}

struct Task {
    actor: Actor,
    rng: StdRng,
    stop: Arc<AtomicBool>,
}

impl Task {
    async fn run(mut self) {
        while !self.stop.load(Ordering::Relaxed) {
            if let Ok(Some(held)) = self.get().await {
                self.work(&held).await;
                self.give_back(held).await;
            }
        }
    }

    /// An error is what the faults are for; the lock itself says whether it was right.
    async fn get(&mut self) -> Result<Option<Played>> {
        let (name, usage) = NAMES[self.rng.random_range(0..NAMES.len())];
        let mode = usage.choose(&mut self.rng);
        let short = Duration::from_millis(self.rng.random_range(0..10));
        match self.rng.random_range(0..10) {
            0 => self.actor.try_acquire(name, mode).await,
            1..4 => self.actor.try_acquire_for(name, mode, short * 10).await,
            4 => match tokio::time::timeout(short, self.actor.acquire(name, mode)).await {
                Ok(locked) => locked.map(Some),
                Err(_) => Ok(None),
            },
            _ => self.actor.acquire(name, mode).await.map(Some),
        }
    }

    /// Mostly short; sometimes longer than a lease that is not renewed.
    async fn work(&mut self, held: &Played) {
        let millis = match self.rng.random_range(0..30) {
            0 => 250,
            _ => self.rng.random_range(0..3),
        };
        let extra = self.rng.random_range(0..8);
        let guard = held.guard();
        // Whether it was lost is for the history to judge.
        let _ = held
            .work(async {
                // An answer that is lost on the way is no loss of the lock.
                let _: Result<(), Error> = match extra {
                    0 => guard.extend(TTL).await,
                    1 => guard.put_note("note").await,
                    _ => Ok(()),
                };
                tokio::time::sleep(Duration::from_millis(millis)).await;
            })
            .await;
    }

    async fn give_back(&mut self, held: Played) {
        match self.rng.random_range(0..3) {
            0 => drop(held.release().await),
            1 => drop(held),
            _ => held.release_unpolled(),
        }
    }
}

/// Now and then nothing gets through for longer than a lease.
async fn outages(faults: Vec<Faults>, seed: u64, stop: Arc<AtomicBool>) -> usize {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut count = 0;
    while !stop.load(Ordering::Relaxed) {
        tokio::time::sleep(Duration::from_millis(rng.random_range(50..200))).await;
        let struck = &faults[rng.random_range(0..faults.len())];
        let down = rng.random_bool(0.3);
        struck.set(Plan { renewals_fail: !down, down, ..everything_goes_wrong() });
        tokio::time::sleep(Duration::from_millis(rng.random_range(50..300))).await;
        struck.set(everything_goes_wrong());
        count += 1;
    }
    count
}

async fn play(seed: u64, length: Duration) {
    let (store, log, stop) = (memory::Store::new(), Recorder::in_memory(), Arc::new(AtomicBool::new(false)));
    let (mut faults, mut tasks, mut clients) = (Vec::new(), Vec::new(), Vec::new());
    for process in 1..=PROCESSES {
        let mine = Faults::seeded(seed * 100 + u64::from(process));
        mine.set(everything_goes_wrong());
        let faulty = Faulty::new(store.clone(), &mine);
        let client = Client::builder().lease(Lease::renewed(TTL)).connect_to(faulty).await.unwrap();
        let actor = Actor::new(client.clone(), &log, process);
        for n in 0..TASKS {
            let rng = StdRng::seed_from_u64(seed ^ (u64::from(process) << 32) ^ n);
            tasks.push(tokio::spawn(Task { actor: actor.clone(), rng, stop: stop.clone() }.run()));
        }
        faults.push(mine);
        clients.push(client);
    }
    let outages = tokio::spawn(outages(faults.clone(), seed, stop.clone()));
    // On a busy machine less happens in the same time.
    for _ in 0..10 {
        tokio::time::sleep(length).await;
        if void(&History::of(log.events())).is_empty() {
            break;
        }
    }
    stop.store(true, Ordering::Relaxed);
    let outages = outages.await.unwrap();
    faults.iter().for_each(|f| f.set(Plan::default()));
    for task in tasks {
        task.await.unwrap();
    }
    demand_free(&store).await;
    judge(seed, &log, &faults, outages);
}

/// What is missing for the run to count.
fn void(history: &History) -> Vec<Violation> {
    let lost = history.holds.iter().any(|h| h.told.is_some());
    let confirmed = usize::from(lost);
    check_void(history, Happened { planned: 1, confirmed, acquisitions: 200, ..Happened::default() })
}

/// Late requests may land until two leases later and hold for one more.
async fn demand_free(store: &memory::Store) {
    let client = Client::builder().connect_to(store.clone()).await.unwrap();
    let last = Actor::new(client, &Recorder::in_memory(), 0);
    for (name, usage) in NAMES {
        let free = last.try_acquire_for(name, usage.all(), TTL * 4).await.unwrap();
        demand(free.is_some(), Kind::LeftBehind, format!("{name:?} is not free after the run"));
    }
}

fn judge(seed: u64, log: &Recorder, faults: &[Faults], outages: usize) {
    let history = History::of(log.events());
    let counts: Vec<_> = faults.iter().map(Faults::counts).collect();
    let lost = history.holds.iter().filter(|h| h.told.is_some()).count();
    let acquired = history.holds.len();
    let mut out = std::io::stderr().lock();
    writeln!(out, "seed {seed}: {acquired} acquisitions, {lost} losses, {outages} outages, {counts:?}")
        .unwrap();
    let mut found = check(&history, &limits());
    found.extend(void(&history));
    let all: Vec<String> = found.iter().take(20).map(ToString::to_string).collect();
    assert!(all.is_empty(), "seed {seed}:\n{}", all.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_operations_under_faults() {
    let (seeds, length) = sized((4, 3), (100, 10));
    for seed in 1..=seeds {
        play(seed, Duration::from_secs(length)).await;
    }
}
