use cotter::conformance::Fixture;
use cotter::{Client, Lease, LossCause};
use sketches::advisory::Advisory;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

fn psql(sql: &str) -> String {
    let bin = "/usr/lib/postgresql/15/bin/psql";
    let out = Command::new(bin)
        .args(["-h", "127.0.0.1", "-p", "54391", "-U", "postgres", "-Atc", sql])
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

fn store() -> (Advisory, String) {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let app = format!("sk{}x{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let config = format!("host=127.0.0.1 port=54391 user=postgres application_name={app}");
    (Advisory { config, lasts: Duration::from_secs(2) }, app)
}

fn end(app: &str) {
    psql(&format!("select pg_terminate_backend(pid) from pg_stat_activity where application_name = '{app}'"));
}

fn fixture() -> Fixture {
    let (store, app) = store();
    Fixture::sharing(store).ending_sessions(move || end(&app))
}

cotter::conformance_tests!(pg, fixture());

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pair_times() {
    let client = Client::builder().backend(store().0).connect().await.unwrap();
    let mutex = client.mutex("pair");
    drop(mutex.lock().await.unwrap());
    let (mut take, mut give) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..300 {
        let start = Instant::now();
        let guard = mutex.lock().await.unwrap();
        take += start.elapsed();
        let start = Instant::now();
        guard.release().await.unwrap();
        give += start.elapsed();
    }
    eprintln!("pg client pair: {:?} + {:?}", take / 300, give / 300);
    let other = Client::builder().backend(store().0).connect().await.unwrap();
    let (start, mut tasks, n) = (Instant::now(), Vec::new(), 200);
    for m in [mutex.clone(), other.mutex("pair")] {
        tasks.push(tokio::spawn(async move {
            for _ in 0..n {
                m.lock().await.unwrap().release().await.unwrap();
            }
        }));
    }
    for t in tasks {
        t.await.unwrap();
    }
    eprintln!("pg hand-overs/s: {:.0}", f64::from(2 * n) / start.elapsed().as_secs_f64());
}

/// Cancelled waiters leave nothing, and each costs a session.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancelled_waits() {
    let one = Client::builder().backend(store().0).connect().await.unwrap();
    let other = Client::builder().backend(store().0).connect().await.unwrap();
    let mut worst = Duration::ZERO;
    for i in 0..60 {
        let held = one.mutex("cancel").lock().await.unwrap();
        let m = other.mutex("cancel");
        let _ = tokio::time::timeout(Duration::from_micros(i * 400), m.lock()).await;
        held.release().await.unwrap();
        let start = Instant::now();
        one.mutex("cancel").lock().await.unwrap().release().await.unwrap();
        worst = worst.max(start.elapsed());
    }
    eprintln!("pg free again after a cancelled wait, at worst: {worst:?}");
    assert!(worst < Duration::from_secs(1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn loss_is_told() {
    let (store, app) = store();
    let client = Client::builder()
        .backend(store)
        .lease(Lease::renewed(Duration::from_secs(9)))
        .connect()
        .await
        .unwrap();
    let guard = client.mutex("lost").lock().await.unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(guard.is_valid(), "kept alive");
    eprintln!("pg remaining: {:?}", guard.remaining());
    end(&app);
    let start = Instant::now();
    let lost = guard.lost().await;
    eprintln!("pg told after {:?}: {lost}", start.elapsed());
    assert_eq!(lost.cause, LossCause::SessionLost);
    client.close(Duration::from_secs(5)).await.unwrap();
}

/// The client goes while its guard lives.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn guard_outlives_its_client() {
    let client = Client::builder().backend(store().0).connect().await.unwrap();
    let guard = client.mutex("outlives").lock().await.unwrap();
    drop(client);
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert!(guard.is_valid());
    guard.release().await.unwrap();
}

/// close() while the keeper sleeps: how long does it take?
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn close_is_quick() {
    let client = Client::builder().backend(store().0).connect().await.unwrap();
    let guard = client.mutex("closing").lock().await.unwrap();
    guard.release().await.unwrap();
    let start = Instant::now();
    let closed = client.close(Duration::from_secs(5)).await;
    eprintln!("pg close: {:?} {closed:?}", start.elapsed());
}

/// The runtime that acquired has ended; the session has not, and its loss is told.
#[test]
fn loss_is_told_after_the_runtime_has_ended() {
    let (store, app) = store();
    let client = Client::builder().backend(store).connect().wait().unwrap();
    let mutex = client.mutex("runtime");
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let guard = std::thread::spawn(move || runtime().block_on(mutex.lock()).unwrap()).join().unwrap();
    std::thread::sleep(Duration::from_secs(5));
    assert!(guard.is_valid(), "kept alive");
    end(&app);
    let lost = runtime()
        .block_on(async { tokio::time::timeout(Duration::from_secs(1), guard.lost()).await })
        .unwrap();
    assert_eq!(lost.cause, LossCause::SessionLost);
}

/// Turns inside one process, on a store without leases but with proofs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn local_turns() {
    let client = Client::builder().backend(store().0).connect().await.unwrap();
    let mutex = client.mutex("turns");
    let start = Instant::now();
    let tasks: Vec<_> = (0..50)
        .map(|_| {
            let m = mutex.clone();
            tokio::spawn(async move {
                for _ in 0..20 {
                    let _ = m.lock().await.unwrap().release().await.unwrap();
                }
            })
        })
        .collect();
    for t in tasks {
        t.await.unwrap();
    }
    eprintln!("pg 1000 local turns: {:?}", start.elapsed());
}
