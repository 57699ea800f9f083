//! Why cotter does not use the lock service that etcd itself offers: what it does here, cotter must not do.

use super::keys;
use cotter_testkit::servers::Etcd;
use std::sync::Arc;
use std::time::Duration;

/// A lease of so many seconds, as `etcdctl` writes it.
fn lease(server: &Etcd, seconds: u32) -> String {
    let granted = server.ctl(&["lease", "grant", &seconds.to_string()]);
    granted.split_whitespace().nth(1).expect("an id").to_owned()
}

/// Asks the service for the lock `jobs`, and waits until it says that it is ours. Returns false if it does not.
fn lock(server: &Etcd, lease: &str) -> bool {
    let id = i64::from_str_radix(lease, 16).expect("an id");
    // The name in base64, and the number as text, as the service wants them.
    let answer =
        server.http("POST", "/v3/lock/lock", &format!("{{\"name\":\"am9icw==\",\"lease\":\"{id}\"}}"));
    answer.contains("\"key\":")
}

/// Its lease ends while it waits. It gets the lock all the same, without a key that would keep others out. That ours gets an
/// error instead is `lost::a_lease_that_ends_in_the_queue_is_an_error_and_never_a_grant`.
#[test]
#[ignore = "needs etcd"]
fn it_grants_a_lock_to_a_lease_that_has_ended_and_then_to_the_next_one() {
    let server = Arc::new(Etcd::start(1));
    let first = lease(&server, 60);
    assert!(lock(&server, &first));
    let second = lease(&server, 2);
    let waiting = std::thread::spawn({
        let (server, second) = (server.clone(), second.clone());
        move || lock(&server, &second)
    });
    while keys(&server, "jobs/").len() < 2 {
        std::thread::sleep(Duration::from_millis(20));
    }
    while keys(&server, "jobs/").len() == 2 {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(!waiting.is_finished(), "its lease has ended, and it waits");
    server.ctl(&["del", &format!("jobs/{first}")]);
    assert!(waiting.join().unwrap(), "it was told that it holds");
    assert!(keys(&server, "jobs/").is_empty(), "there is nothing that says so");
    assert!(lock(&server, &lease(&server, 60)), "the next one holds at the same time");
}

/// Two attempts with one lease share a key: both hold, and the release of one takes the lock away from the other.
#[test]
#[ignore = "needs etcd"]
fn it_grants_a_lock_twice_to_one_lease() {
    let server = Etcd::start(1);
    let lease = lease(&server, 60);
    assert!(lock(&server, &lease) && lock(&server, &lease), "both attempts were told that they hold");
    assert_eq!(keys(&server, "jobs/").len(), 1);
}
