//! A put that lands seconds after its connection broke, on a lease that another lock of the process keeps alive.
use cotter::{Client, Lease};
use sketches::etcd::Etcd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const LATE: Duration = Duration::from_secs(4);

/// While `held` is set, what a client sends is kept, its connection is cut, and the server gets it later.
async fn proxy(held: Arc<AtomicBool>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let held = held.clone();
            tokio::spawn(async move {
                let (mut from, mut to) = client.into_split();
                let (mut answers, mut server) =
                    TcpStream::connect("127.0.0.1:54392").await.unwrap().into_split();
                let back = tokio::spawn(async move {
                    let _ = tokio::io::copy(&mut answers, &mut to).await;
                });
                let mut bytes = vec![0; 65536];
                while let Ok(n @ 1..) = from.read(&mut bytes).await {
                    // The label stands in the put only.
                    if held.load(Ordering::SeqCst) && bytes[..n].windows(4).any(|w| w == b"LATE") {
                        held.store(false, Ordering::SeqCst);
                        back.abort();
                        drop(from);
                        tokio::time::sleep(LATE).await;
                        server.write_all(&bytes[..n]).await.unwrap();
                        tokio::time::sleep(Duration::from_secs(1)).await;
                        return;
                    }
                    if server.write_all(&bytes[..n]).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    at
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_put_is_undone() {
    let held = Arc::new(AtomicBool::new(false));
    let endpoint = proxy(held.clone()).await;
    let lease = Lease::renewed(Duration::from_secs(2));
    let client =
        Client::builder().backend(Etcd { endpoint }).lease(lease).label("LATE").connect().await.unwrap();
    let direct =
        Client::builder().backend(Etcd { endpoint: "127.0.0.1:54392".into() }).connect().await.unwrap();
    let tag = std::process::id();
    // Keeps the lease of the class alive.
    let _other = client.mutex(format!("keeps{tag}")).lock().await.unwrap();
    held.store(true, Ordering::SeqCst);
    let late = client.mutex(format!("late{tag}"));
    let answer = late.try_lock().await;
    eprintln!("acquire: {:?}", answer.map(|g| g.is_some()).map_err(|e| e.to_string()));
    tokio::time::sleep(LATE + Duration::from_millis(500)).await;
    let start = Instant::now();
    let free = tokio::time::timeout(Duration::from_secs(12), direct.mutex(format!("late{tag}")).lock()).await;
    eprintln!("late: free again {} after {:?}", free.is_ok(), start.elapsed());
    assert!(free.is_ok(), "a lock that nobody holds");
}
