//! Tokens and turns on `memory`, where the clock stands still unless the test moves it.

use cotter::backend::{Backend, Claim, Connect, Host, Leave, Until};
use cotter::clock::{Clock, Moment, Sleep};
use cotter::{Client, ManualClock, Mode, Name, memory};
use cotter_testkit::Actor;
use cotter_testkit::bare::clock;
use cotter_testkit::history::{History, Kind, Limits, Recorder, check, demand};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::task::{Context, Poll, Waker};
use std::thread::{self, ThreadId};
use std::time::{Duration, SystemTime};

/// Processes on one store, each with its own client.
async fn actors(store: &memory::Store, log: &Recorder, n: u32) -> Vec<Actor> {
    let mut actors = Vec::new();
    for process in 1..=n {
        let client = Client::builder().connect_to(store.clone()).await.unwrap();
        actors.push(Actor::new(client, log, process));
    }
    actors
}

/// A process whose clock stands still: its events are counted instead of timed.
async fn timeless(log: &Recorder, clock: &ManualClock) -> Actor {
    let client = Client::builder().clock(clock.clone()).connect("memory:").await.unwrap();
    let ticks = AtomicU64::new(0);
    Actor::on_clock(client, log, 1, move || ticks.fetch_add(1, Ordering::Relaxed))
}

fn demand_clean(log: &Recorder, limits: &Limits) {
    let found = check(&History::of(log.events()), limits);
    let all: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert!(all.is_empty(), "{}", all.join("\n"));
}

#[tokio::test]
async fn tokens_rise_while_the_clock_stands_still() {
    let log = Recorder::in_memory();
    let actor = timeless(&log, &ManualClock::new()).await;
    for _ in 0..200 {
        actor.lock("x").await.unwrap().finish().await.unwrap();
    }
    demand_clean(&log, &Limits::default());
}

/// The name is free for long enough that the store forgets it: the clock is the floor then.
#[tokio::test]
async fn tokens_rise_after_the_store_has_forgotten_the_name() {
    let (log, clock) = (Recorder::in_memory(), ManualClock::new());
    let actor = timeless(&log, &clock).await;
    for _ in 0..50 {
        actor.lock("x").await.unwrap().finish().await.unwrap();
        let clock = clock.clone();
        tokio::task::spawn_blocking(move || clock.advance(Duration::from_secs(1))).await.unwrap();
    }
    demand_clean(&log, &Limits::default());
}

/// A clock on which one thread, when it is told to, is late with what it has read.
#[derive(Debug)]
struct LateClock {
    time: Arc<dyn Clock>,
    sleeper: Mutex<Option<ThreadId>>,
    read: Barrier,
    go_on: Mutex<mpsc::Receiver<()>>,
}

impl Clock for LateClock {
    fn now(&self) -> Moment {
        let now = self.time.now();
        let is_late = self.sleeper.lock().unwrap().take_if(|id| *id == thread::current().id()).is_some();
        if is_late {
            self.read.wait();
            // Others may have to wait for it.
            let _ = self.go_on.lock().unwrap().recv_timeout(Duration::from_millis(200));
        }
        now
    }

    fn wall(&self) -> SystemTime {
        self.time.wall()
    }

    fn sleep_until(&self, until: Moment) -> Sleep {
        self.time.sleep_until(until)
    }
}

/// A thread can lose the processor at any time. Meanwhile others lock and release the name, and the store forgets it.
#[tokio::test]
async fn a_thread_that_was_interrupted_gives_no_smaller_token() {
    let (tell, told) = mpsc::channel();
    let (sleeper, read, go_on) = (Mutex::default(), Barrier::new(2), Mutex::new(told));
    let late = Arc::new(LateClock { time: clock(), sleeper, read, go_on });
    let store = memory::Store::new().connect(&Host::without_engine(late.clone())).await.unwrap();
    let claim = || Claim::new(Name::new("x").unwrap(), Mode::Exclusive, Duration::from_secs(20));
    let (interrupted, theirs, clock) = (store.clone(), claim(), late.clone());
    let thread = thread::spawn(move || {
        *clock.sleeper.lock().unwrap() = Some(thread::current().id());
        at_once(interrupted.acquire(&theirs, Until::Now)).unwrap().granted()
    });
    late.read.wait();
    let other = claim();
    let before = store.acquire(&other, Until::Now).await.unwrap().granted();
    store.release(&other, Leave::used(1)).await.unwrap();
    // The clock has passed its token.
    thread::sleep(Duration::from_millis(1));
    store.release(&other, Leave::used(1)).await.unwrap();
    let _ = tell.send(());
    let after = thread.join().unwrap();
    if let (Some(before), Some(after)) = (before, after) {
        demand(
            after.number > before.number,
            Kind::TokenOrder,
            format!("{} after {}", after.number, before.number),
        );
    }
}

/// The memory store answers at once.
fn at_once<F: Future>(asked: F) -> F::Output {
    let Poll::Ready(answer) = pin!(asked).poll(&mut Context::from_waker(Waker::noop())) else {
        panic!("it waits");
    };
    answer
}

/// Blocks of turns are used in part, given back, and asked for again, by two processes in turn.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn turns_that_were_taken_back_are_given_once() {
    let log = Recorder::in_memory();
    let actors = actors(&memory::Store::new(), &log, 2).await;
    let tasks: Vec<_> = (0..8)
        .map(|n| {
            let actor = actors[n % 2].clone();
            tokio::spawn(async move {
                for _ in 0..300 {
                    actor.lock("x").await.unwrap().finish().await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    demand_clean(&log, &Limits { place_slack: Duration::from_secs(5), ..Limits::default() });
}

/// Three processes get in line one after the other, and are served so.
#[tokio::test]
async fn processes_are_served_in_order_of_arrival() {
    let log = Recorder::in_memory();
    let actors = actors(&memory::Store::new(), &log, 4).await;
    for _ in 0..3 {
        let held = actors[0].lock("x").await.unwrap();
        let mut waiting = Vec::new();
        for actor in &actors[1..] {
            let actor = actor.clone();
            waiting.push(tokio::spawn(async move { actor.lock("x").await.unwrap().finish().await }));
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
        held.finish().await.unwrap();
        for task in waiting {
            task.await.unwrap().unwrap();
        }
    }
    demand_clean(&log, &Limits { place_slack: Duration::from_millis(15), ..Limits::default() });
}

/// Rule 7: whoever waits for two permits is not passed over by those who want one.
#[tokio::test]
async fn a_newcomer_does_not_pass_over_a_waiter() {
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::new());
    let store = memory::Store::new().connect(&Host::without_engine(clock.clone())).await.unwrap();
    let claim =
        |take| Claim::new(Name::new("x").unwrap(), Mode::Permits { take, of: 2 }, Duration::from_secs(10));
    let holder = claim(1);
    store.acquire(&holder, Until::Now).await.unwrap().granted().unwrap();
    let (waiter, backend): (_, Arc<dyn Backend>) = (claim(2), store.clone());
    let (waiting, asked) = (waiter.clone(), backend.clone());
    let queued = tokio::spawn(async move { asked.acquire(&waiting, Until::Forever).await });
    tokio::task::yield_now().await;
    tokio::task::yield_now().await;
    let newcomer = store.acquire(&claim(1), Until::Now).await.unwrap().granted();
    demand(newcomer.is_none(), Kind::LostPlace, "a newcomer was served before a listening waiter");
    store.release(&holder, Leave::default()).await.unwrap();
    assert!(queued.await.unwrap().unwrap().granted().is_some());
    drop(backend);
}
