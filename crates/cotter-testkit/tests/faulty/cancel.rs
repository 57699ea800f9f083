//! Every public future, dropped after k polls, for every k, while 512 other tasks keep the same client busy: nothing
//! that was dropped leaves anything held.

use cotter::{Client, Guard, Lease, Released, memory};
use cotter_testkit::faulty::{Faults, Faulty, Plan};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::timing::FAR;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

/// A lease that ends by itself would hide what was left behind.
const LEASE: Lease = Lease::renewed(Duration::from_secs(600));

/// More polls than any of these futures needs.
const MOST_POLLS: usize = 12;
const BUSY: usize = 512;

/// Polls another future so often, then drops it: `None`.
struct After<F> {
    future: Option<Pin<Box<F>>>,
    polls: usize,
}

fn after<F: Future>(polls: usize, future: F) -> After<F> {
    After { future: Some(Box::pin(future)), polls }
}

impl<F: Future> Future for After<F> {
    type Output = Option<F::Output>;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if self.polls > 0 {
            self.polls -= 1;
            let future = self.future.as_mut().expect("polled after it was done");
            if let Poll::Ready(done) = future.as_mut().poll(cx) {
                return Poll::Ready(Some(done));
            }
        }
        if self.polls > 0 {
            return Poll::Pending;
        }
        self.future = None;
        Poll::Ready(None)
    }
}

/// A client that is kept busy, and another one that sees what is left behind.
struct Stage {
    busy: Client,
    other: Client,
    names: AtomicUsize,
    stop: Arc<AtomicBool>,
}

impl Stage {
    async fn new() -> Self {
        let (store, faults) = (memory::Store::new(), Faults::seeded(1));
        let delay = Duration::from_millis(2);
        faults.set(Plan { before: delay, after: delay, ..Plan::default() });
        let slow = Faulty::new(store.clone(), &faults);
        let busy = Client::builder().lease(LEASE).connect_to(slow).await.unwrap();
        let other = Client::builder().lease(LEASE).connect_to(store).await.unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        for n in 0..BUSY {
            tokio::spawn(load(busy.clone(), n, stop.clone()));
        }
        Self { busy, other, names: AtomicUsize::new(0), stop }
    }

    fn fresh_name(&self) -> String {
        format!("name {}", self.names.fetch_add(1, Ordering::Relaxed))
    }

    async fn demand_free(&self, name: &str, what: &str, polls: usize) {
        let free = self.other.mutex(name).try_lock_for(FAR).await.unwrap();
        let text = format!("{name:?} is not free after {what} was dropped after {polls} polls");
        demand(free.is_some(), Kind::LeftBehind, text);
    }

    /// Nobody else has the name.
    async fn alone<F: Future>(&self, what: &str, asking: impl Fn(&Client, &str) -> F) {
        for polls in 0..=MOST_POLLS {
            let name = self.fresh_name();
            drop(after(polls, asking(&self.busy, &name)).await);
            self.demand_free(&name, what, polls).await;
        }
    }

    /// Another process holds it for a while.
    async fn against_another(&self, what: &str, asking: impl Fn(&Client, &str) -> F2) {
        for polls in 0..=MOST_POLLS {
            let name = self.fresh_name();
            let held = self.other.mutex(&name).lock().await.unwrap();
            let freeing = free_later(held, polls);
            within(after(polls, asking(&self.busy, &name))).await;
            freeing.await.unwrap();
            self.demand_free(&name, what, polls).await;
        }
    }

    /// A task of the same process holds it for a while, and a second one waits behind the one that is dropped.
    async fn against_its_own(&self, what: &str, asking: impl Fn(&Client, &str) -> F2) {
        for polls in 0..=MOST_POLLS {
            let name = self.fresh_name();
            let held = self.busy.mutex(&name).lock().await.unwrap();
            let freeing = free_later(held, polls);
            let mut dropped = Box::pin(within(after(polls, asking(&self.busy, &name))));
            // In line before the one behind.
            let done = poll_once(&mut dropped).await;
            let behind = self.busy.mutex(&name);
            let behind = tokio::spawn(async move { behind.lock().await.map(drop) });
            if !done {
                dropped.as_mut().await;
            }
            drop(dropped);
            freeing.await.unwrap();
            let served = tokio::time::timeout(FAR, behind).await;
            let text = format!("{name:?}: nobody served the one behind {what}, dropped after {polls} polls");
            demand(served.is_ok(), Kind::StuckWaiter, text);
            self.demand_free(&name, what, polls).await;
        }
    }

    /// What is done with a guard, which is dropped afterwards.
    async fn with_guard<F: Future>(&self, what: &str, using: impl Fn(Guard) -> F) {
        for polls in 0..=MOST_POLLS {
            let name = self.fresh_name();
            let guard = self.busy.mutex(&name).lock().await.unwrap();
            drop(after(polls, using(guard)).await);
            self.demand_free(&name, what, polls).await;
        }
    }
}

type F2 = Pin<Box<dyn Future<Output = ()> + Send>>;

/// One poll, so that it is where it would wait; true when it is done.
async fn poll_once<F: Future>(future: &mut Pin<Box<F>>) -> bool {
    std::future::poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx).is_ready())).await
}

/// One that waits for more wake-ups than come is dropped in the end.
async fn within<F: Future>(future: F) {
    let _ = tokio::time::timeout(Duration::from_millis(30), future).await;
}

fn free_later(held: Guard, polls: usize) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(polls as u64 % 4)).await;
        drop(held);
    })
}

async fn load(client: Client, n: usize, stop: Arc<AtomicBool>) {
    let mutex = client.mutex(format!("busy {}", n % 100));
    while !stop.load(Ordering::Relaxed) {
        drop(mutex.lock().await);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acquisitions_that_are_dropped_leave_nothing() {
    let stage = Stage::new().await;
    let wait = Duration::from_millis(10);
    for _ in 0..3 {
        stage.alone("lock", |c, n| c.mutex(n).lock()).await;
        stage.alone("try_lock", |c, n| c.mutex(n).try_lock()).await;
        stage.alone("try_lock_for", |c, n| c.mutex(n).try_lock_for(wait)).await;
        let lock = |c: &Client, n: &str| boxed(c.mutex(n).lock());
        let try_lock = |c: &Client, n: &str| boxed(c.mutex(n).try_lock());
        let try_for = move |c: &Client, n: &str| boxed(c.mutex(n).try_lock_for(wait));
        stage.against_another("lock", lock).await;
        stage.against_another("try_lock", try_lock).await;
        stage.against_another("try_lock_for", try_for).await;
        stage.against_its_own("lock", lock).await;
        stage.against_its_own("try_lock", try_lock).await;
        stage.against_its_own("try_lock_for", try_for).await;
    }
    stage.stop.store(true, Ordering::Relaxed);
}

fn boxed<T: Send + 'static>(op: cotter::Op<T>) -> F2 {
    Box::pin(async move { drop(op.await) })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_done_with_a_guard_and_dropped_leaves_nothing() {
    let stage = Stage::new().await;
    let pause = Duration::from_millis(3);
    for _ in 0..3 {
        stage.with_guard("release", Guard::release).await;
        stage.with_guard("keep_for", |g| g.keep_for(Duration::from_millis(20))).await;
        stage.with_guard("extend", async |g: Guard| g.extend(pause * 1000).await).await;
        stage.with_guard("put_note", async |g: Guard| g.put_note("note").await).await;
        stage.with_guard("scope", async |g: Guard| g.scope(tokio::time::sleep(pause)).await).await;
        stage.with_guard("lost", async |g: Guard| within(g.lost()).await).await;
        let working = async |m: cotter::Mutex| m.with(async |_| tokio::time::sleep(pause).await).await;
        stage.alone("with", |c, n| working(c.mutex(n))).await;
    }
    stage.stop.store(true, Ordering::Relaxed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn campaigns_and_several_locks_that_are_dropped_leave_nothing() {
    let stage = Stage::new().await;
    let wait = Duration::from_millis(10);
    let several = |c: &Client, n: &str| cotter::multi([&c.mutex(format!("{n} before")), &c.mutex(n)]);
    let campaign = |c: &Client, n: &str| boxed(c.election(n).campaign());
    for _ in 0..2 {
        stage.alone("campaign", |c, n| c.election(n).campaign()).await;
        stage.alone("campaign_for", |c, n| c.election(n).campaign_for(wait)).await;
        stage.against_another("campaign", campaign).await;
        stage.against_its_own("campaign", campaign).await;
        let term = async |e: cotter::Election| e.campaign().await?.resign().await;
        stage.alone("resign", |c, n| term(c.election(n))).await;
        stage.alone("several", |c, n| several(c, n).lock()).await;
        stage.against_another("several", move |c, n| boxed(several(c, n).lock())).await;
        stage.against_its_own("several", move |c, n| boxed(several(c, n).try_lock_for(wait))).await;
        let held = async |m: cotter::Multi| m.lock().await?.release().await;
        stage.alone("release of several", |c, n| held(several(c, n))).await;
        for n in 0..stage.names.load(Ordering::Relaxed) {
            stage.demand_free(&format!("name {n} before"), "several", 0).await;
        }
    }
    stage.stop.store(true, Ordering::Relaxed);
}

/// A ticket that was made, or that was not used, is there for whoever has it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tickets_that_are_dropped_half_way_leave_nothing() {
    let stage = Stage::new().await;
    let ttl = Duration::from_secs(1);
    for polls in (0..=MOST_POLLS).chain(0..=MOST_POLLS) {
        let name = stage.fresh_name();
        let guard = stage.busy.mutex(&name).lock().await.unwrap();
        if let Some(Ok(ticket)) = after(polls, guard.into_ticket(ttl)).await {
            assert_eq!(stage.other.admin().release_ticket(&ticket).await.unwrap(), Released::Yes);
        }
        stage.demand_free(&name, "into_ticket", polls).await;
        let guard = stage.other.mutex(&name).lock().await.unwrap();
        let ticket = guard.into_ticket(ttl).await.unwrap();
        drop(after(polls, stage.busy.resume(&ticket)).await);
        let _ = stage.other.admin().release_ticket(&ticket).await.unwrap();
        stage.demand_free(&name, "resume", polls).await;
    }
    stage.stop.store(true, Ordering::Relaxed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_close_that_is_dropped_leaves_nothing() {
    let store = memory::Store::new();
    let other = Client::builder().lease(LEASE).connect_to(store.clone()).await.unwrap();
    for polls in 0..=MOST_POLLS {
        let faults = Faults::seeded(polls as u64);
        let delay = Duration::from_millis(2);
        faults.set(Plan { before: delay, after: delay, ..Plan::default() });
        let slow = Faulty::new(store.clone(), &faults);
        let client = Client::builder().lease(LEASE).connect_to(slow).await.unwrap();
        let guard = client.mutex("x").lock().await.unwrap();
        drop(after(polls, client.close(Duration::from_millis(5))).await);
        drop(guard);
        let free = other.mutex("x").try_lock_for(FAR).await.unwrap();
        let text = format!("\"x\" is not free after close was dropped after {polls} polls");
        demand(free.is_some(), Kind::LeftBehind, text);
    }
}
