//! Members fall silent and come back while four "processes" take the lock: one holder at a time, tokens rise.

use cotter::Name;
use cotter::backend::{Claim, Connect, Extension, Host, Leave, Mode, Release, Until};
use cotter::clock::{Clock, Moment, Sleep};
use quorum_sketch::{quorum::Store, servers::Servers};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

#[derive(Debug)]
struct SystemClock(Instant);

impl Clock for SystemClock {
    fn now(&self) -> Moment {
        Moment::ZERO + self.0.elapsed()
    }
    fn wall(&self) -> std::time::SystemTime {
        std::time::SystemTime::now()
    }
    fn sleep_until(&self, until: Moment) -> Sleep {
        Box::pin(tokio::time::sleep(until.since(self.now())))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_members() {
    let servers = Arc::new(Servers::start(3));
    let clock = Arc::new(SystemClock(Instant::now())) as Arc<dyn Clock>;
    let (over, inside, last) =
        (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)), Arc::new(AtomicU64::new(0)));
    let counts: Arc<[AtomicU32; 6]> = Arc::default();
    let mut tasks = Vec::new();
    for _ in 0..4 {
        let backend = Store::new(&servers.urls).connect(&Host::without_engine(clock.clone())).await.unwrap();
        let (over, inside, last, counts, clock) =
            (over.clone(), inside.clone(), last.clone(), counts.clone(), clock.clone());
        tasks.push(tokio::spawn(async move {
            while !over.load(SeqCst) {
                let mut claim =
                    Claim::new(Name::new("stress").unwrap(), Mode::Exclusive, Duration::from_millis(600));
                claim.turns = rand::random_range(1..5);
                let until = Until::Moment(clock.now() + Duration::from_millis(300));
                let got = backend.acquire(&claim, until).await;
                let grant = match got {
                    Ok(Some(grant)) => grant,
                    Ok(None) => {
                        counts[1].fetch_add(1, SeqCst);
                        continue;
                    }
                    Err(_) => {
                        counts[2].fetch_add(1, SeqCst);
                        _ = backend.release(&claim, Leave::default()).await;
                        continue;
                    }
                };
                let mut ends = grant.as_of + grant.ttl.unwrap();
                assert_eq!(inside.fetch_add(1, SeqCst), 0, "two inside");
                let before = last.swap(grant.number + u64::from(grant.turns) - 1, SeqCst);
                assert!(grant.number > before, "{} after {before}", grant.number);
                tokio::time::sleep(Duration::from_millis(rand::random_range(0..4))).await;
                if rand::random_bool(0.3) {
                    if let Ok(Extension::Extended { as_of, ttl, .. }) =
                        backend.extend(&[&grant], Duration::from_millis(600)).await.remove(0)
                    {
                        counts[3].fetch_add(1, SeqCst);
                        ends = ends.max(as_of + ttl.unwrap());
                    }
                }
                let in_time = clock.now() < ends;
                inside.fetch_sub(1, SeqCst);
                assert!(in_time, "the test holds it for too long");
                counts[0].fetch_add(1, SeqCst);
                let mut answer = backend.release(&claim, Leave::used(grant.turns)).await;
                while !matches!(answer, Ok(Release::Freed | Release::NotHeld)) {
                    counts[4].fetch_add(1, SeqCst);
                    if let Ok(Release::Unsettled { until, .. }) = answer
                        && clock.now() > until
                    {
                        break;
                    }
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    answer = backend.release(&claim, Leave::used(grant.turns)).await;
                }
            }
        }));
    }
    let at = Instant::now();
    while at.elapsed() < Duration::from_secs(12) {
        let seat = rand::random_range(0..3);
        servers.signal(seat, "-STOP");
        tokio::time::sleep(Duration::from_millis(rand::random_range(10..250))).await;
        servers.signal(seat, "-CONT");
        tokio::time::sleep(Duration::from_millis(rand::random_range(0..100))).await;
    }
    over.store(true, SeqCst);
    for task in tasks {
        task.await.unwrap();
    }
    println!(
        "granted, busy, errors, extended, unsettled: {counts:?}; phase 2: {:?}",
        quorum_sketch::quorum::PHASES
    );
}
