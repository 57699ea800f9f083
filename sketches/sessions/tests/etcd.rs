use cotter::conformance::Fixture;
use cotter::{Client, Lease, Name};
use sketches::etcd::Etcd;
use std::time::{Duration, Instant};

const AT: &str = "127.0.0.1:54392";

fn store() -> Etcd {
    Etcd { endpoint: AT.into() }
}

/// Every entry under the name, deleted by another client.
fn remove(name: &Name) {
    let hex: String = name.bytes().map(|b| format!("{b:02x}")).collect();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut client = etcd_client::Client::connect([AT], None).await.unwrap();
            let prefix = etcd_client::DeleteOptions::new().with_prefix();
            client.delete(format!("cotter/{hex}/"), Some(prefix)).await.unwrap();
        });
    })
    .join()
    .unwrap();
}

fn fixture() -> Fixture {
    Fixture::sharing(store()).removing(remove)
}

cotter::conformance_tests!(kv, fixture());

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pair_times() {
    let client = Client::builder().backend(store()).connect().await.unwrap();
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
    eprintln!("etcd client pair: {:?} + {:?}", take / 300, give / 300);
    let other = Client::builder().backend(store()).connect().await.unwrap();
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
    eprintln!("etcd hand-overs/s: {:.0}", f64::from(2 * n) / start.elapsed().as_secs_f64());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancelled_waits() {
    let one = Client::builder().backend(store()).connect().await.unwrap();
    let other = Client::builder().backend(store()).connect().await.unwrap();
    let mut worst = Duration::ZERO;
    for i in 0..200 {
        let held = one.mutex("cancel").lock().await.unwrap();
        let m = other.mutex("cancel");
        let _ = tokio::time::timeout(Duration::from_micros(i * 100), m.lock()).await;
        held.release().await.unwrap();
        let start = Instant::now();
        one.mutex("cancel").lock().await.unwrap().release().await.unwrap();
        worst = worst.max(start.elapsed());
    }
    eprintln!("etcd free again after a cancelled wait, at worst: {worst:?}");
    assert!(worst < Duration::from_secs(1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn loss_is_told() {
    let client = Client::builder()
        .backend(store())
        .lease(Lease::renewed(Duration::from_secs(9)))
        .connect()
        .await
        .unwrap();
    let guard = client.mutex("lost").lock().await.unwrap();
    tokio::time::sleep(Duration::from_secs(12)).await;
    assert!(guard.is_valid(), "kept alive");
    let name = guard.name().clone();
    tokio::task::spawn_blocking(move || remove(&name)).await.unwrap();
    let start = Instant::now();
    let lost = guard.lost().await;
    eprintln!("etcd told after {:?}: {lost}", start.elapsed());
    let start = Instant::now();
    let closed = client.close(Duration::from_secs(5)).await;
    eprintln!("etcd close: {:?} {closed:?}", start.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn extends_to_more() {
    let client = Client::builder()
        .backend(store())
        .lease(Lease::fixed(Duration::from_secs(4)))
        .connect()
        .await
        .unwrap();
    let guard = client.mutex("more").lock().await.unwrap();
    guard.extend(Duration::from_secs(30)).await.unwrap();
    tokio::time::sleep(Duration::from_secs(7)).await;
    assert!(guard.is_valid());
    eprintln!("etcd remaining {:?}", guard.remaining());
    guard.release().await.unwrap();
}

/// Grants with a ttl that also live with a session: must the session be proved?
#[test]
#[ignore = "the case wants a proof although the grant has a ttl"]
fn sessions_with_a_ttl() {
    let all = Name::new("x").unwrap();
    let end = move || {
        let _ = &all;
        std::thread::spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let mut client = etcd_client::Client::connect([AT], None).await.unwrap();
                for lease in client.leases().await.unwrap().leases() {
                    let _ = client.lease_revoke(lease.id()).await;
                }
            });
        })
        .join()
        .unwrap();
    };
    let fixture = Fixture::sharing(store()).ending_sessions(end);
    cotter::conformance::run("a_session_that_ends_is_told_to_every_grant", fixture);
}
