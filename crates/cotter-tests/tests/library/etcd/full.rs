//! A cluster whose database is full.

use cotter::ErrorKind;
use cotter_testkit::bare::client;
use cotter_testkit::servers::Etcd;
use std::process::Stdio;
use std::time::Duration;

/// The cure is three commands in a certain order, and the alarm outlives the first two.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn the_error_names_the_cure() {
    let server = Etcd::with_args(1, &["--quota-backend-bytes", "2000000"]);
    let client = client(&server.url(""), Duration::from_secs(30)).await;
    let value = "x".repeat(100_000);
    let put = |key: usize| {
        let mut put = server.ctl_command(0, &["put", &format!("big/{key}"), &value]);
        put.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success()
    };
    assert!((0..200).any(|key| !put(key)), "it is never full");
    let error = client.mutex("a").try_lock().await.unwrap_err();
    assert!(error.kind() == ErrorKind::Unavailable && error.is_retryable(), "{error}");
    for part in ["is full", "etcdctl compact", "etcdctl defrag", "etcdctl alarm disarm"] {
        assert!(error.to_string().contains(part), "{part} in {error}");
    }
    server.ctl(&["del", "--prefix", "big/"]);
    let status = server.ctl(&["endpoint", "status", "-w", "json"]);
    let (_, revision) = status.split_once("\"revision\":").unwrap();
    let revision = revision.split([',', '}']).next().unwrap();
    server.ctl(&["compact", revision]);
    server.ctl(&["defrag"]);
    server.ctl(&["alarm", "disarm"]);
    client.mutex("a").lock().await.unwrap().finish().await.unwrap();
}
