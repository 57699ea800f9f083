//! The limit of a semaphore is raised from 5 to 10 while old processes are replaced by new ones.

use cotter::{Client, ErrorKind, Lease, Permit, Result, Semaphore};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::Redis;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;
use tokio::task::JoinHandle;

const OLD: u32 = 5;
const NEW: u32 = 10;
/// How long a process holds its permit.
const WORK: Duration = Duration::from_millis(10);

/// How many permits are held.
#[derive(Debug, Clone, Default)]
struct Held {
    now: Arc<AtomicU32>,
    most: Arc<AtomicU32>,
    /// The largest limit that the server may have by now.
    limit: Arc<AtomicU32>,
}

impl Held {
    /// The limit is read after the permits were counted: one that is raised in between is no reason to complain.
    fn enter(&self) {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        let limit = self.limit.load(Ordering::SeqCst);
        demand(now <= limit, Kind::PermitsOverLimit, format!("{now} of {limit} permits are held"));
    }

    fn leave(&self) {
        self.now.fetch_sub(1, Ordering::SeqCst);
    }

    /// Until so many were held at once.
    async fn reached(&self, limit: u32) {
        let all = async {
            while self.most.load(Ordering::SeqCst) < limit {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), all).await.expect("all permits are used");
        // One too many would come a little later.
        tokio::time::sleep(WORK * 4).await;
    }
}

/// A process of either version. It has a connection of its own, and nothing in common with the others but the server.
struct Process {
    semaphore: Semaphore,
    limit: u32,
    held: Held,
    stop: Arc<AtomicBool>,
    /// How often it was told that the limit is another one.
    refused: u32,
}

/// One that runs, and how to end it.
struct Running(Arc<AtomicBool>, JoinHandle<u32>);

impl Running {
    async fn start(server: &Redis, limit: u32, held: &Held) -> Self {
        let builder = Client::builder().lease(Lease::renewed(Duration::from_secs(10)));
        let semaphore = builder.connect(server.url("")).await.unwrap().semaphore("x", limit);
        let stop = Arc::<AtomicBool>::default();
        let process = Process { semaphore, limit, held: held.clone(), stop: stop.clone(), refused: 0 };
        Self(stop, tokio::spawn(process.run()))
    }

    /// Ends it; how often it was refused.
    async fn end(self) -> u32 {
        self.0.store(true, Ordering::Relaxed);
        self.1.await.unwrap()
    }
}

impl Process {
    /// The steps of `Semaphore`'s documentation.
    async fn run(mut self) -> u32 {
        if self.limit == NEW {
            self.raise().await;
        }
        while !self.stop.load(Ordering::Relaxed) {
            let answer = self.semaphore.try_acquire_for(Duration::from_millis(200)).await;
            self.use_permit(answer).await;
        }
        self.refused
    }

    async fn raise(&self) {
        // From this request on, and not from its answer.
        self.held.limit.store(NEW, Ordering::SeqCst);
        self.semaphore.set_limit(NEW).await.expect("nothing stands against it");
    }

    async fn use_permit(&mut self, answer: Result<Option<Permit>>) {
        match answer {
            Ok(Some(permit)) => {
                self.held.enter();
                tokio::time::sleep(WORK).await;
                self.held.leave();
                permit.finish().await.expect("nothing that runs is interrupted");
            }
            Ok(None) => {}
            Err(e) => {
                assert_eq!((e.kind(), e.outcome_unknown()), (ErrorKind::LimitMismatch, false), "{e}");
                self.refused += 1;
                if self.limit == NEW {
                    // The name was not in use for a moment, and an old process came first.
                    self.raise().await;
                } else {
                    tokio::time::sleep(WORK).await;
                }
            }
        }
    }
}

/// Eight processes that say 5 are replaced, one by one, by sixteen that say 10.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_limit_is_raised_in_a_rolling_deployment() {
    let (server, held) = (Redis::start(), Held::default());
    held.limit.store(OLD, Ordering::SeqCst);
    let mut old = Vec::new();
    for _ in 0..8 {
        old.push(Running::start(&server, OLD, &held).await);
    }
    held.reached(OLD).await;
    let (mut new, mut refused) = (Vec::new(), 0);
    for process in old {
        new.push(Running::start(&server, NEW, &held).await);
        new.push(Running::start(&server, NEW, &held).await);
        tokio::time::sleep(WORK * 2).await;
        refused += process.end().await;
    }
    held.reached(NEW).await;
    for process in new {
        process.end().await;
    }
    assert!(refused > 0, "old processes are told that the limit is another one");
    assert_eq!(held.now.load(Ordering::SeqCst), 0);
}

/// What old and new ones get at each step, one after the other.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn who_says_the_old_limit_is_refused_while_the_name_is_in_use() {
    let server = Redis::start();
    let client = async || Client::builder().local_turns(false).connect(server.url("")).await.unwrap();
    let (old, new) = (client().await.semaphore("x", OLD), client().await.semaphore("x", NEW));
    let refused = |answer: Result<Option<Permit>>| {
        let error = answer.expect_err("the limit is another one");
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::LimitMismatch, false), "{error}");
    };
    let running = old.clone().take(OLD).try_acquire().await.unwrap().expect("free");
    refused(new.try_acquire().await);
    // One that waits keeps its place and is served under the new limit.
    let waiting = tokio::spawn(client().await.semaphore("x", OLD).acquire());
    super::setup::eventually("it waits", || super::setup::queued(&server, "x") == 1).await;
    new.set_limit(NEW).await.unwrap();
    let served =
        tokio::time::timeout(Duration::from_secs(20), waiting).await.expect("soon").unwrap().unwrap();
    refused(old.try_acquire().await);
    assert!(running.is_valid() && served.is_valid(), "nothing that runs is interrupted");
    let rest = new.clone().take(NEW - OLD - 1).try_acquire().await.unwrap().expect("these are left");
    let text = "one more than the new limit";
    demand(new.try_acquire().await.unwrap().is_none(), Kind::PermitsOverLimit, text);
    for permit in [running, served, rest] {
        permit.finish().await.unwrap();
    }
    // It is not in use: whoever comes sets the limit.
    old.try_acquire().await.unwrap().expect("free").finish().await.unwrap();
}
