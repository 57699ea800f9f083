//! Pair times, and what a user sees while one member is away.

use cotter::backend::{Backend, Claim, Connect, Host, Leave, Mode, Until};
use cotter::clock::{Clock, Moment, Sleep};
use cotter::{Client, Lease, Name};
use quorum_sketch::{member::RedisMember, quorum::Store, servers::Servers};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The contract gives an outside crate no clock of its own: the engine's is private.
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

fn micros(mut all: Vec<Duration>) -> String {
    all.sort();
    let at = |q: f64| all[((all.len() - 1) as f64 * q) as usize].as_micros();
    format!("p50 {} p95 {} max {} us", at(0.5), at(0.95), at(1.0))
}

async fn pairs(what: &str, backend: &Arc<dyn Backend>) {
    let (mut got, mut freed, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    let name = Name::new("pair").unwrap();
    for _ in 0..500 {
        let claim = Claim::new(name.clone(), Mode::Exclusive, Duration::from_secs(2));
        let at = Instant::now();
        backend.acquire(&claim, Until::Now).await.unwrap().expect("free");
        got.push(at.elapsed());
        let at = Instant::now();
        assert!(backend.acquire(&claim.renewed(), Until::Now).await.unwrap().is_none());
        refused.push(at.elapsed());
        let at = Instant::now();
        backend.release(&claim, Leave::used(1)).await.unwrap();
        freed.push(at.elapsed());
    }
    println!("{what}: acquire {} | refused {} | release {}", micros(got), micros(refused), micros(freed));
}

async fn hand_overs(what: &str, urls: &[String]) {
    let at = Instant::now();
    let mut tasks = Vec::new();
    let (store, clock) =
        (Arc::new(Store::new(urls)), Arc::new(SystemClock(Instant::now())) as Arc<dyn Clock>);
    for _ in 0..2 {
        let backend = store.connect(&Host::without_engine(clock.clone())).await.unwrap();
        tasks.push(tokio::spawn(async move {
            let mut last = 0;
            for _ in 0..100 {
                let claim = Claim::new(Name::new("hand").unwrap(), Mode::Exclusive, Duration::from_secs(5));
                let grant = backend.acquire(&claim, Until::Forever).await.unwrap().unwrap();
                assert!(grant.number > last);
                last = grant.number;
                backend.release(&claim, Leave::used(1)).await.unwrap();
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    println!("{what}: {:.0} hand-overs/s with 2 clients", 200.0 / at.elapsed().as_secs_f64());
}

async fn user(what: &str, servers: &Servers, up: usize) {
    let builder =
        Client::builder().backend(Store::new(&servers.urls)).lease(Lease::renewed(Duration::from_secs(3)));
    let client = builder.connect().await.unwrap();
    let mutex = client.mutex("user");
    let mut pair = Vec::new();
    for _ in 0..200 {
        let at = Instant::now();
        _ = mutex.lock().await.unwrap().release().await.unwrap();
        pair.push(at.elapsed());
    }
    let at = Instant::now();
    drop(mutex.lock().await.unwrap());
    drop(mutex.lock().await.unwrap());
    println!("{what}: client pair {} | drop, lock again {:?}", micros(pair), at.elapsed());
    let guard = mutex.lock().await.unwrap();
    let urls = servers.urls[..up].to_vec();
    std::thread::spawn(move || urls.iter().for_each(|u| RedisMember::remove(u, &Name::new("user").unwrap())))
        .join()
        .unwrap();
    println!("{what}: a lock that had been removed: release answers {:?}", guard.release().await);
    let guard = mutex.lock().await.unwrap();
    tokio::time::sleep(Duration::from_secs(4)).await;
    println!("{what}: renewed for 4 s of a 3 s lease: {:?}", guard.check().is_ok());
    _ = guard.release().await.unwrap();
    let at = Instant::now();
    let closed = client.close(Duration::from_secs(10)).await;
    println!("{what}: close took {:?}: {:?}", at.elapsed(), closed.is_ok());
}

async fn all(what: &str, servers: &Servers, up: usize) {
    let clock = Arc::new(SystemClock(Instant::now())) as Arc<dyn Clock>;
    let backend = Store::new(&servers.urls).connect(&Host::without_engine(clock)).await.unwrap();
    pairs(what, &backend).await;
    hand_overs(what, &servers.urls).await;
    user(what, servers, up).await;
}

/// One member falls silent while the lock is held.
async fn falls_silent(servers: &Servers) {
    let builder =
        Client::builder().backend(Store::new(&servers.urls)).lease(Lease::renewed(Duration::from_secs(3)));
    let client = builder.connect().await.unwrap();
    let mutex = client.mutex("silent");
    let remove = |up: usize| {
        let urls = servers.urls[..up].to_vec();
        let name = Name::new("silent").unwrap();
        std::thread::spawn(move || urls.iter().for_each(|u| RedisMember::remove(u, &name))).join().unwrap();
    };
    for is_removed in [false, true] {
        let guard = mutex.lock().await.unwrap();
        servers.signal(2, "-STOP");
        if is_removed {
            remove(2);
        }
        let at = Instant::now();
        println!(
            "silent while held, removed {is_removed}: {:?} after {:?}",
            guard.release().await,
            at.elapsed()
        );
        let at = Instant::now();
        _ = mutex.lock().await.unwrap().release().await.unwrap();
        println!("silent while held, removed {is_removed}: the next pair took {:?}", at.elapsed());
        servers.signal(2, "-CONT");
        tokio::time::sleep(Duration::from_millis(1500)).await;
    }
    // It comes back: its vote is topped up by the next renewal, and then another may go.
    servers.signal(2, "-STOP");
    let guard = mutex.lock().await.unwrap();
    servers.signal(2, "-CONT");
    tokio::time::sleep(Duration::from_millis(2500)).await;
    servers.signal(0, "-STOP");
    tokio::time::sleep(Duration::from_millis(4000)).await;
    println!("topped up, then another stopped for longer than the lease: held {}", guard.check().is_ok());
    servers.signal(0, "-CONT");
    servers.signal(2, "-STOP");
    let at = Instant::now();
    drop(guard);
    let closed = client.close(Duration::from_secs(10)).await;
    println!("drop with a silent member, close took {:?}: {:?}", at.elapsed(), closed.is_ok());
    servers.signal(2, "-CONT");

    let build =
        || Client::builder().backend(Store::new(&servers.urls)).lease(Lease::renewed(Duration::from_secs(6)));
    let (one, other) = (build().connect().await.unwrap(), build().connect().await.unwrap());
    let held = one.mutex("busy").lock().await.unwrap();
    _ = other.mutex("warm").lock().await.unwrap().release().await;
    servers.signal(2, "-STOP");
    let at = Instant::now();
    let answer = other.mutex("busy").try_lock().await;
    println!(
        "try_lock of a busy name with a silent member: {:?} after {:?}",
        answer.map(|g| g.is_some()),
        at.elapsed()
    );
    let at = Instant::now();
    println!(
        "close after it: {:?} after {:?}",
        other.close(Duration::from_secs(10)).await.is_ok(),
        at.elapsed()
    );
    servers.signal(1, "-STOP");
    let at = Instant::now();
    let releasing = tokio::time::timeout(Duration::from_secs(10), held.release());
    servers.signal(2, "-CONT");
    println!("release with two silent, then one: {:?} after {:?}", releasing.await, at.elapsed());
    servers.signal(1, "-CONT");
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let mut servers = Servers::start(3);
    if std::env::args().any(|a| a == "silent") {
        return falls_silent(&servers).await;
    }
    all("three members", &servers, 3).await;
    servers.signal(2, "-STOP");
    all("one stopped", &servers, 2).await;
    servers.signal(2, "-CONT");
    servers.kill(2);
    all("one killed", &servers, 2).await;
}
