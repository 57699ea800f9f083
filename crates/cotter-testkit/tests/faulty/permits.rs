//! Semaphores: the limit, the order, and permits that come back.

use cotter::backend::Connect;
use cotter::{Client, ErrorKind, Semaphore, file, memory};
use cotter_testkit::Actor;
use cotter_testkit::history::{History, Kind, Limits, Recorder, Use, check, demand};
use cotter_testkit::timing::happens;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;
use tempfile::TempDir;

/// A store with permits, and clients that are processes to it.
struct Scene {
    connect: Box<dyn Fn() -> cotter::Op<Client> + Send + Sync>,
    log: Recorder,
    _folder: TempDir,
}

impl Scene {
    fn all() -> [Self; 2] {
        let folder = || tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let (unused, locks) = (folder(), folder());
        let files = file::Store::at(locks.path().join("store"));
        [Self::on(memory::Store::new(), unused), Self::on(files, locks)]
    }

    fn on(store: impl Connect + Clone, folder: TempDir) -> Self {
        let connect = move || Client::builder().connect_to(store.clone());
        Self { connect: Box::new(connect), log: Recorder::in_memory(), _folder: folder }
    }

    async fn client(&self) -> Client {
        (self.connect)().await.unwrap()
    }

    async fn actors<const N: usize>(&self) -> [Actor; N] {
        let mut actors = Vec::new();
        for process in 1..=N {
            actors.push(Actor::new(self.client().await, &self.log, process as u32));
        }
        actors.try_into().expect("so many")
    }

    /// Until so many wait.
    async fn wait_for_waiters(&self, by: &Actor, waiters: u32) {
        let waiting = async || by.client().holder("x").await.unwrap().and_then(|r| r.waiters).unwrap_or(0);
        let all_wait = async {
            while waiting().await != waiters {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        happens("they wait", all_wait).await;
    }

    fn demand_clean(&self) {
        let limits = Limits { idle: Duration::from_secs(60), ..Limits::default() };
        let found = check(&History::of(self.log.events()), &limits);
        let all: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert!(all.is_empty(), "{}", all.join("\n"));
    }
}

const fn of_three(take: u32) -> Use {
    Use::Permits { take, of: 3 }
}

#[tokio::test]
async fn there_are_never_more_than_the_limit() {
    for scene in Scene::all() {
        let [one, other, third] = scene.actors().await;
        let first = one.acquire("x", of_three(2)).await.unwrap();
        let too_many = other.try_acquire("x", of_three(2)).await.unwrap();
        let last = other.try_acquire("x", of_three(1)).await.unwrap();
        let one_more = third.try_acquire("x", of_three(1)).await.unwrap();
        tokio::time::sleep(Duration::from_millis(1)).await;
        drop((first, too_many, last, one_more));
        scene.demand_clean();
    }
}

#[tokio::test]
async fn a_try_that_fails_takes_nothing() {
    for scene in Scene::all() {
        let [one, other] = scene.actors().await;
        let held = one.acquire("x", of_three(2)).await.unwrap();
        for _ in 0..3 {
            assert!(other.try_acquire("x", of_three(2)).await.unwrap().is_none());
        }
        let cancelled = tokio::time::timeout(Duration::from_millis(20), other.acquire("x", of_three(3)));
        assert!(cancelled.await.is_err());
        held.finish().await.unwrap();
        let all = one.try_acquire_for("x", of_three(3), Duration::from_secs(5)).await.unwrap();
        demand(all.is_some(), Kind::LeftBehind, "permits were kept that nobody holds");
    }
}

/// The one that waits wants all; the newcomer wants one, which is free.
#[tokio::test]
async fn a_newcomer_does_not_pass_the_first_waiter() {
    for scene in Scene::all() {
        let [one, other, newcomer] = scene.actors().await;
        let held = one.acquire("x", of_three(2)).await.unwrap();
        let waiting = tokio::spawn(async move { other.acquire("x", of_three(3)).await });
        scene.wait_for_waiters(&one, 1).await;
        let early = newcomer.try_acquire("x", of_three(1)).await.unwrap();
        demand(early.is_none(), Kind::LostPlace, "a newcomer was served before the first waiter");
        held.finish().await.unwrap();
        waiting.await.unwrap().unwrap().finish().await.unwrap();
    }
}

/// One process of a version that says this limit. It does what the documentation of `Semaphore` says.
struct Version {
    semaphore: Semaphore,
    limit: u32,
    /// Whether it is of the new version, which sets the limit.
    is_new: bool,
    inside: Arc<AtomicU32>,
    most: Arc<AtomicU32>,
    stop: Arc<AtomicBool>,
}

impl Version {
    async fn run(self) {
        if self.is_new {
            self.semaphore.set_limit(self.limit).await.unwrap();
        }
        while !self.stop.load(Ordering::Relaxed) {
            match self.semaphore.try_acquire_for(Duration::from_millis(200)).await {
                Ok(Some(permit)) => {
                    let inside = self.inside.fetch_add(1, Ordering::SeqCst) + 1;
                    self.most.fetch_max(inside, Ordering::SeqCst);
                    tokio::time::sleep(Duration::from_millis(3)).await;
                    self.inside.fetch_sub(1, Ordering::SeqCst);
                    permit.finish().await.expect("nothing that runs is interrupted");
                }
                Ok(None) => {}
                Err(e) if e.kind() == ErrorKind::LimitMismatch && self.is_new => {
                    self.semaphore.set_limit(self.limit).await.unwrap();
                }
                Err(e) => {
                    assert_eq!(e.kind(), ErrorKind::LimitMismatch, "{e}");
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            }
        }
    }
}

/// The most that were held, once so many were.
async fn used(most: &AtomicU32, limit: u32) -> u32 {
    for _ in 0..4_000 {
        if most.load(Ordering::SeqCst) >= limit {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // One too many would come a little later.
    tokio::time::sleep(Duration::from_millis(20)).await;
    most.load(Ordering::SeqCst)
}

/// Eight processes that say 5 are replaced, one by one, by sixteen that say 10.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rolling_deployment_from_five_to_ten() {
    for scene in Scene::all() {
        let (inside, most) = (Arc::<AtomicU32>::default(), Arc::<AtomicU32>::default());
        let start = async |limit| {
            let stop = Arc::<AtomicBool>::default();
            let version = Version {
                semaphore: scene.client().await.semaphore("x", limit),
                limit,
                is_new: limit == 10,
                inside: inside.clone(),
                most: most.clone(),
                stop: stop.clone(),
            };
            (stop, tokio::spawn(version.run()))
        };
        let mut old = Vec::new();
        for _ in 0..8 {
            old.push(start(5).await);
        }
        let before = used(&most, 5).await;
        demand(before == 5, Kind::PermitsOverLimit, format!("{before} of 5 permits were held"));
        let mut new = Vec::new();
        for (stop, process) in old {
            new.push(start(10).await);
            new.push(start(10).await);
            stop.store(true, Ordering::Relaxed);
            process.await.unwrap();
        }
        used(&most, 10).await;
        for (stop, process) in new {
            stop.store(true, Ordering::Relaxed);
            process.await.unwrap();
        }
        let most = most.load(Ordering::SeqCst);
        demand(most <= 10, Kind::PermitsOverLimit, format!("{most} of 10 permits were held"));
        assert_eq!(most, 10, "the new limit is used");
    }
}
