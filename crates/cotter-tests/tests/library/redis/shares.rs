//! Readers and permits: many of them, keys that go missing, memory that is full, clocks that are set back, rights.

use super::setup::{USED, backend, claim, eventually, queued, take};
use cotter::backend::{Acquired, Backend, Claim, Extension, Grant, Mode, Release, Until};
use cotter::{Client, Lease, Result};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::Redis;
use cotter_testkit::sized;
use cotter_testkit::timing::Stopwatch;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::task::{JoinHandle, JoinSet};

const LONG: Duration = Duration::from_secs(60);
/// Waiters ask every half second.
const TTL: Duration = Duration::from_millis(1500);
const SHARES: &str = "cotter:{a}:r";
const RECORDS: &str = "cotter:{a}:h";

fn reader(ttl: Duration) -> Claim {
    let mut claim = claim("a", ttl);
    claim.mode = Mode::Shared;
    claim
}

fn permits(take: u32, of: u32, ttl: Duration) -> Claim {
    let mut claim = claim("a", ttl);
    claim.mode = Mode::Permits { take, of };
    claim
}

fn wait(backend: &Arc<dyn Backend>, claim: &Claim) -> JoinHandle<Result<Acquired>> {
    let (backend, claim) = (backend.clone(), claim.clone());
    tokio::spawn(async move { backend.acquire(&claim, Until::Forever).await })
}

async fn granted(waiting: JoinHandle<Result<Acquired>>) -> Grant {
    let acquired = tokio::time::timeout(LONG, waiting).await.expect("it is woken").unwrap().unwrap();
    acquired.granted().expect("it waits for ever")
}

async fn extended(backend: &Arc<dyn Backend>, grant: &Grant, ttl: Duration) -> bool {
    matches!(backend.extend(&[grant], ttl).await.remove(0).unwrap(), Extension::Extended { .. })
}

/// One script grants a few hundred of them. The others need not ask again: none of them does here.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_thousand_readers_that_waited_enter_at_once() {
    let server = Redis::start();
    let (one, other) = (backend(&server.url("")).await, backend(&server.url("")).await);
    let held = claim("a", LONG);
    take(&one, &held).await;
    let first = wait(&other, &reader(LONG));
    eventually("it waits", || queued(&server, "a") == 1).await;
    let count = sized(1_000, 5_000);
    for i in 1..count {
        let joined = other.acquire(&reader(LONG), Until::InLine).await.unwrap();
        assert!(matches!(joined, Acquired::Queued), "{i}: {joined:?}");
    }
    one.release(&held, USED).await.unwrap();
    eventually("all have entered", || queued(&server, "a") == 0).await;
    granted(first).await;
    let records = server.command(&["HVALS", RECORDS]);
    let tokens: HashSet<&str> = records.lines().map(|record| &record[3..19]).collect();
    assert_eq!(tokens.len(), count, "each has a token of its own");
}

struct Room {
    readers: AtomicI32,
    writers: AtomicI32,
    reads: AtomicU64,
}

impl Room {
    fn look(&self) {
        let (readers, writers) = (self.readers.load(Ordering::SeqCst), self.writers.load(Ordering::SeqCst));
        let alone = writers == 0 || (writers == 1 && readers == 0);
        demand(alone, Kind::Overlap, format!("{readers} readers beside {writers} writers"));
    }

    async fn stay(&self, count: &AtomicI32, pause: Duration) {
        count.fetch_add(1, Ordering::SeqCst);
        self.look();
        tokio::time::sleep(pause).await;
        self.look();
        count.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Each is a process of its own. Somebody always reads, and the writers have their turns all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn twenty_readers_and_two_writers() {
    let server = Redis::start();
    let room = Arc::new(Room { readers: 0.into(), writers: 0.into(), reads: 0.into() });
    let (watch, end) = (Stopwatch::of(Kind::UnfairShare), Instant::now() + Duration::from_secs(4));
    let mut tasks = JoinSet::new();
    for i in 0..22 {
        let client = Client::builder().lease(Lease::renewed(LONG)).connect(server.url("")).await.unwrap();
        let (lock, room) = (client.rwlock("a"), room.clone());
        let pause = Duration::from_millis(5 + i % 5);
        tasks.spawn(async move {
            let mut worst = Duration::ZERO;
            while Instant::now() < end {
                let asked = Instant::now();
                if i < 20 {
                    let guard = lock.read().await.unwrap();
                    worst = worst.max(asked.elapsed());
                    room.stay(&room.readers, pause).await;
                    room.reads.fetch_add(1, Ordering::Relaxed);
                    guard.finish().await.unwrap();
                } else {
                    let guard = lock.write().await.unwrap();
                    worst = worst.max(asked.elapsed());
                    room.stay(&room.writers, pause).await;
                    guard.finish().await.unwrap();
                    tokio::time::sleep(pause * 3).await;
                }
            }
            worst
        });
    }
    let worst = tasks.join_all().await.into_iter().max().unwrap();
    let said = format!("the longest wait beside {} reads", room.reads.load(Ordering::Relaxed));
    // Some 30 ms where nothing else runs.
    watch.took_at_most(worst, Duration::from_secs(3), said);
}

/// What the holders lose if one of their keys does, and that no writer enters beside those who lost nothing.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_key_of_readers_that_goes_missing_lets_no_writer_in() {
    for (key, kept) in [(SHARES, true), (RECORDS, false)] {
        let server = Redis::start();
        let (one, other) = (backend(&server.url("")).await, backend(&server.url("")).await);
        let grants = [take(&one, &reader(LONG)).await, take(&one, &reader(TTL * 2)).await];
        take(&one, &reader(TTL * 2)).await;
        let writer = wait(&other, &claim("a", TTL));
        eventually("it waits", || queued(&server, "a") == 1).await;
        assert_eq!(server.command(&["DEL", key]), "1");
        tokio::time::sleep(TTL).await;
        assert!(!writer.is_finished(), "without {key}");
        for grant in &grants {
            assert_eq!(extended(&one, grant, LONG).await, kept, "without {key}");
        }
        let released = one.release(&grants[0].claim, USED).await.unwrap();
        assert_eq!(released, Release::Freed, "without {key}");
        if kept {
            tokio::time::sleep(TTL * 2).await;
            assert!(!writer.is_finished(), "one of them still reads");
            one.release(&grants[1].claim, USED).await.unwrap();
        }
        writer.abort();
    }
}

/// Whoever was there before it is gone, as after `evict --now`.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn deleting_the_lock_takes_it_from_all_readers() {
    let server = Redis::start();
    let (one, other) = (backend(&server.url("")).await, backend(&server.url("")).await);
    let old = [take(&one, &reader(LONG)).await, take(&one, &reader(LONG)).await];
    let writer = wait(&other, &claim("a", TTL));
    eventually("it waits", || queued(&server, "a") == 1).await;
    server.command(&["DEL", "cotter:{a}"]);
    let writer = granted(writer).await;
    for grant in &old {
        assert!(!extended(&one, grant, LONG).await);
        assert_eq!(one.release(&grant.claim, USED).await.unwrap(), Release::NotHeld);
    }
    assert!(writer.number > old[1].number);
    other.release(&writer.claim, USED).await.unwrap();
    let new = take(&other, &reader(LONG)).await;
    assert!(!extended(&one, &old[0], LONG).await, "those who read now are others");
    other.release(&new.claim, USED).await.unwrap();
    take(&one, &claim("a", LONG)).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn keys_of_a_queue_that_go_missing_cost_readers_no_place() {
    for key in ["cotter:{a}:q", "cotter:{a}:w"] {
        let server = Redis::start();
        let (one, other) = (backend(&server.url("")).await, backend(&server.url("")).await);
        let held = claim("a", LONG);
        take(&one, &held).await;
        let mut waiting = Vec::new();
        for i in 0..3 {
            waiting.push(wait(&other, &reader(TTL)));
            eventually("it waits", || queued(&server, "a") == i + 1).await;
        }
        server.command(&["DEL", key]);
        one.release(&held, USED).await.unwrap();
        for task in waiting {
            let grant = granted(task).await;
            other.release(&grant.claim, USED).await.unwrap();
        }
    }
}

/// All permits are back when the last lease has ended, and none before that is anybody's.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn permits_are_counted_right_without_one_of_their_keys() {
    for keys in [&[SHARES][..], &[RECORDS], &[SHARES, RECORDS]] {
        let server = Redis::start();
        let one = backend(&server.url("")).await;
        let ttl = Duration::from_secs(2);
        take(&one, &permits(2, 5, ttl)).await;
        take(&one, &permits(1, 5, ttl)).await;
        server.command(&[&["DEL"][..], keys].concat());
        let beside = take(&one, &permits(2, 5, ttl)).await;
        let more = one.acquire(&permits(1, 5, ttl), Until::Now).await.unwrap();
        assert!(matches!(more, Acquired::Busy), "without {keys:?}: {more:?}");
        let full = wait(&one, &permits(3, 5, ttl));
        eventually("it waits", || queued(&server, "a") == 1).await;
        one.release(&beside.claim, USED).await.unwrap();
        let grant = granted(full).await;
        assert!(extended(&one, &grant, LONG).await);
        let most = take(&one, &permits(2, 5, LONG)).await;
        let more = one.acquire(&permits(1, 5, ttl), Until::Now).await.unwrap();
        assert!(matches!(more, Acquired::Busy), "without {keys:?}: {more:?}");
        one.release(&grant.claim, USED).await.unwrap();
        one.release(&most.claim, USED).await.unwrap();
        take(&one, &permits(5, 5, ttl)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn shares_are_given_back_extended_and_handed_over_without_memory() {
    let server = Redis::start();
    let (one, other) = (backend(&server.url("")).await, backend(&server.url("")).await);
    let first = [take(&one, &reader(LONG)).await, take(&one, &reader(LONG)).await];
    let writer = wait(&other, &claim("a", LONG));
    eventually("it waits", || queued(&server, "a") == 1).await;
    let behind = [wait(&other, &reader(LONG)), wait(&other, &reader(LONG))];
    eventually("they wait", || queued(&server, "a") == 3).await;
    server.command(&["CONFIG", "SET", "maxmemory", "1000"]);
    assert!(server.command(&["SET", "x", "y"]).contains("OOM"));
    assert!(extended(&one, &first[0], LONG * 2).await);
    for grant in &first {
        assert_eq!(one.release(&grant.claim, USED).await.unwrap(), Release::Freed);
    }
    let writer = granted(writer).await;
    let shared = other.downgrade(&writer).await.unwrap();
    for task in behind {
        let grant = granted(task).await;
        assert!(extended(&other, &grant, LONG).await);
    }
    assert_eq!(other.release(&shared.claim, USED).await.unwrap(), Release::Freed);
}

/// A reader that died keeps a writer waiting for its ttl, not for an hour.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_clock_that_is_set_back_keeps_no_reader() {
    let server = Redis::builder().skewed().start();
    let (one, other) = (backend(&server.url("")).await, backend(&server.url("")).await);
    let (dead, alive) = (take(&one, &reader(TTL)).await, take(&one, &reader(TTL)).await);
    server.step_clock(-3600);
    assert!(extended(&one, &alive, TTL).await);
    let writer = wait(&other, &claim("a", TTL));
    eventually("it waits", || queued(&server, "a") == 1).await;
    let since = Stopwatch::of(Kind::IdleWaiter);
    one.release(&alive.claim, USED).await.unwrap();
    let grant = granted(writer).await;
    since.at_most(TTL * 10, "the dead reader keeps nobody");
    assert!(grant.number > alive.number && !extended(&one, &dead, TTL).await);
}

/// The lease of a dead writer ends, and a reader that does not wait is the first to ask: with its share, those who wait get
/// theirs.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_reader_that_does_not_wait_leaves_their_shares_to_those_who_do() {
    let server = Redis::start();
    let (one, other, last) =
        (backend(&server.url("")).await, backend(&server.url("")).await, backend(&server.url("")).await);
    let mut at_once = 0;
    for _ in 0..10 {
        take(&one, &claim("a", TTL / 5)).await;
        let waiting = [reader(LONG), reader(LONG)].map(|claim| (wait(&other, &claim), claim));
        eventually("both wait", || queued(&server, "a") == 2).await;
        let newcomer = reader(LONG);
        let taken = loop {
            if let Some(grant) = last.acquire(&newcomer, Until::Now).await.unwrap().granted() {
                break grant;
            }
        };
        let mut tokens = Vec::new();
        let mut claims = Vec::new();
        for (task, claim) in waiting {
            tokens.push(granted(task).await.number);
            claims.push(claim);
        }
        // One script has granted all three at the same time.
        at_once += usize::from(tokens.contains(&(taken.number - 1)) && tokens.contains(&(taken.number - 2)));
        last.release(&newcomer, USED).await.unwrap();
        let writer = last.acquire(&claim("a", TTL), Until::Now).await.unwrap().granted();
        demand(writer.is_none(), Kind::Overlap, format!("{writer:?} beside two readers with {tokens:?}"));
        for claim in claims {
            assert_eq!(other.release(&claim, USED).await.unwrap(), Release::Freed);
        }
    }
    demand(at_once > 0, Kind::Void, "others were faster each time");
}
