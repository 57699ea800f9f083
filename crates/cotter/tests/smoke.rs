//! Smoke.
#![allow(clippy::print_stdout)]
use cotter::{Client, Lease, ManualClock, Owner, Released, memory};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

#[test]
fn blocking() {
    let client = Client::connect("memory:").wait().unwrap();
    let g = client.mutex("a").lock().wait().unwrap();
    assert!(client.mutex("a").try_lock().wait().unwrap().is_none());
    let t = g.token();
    drop(g);
    let g = client.mutex("a").try_lock().wait().unwrap().unwrap();
    assert!(g.token() > t);
    assert_eq!(g.release().wait().unwrap(), Released::Yes);
}

#[test]
fn manual() {
    let clock = ManualClock::new();
    let client = Client::builder().url("memory:").clock(clock.clone()).connect().wait().unwrap();
    let g = client.mutex("a").lease(Lease::fixed(Duration::from_secs(10))).lock().wait().unwrap();
    clock.advance(Duration::from_secs(5));
    assert!(g.is_valid());
    let lost = g.lost();
    clock.advance(Duration::from_secs(5));
    assert!(!g.is_valid());
    assert!(lost.wait_for(Duration::ZERO).is_some());
    assert_eq!(g.release().wait().unwrap(), Released::AlreadyLost);
    let g = client.mutex("a").lease(Lease::renewed(Duration::from_secs(10))).lock().wait().unwrap();
    clock.advance(Duration::from_secs(1000));
    assert!(g.is_valid());
    clock.suspend(Duration::from_secs(1000));
    assert!(!g.is_valid());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn contended() {
    let client = Client::connect("memory:").await.unwrap();
    let count = Arc::new(AtomicU64::new(0));
    let start = Instant::now();
    let tasks: Vec<_> = (0..64)
        .map(|_| {
            let (client, count) = (client.clone(), count.clone());
            tokio::spawn(async move {
                let m = client.mutex("x");
                let mut last = 0;
                while start.elapsed() < Duration::from_secs(1) {
                    let g = m.lock().await.unwrap();
                    assert!(g.token().get() > last);
                    last = g.token().get();
                    count.fetch_add(1, Ordering::Relaxed);
                    drop(g);
                }
            })
        })
        .collect();
    for t in tasks {
        t.await.unwrap();
    }
    println!("{} per s", count.load(Ordering::Relaxed));
}

#[tokio::test]
async fn two_clients() {
    let store = memory::Store::new();
    let a = Client::builder().backend(store.clone()).connect().await.unwrap();
    let b = Client::builder().backend(store).connect().await.unwrap();
    let g = a.mutex("x").lock().await.unwrap();
    let m = b.mutex("x");
    let w = tokio::spawn(async move { m.lock().await.unwrap().token() });
    tokio::time::sleep(Duration::from_millis(50)).await;
    let t = g.token();
    g.release().await.unwrap();
    assert!(w.await.unwrap() > t);

    let me = Owner::new();
    me.scope(async {
        let _x = a.mutex("r").lock().await.unwrap();
        let _y = a.mutex("r").lock().await.unwrap();
        assert_eq!(_y.holds(), 2);
    })
    .await;
    let start = Instant::now();
    for _ in 0..100_000 {
        a.mutex("u").lock().await.unwrap().release().await.unwrap();
    }
    println!("pair {:?}", start.elapsed() / 100_000);
    a.close(Duration::from_secs(1)).await.unwrap();
}
