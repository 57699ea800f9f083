//! Losses that the store tells, and those that it cannot tell any more.

use super::{keys, leases};
use crate::stopped::{Stopper, is_known_at_once};
use crate::suspect::silence_is_told_before_the_loss;
use cotter::backend::{Leave, Until};
use cotter::{Client, Guard, Lease, LossCause, Lost};
use cotter_testkit::bare::{backend, claim, client, take};
use cotter_testkit::history::Kind;
use cotter_testkit::in_own_process;
use cotter_testkit::servers::{Etcd, Proxy};
use cotter_testkit::timing::{Stopwatch, eventually, happens};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

const TTL: Duration = Duration::from_secs(30);
const AT_ONCE: Duration = Duration::from_secs(2);

async fn told(guard: &Guard) -> Lost {
    let watch = Stopwatch::of(Kind::LateLoss);
    let told = happens("it is told", guard.lost()).await;
    watch.at_most(AT_ONCE, "the loss is told at once");
    told
}

/// A third of the ttl would be 10 s: nobody waits for the next renewal.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn a_lease_that_is_revoked_is_a_loss_at_once() {
    let server = Etcd::start(1);
    let client = client(&server.url(""), TTL).await;
    let (one, other) =
        (client.mutex("one").lock().await.unwrap(), client.mutex("other").lock().await.unwrap());
    let leases = leases(&server);
    assert_eq!(leases.len(), 1, "locks of one length share a lease");
    server.ctl(&["lease", "revoke", &leases[0]]);
    for guard in [one, other] {
        assert_eq!(told(&guard).await.cause, LossCause::Gone);
        assert!(!guard.is_valid());
    }
    // The next lock has a lease that lives.
    let guard = client.mutex("one").lock().await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    guard.finish().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn an_entry_that_is_deleted_is_a_loss_at_once() {
    let server = Etcd::start(1);
    let client = client(&server.url(""), TTL).await;
    let (gone, stays) =
        (client.mutex("gone").lock().await.unwrap(), client.mutex("stays").lock().await.unwrap());
    server.ctl(&["del", "--prefix", "cotter/lock/gone/"]);
    assert_eq!(told(&gone).await.cause, LossCause::Gone);
    assert!(stays.is_valid());
    stays.finish().await.unwrap();
}

/// The stream of the watches breaks with its member: what happens meanwhile is told after the next one is asked.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn a_loss_is_told_although_the_watch_has_moved_to_another_member() {
    let mut server = Etcd::start(3);
    let client = client(&server.url(""), TTL).await;
    let guard = client.mutex("a").lock().await.unwrap();
    // The first member of the URL is the one that it is connected to.
    server.kill(0);
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert!(guard.is_valid());
    server.ctl(&["del", "--prefix", "cotter/lock/a/"]);
    assert_eq!(told(&guard).await.cause, LossCause::Gone);
}

/// The watch of a holder begins at the grant. When the next stream asks for it, the server has forgotten what has happened since.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn a_loss_is_told_although_the_history_since_the_grant_is_gone() {
    let server = Etcd::start(1);
    let proxy = Proxy::start(server.port(0));
    let client = client(&format!("etcd://127.0.0.1:{}", proxy.port()), TTL).await;
    let guard = client.mutex("a").lock().await.unwrap();
    let asked = || server.received(Some("Watch"));
    eventually("its entry is watched", || asked() > 0).await;
    for value in ["1", "2", "3"] {
        server.ctl(&["put", "other", value]);
    }
    let found = server.ctl(&["get", "other", "-w", "fields"]);
    let revision = found.lines().find_map(|line| line.strip_prefix("\"Revision\" : ")).expect("a revision");
    server.ctl(&["compact", revision]);
    let before = asked();
    proxy.cut();
    eventually("its entry is watched again, from now on", || asked() >= before + 2).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(guard.is_valid());
    server.ctl(&["del", "--prefix", "cotter/lock/a/"]);
    assert_eq!(told(&guard).await.cause, LossCause::Gone);
}

/// Whoever waits on a lease that has ended has no place any more, and is never granted the lock in it.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn a_lease_that_ends_in_the_queue_is_an_error_and_never_a_grant() {
    let server = Etcd::start(1);
    let (one, other) = (backend(&server.url("")).await, backend(&server.url("")).await);
    let held = claim("a", Duration::from_secs(20));
    take(&one, &held).await;
    let before = leases(&server);
    let waiting = claim("a", TTL);
    let wait = tokio::spawn({
        let (other, waiting) = (other.clone(), waiting.clone());
        async move { other.acquire(&waiting, Until::Forever).await }
    });
    eventually("it is in the queue", || keys(&server, "cotter/lock/a/").len() == 2).await;
    for lease in leases(&server).iter().filter(|lease| !before.contains(lease)) {
        server.ctl(&["lease", "revoke", lease]);
    }
    assert_eq!(keys(&server, "cotter/lock/a/").len(), 1);
    one.release(&held, Leave::used(1)).await.unwrap();
    let error = happens("it is woken", wait).await.unwrap().unwrap_err();
    assert!(error.is_retryable(), "{error}");
    assert!(keys(&server, "cotter/lock/a/").is_empty());
}

/// The same through a client, which starts over.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn a_wait_goes_on_after_its_lease_has_ended() {
    let server = Etcd::start(1);
    let (one, other) =
        (client(&server.url(""), TTL).await, client(&server.url(""), Duration::from_secs(20)).await);
    let held = one.mutex("a").lock().await.unwrap();
    let before = leases(&server);
    let mutex = other.mutex("a");
    let wait = tokio::spawn(async move { mutex.lock().await });
    eventually("it is in the queue", || keys(&server, "cotter/lock/a/").len() == 2).await;
    for lease in leases(&server).iter().filter(|lease| !before.contains(lease)) {
        server.ctl(&["lease", "revoke", lease]);
    }
    held.finish().await.unwrap();
    let guard = happens("it is granted", wait).await.unwrap().unwrap();
    guard.finish().await.unwrap();
}

/// It is a member of the cluster, and says that it knows the leader.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn a_learner_is_passed_over() {
    let mut server = Etcd::start(1);
    let learner = server.add_learner();
    let url = |last: &str| format!("etcd://127.0.0.1:{}{last}", server.port(learner));
    let both = url(&format!(",127.0.0.1:{}", server.port(0)));
    let guard = client(&both, TTL).await.mutex("a").try_lock().await.unwrap().expect("free");
    guard.finish().await.unwrap();
    let error = Client::connect(url("")).await.unwrap_err();
    assert!(error.is_retryable() && error.to_string().contains("learner"), "it may be promoted: {error}");
}

/// The server stands still for longer than the lease: the guard ends by its own clock.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn a_guard_ends_by_itself_while_the_cluster_stands_still() {
    let server = Etcd::start(1);
    let url = server.url("timeout=500ms");
    let client = Client::builder().lease(Lease::renewed(Duration::from_secs(3)));
    let client = client.connect(&url).await.unwrap();
    let guard = client.mutex("a").lock().await.unwrap();
    server.stop(0);
    let start = Stopwatch::start();
    guard.lost().await;
    start.at_most(Duration::from_secs(3), "the guard ends by its own clock");
    server.go_on(0);
    client.mutex("a").lock().await.unwrap().finish().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn a_silent_cluster_is_told_before_the_lock_is_lost() {
    let server = Etcd::start(1);
    let proxy = Proxy::start(server.port(0));
    let url = format!("etcd://127.0.0.1:{}?timeout=500ms&connect_timeout=500ms", proxy.port());
    silence_is_told_before_the_loss(&url, &proxy, LossCause::Expired).await;
}

/// A stopped member is left for the next one before any lock is lost.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn a_member_that_stands_still_costs_no_lock() {
    let server = Etcd::start(3);
    let client = client(&server.url("timeout=1s"), Duration::from_secs(9)).await;
    let guard = client.mutex("a").lock().await.unwrap();
    server.stop(0);
    tokio::time::sleep(Duration::from_secs(12)).await;
    assert!(guard.is_valid(), "{:?}", guard.check());
    let start = Stopwatch::start();
    client.mutex("b").lock().await.unwrap().finish().await.unwrap();
    start.at_most(Duration::from_secs(5), "the stopped member is left");
    server.go_on(0);
    guard.finish().await.unwrap();
}

/// The variable with the URL for the process that is stopped.
const URL: &str = "COTTER_TEST_ETCD";
const STOPPED_FOR: Duration = Duration::from_secs(5);

/// The cluster ends its lease of 2 s meanwhile. It knows when it goes on, before it has asked anybody.
#[test]
#[ignore = "needs etcd"]
fn a_process_that_was_stopped_for_too_long_knows_at_once() {
    let prepare = |command: &mut Command| {
        let server = Arc::new(Etcd::start(1));
        command.env(URL, server.url(""));
        let watching = server.clone();
        let stopper = Stopper::start(STOPPED_FOR, move || {
            let entry = watching.ctl(&["get", "--prefix", "--print-value-only", "cotter/lock/stopped/"]);
            Some(entry).filter(|entry| !entry.trim().is_empty())
        });
        (stopper, server)
    };
    in_own_process("etcd::lost::a_process_that_was_stopped_for_too_long_knows_at_once", prepare, stopped);
}

fn stopped() {
    let url = std::env::var(URL).unwrap();
    let client = Client::builder().lease(Lease::renewed(Duration::from_secs(2))).connect(url);
    let guard = client.wait().unwrap().mutex("stopped").lock().wait().unwrap();
    is_known_at_once(&guard, STOPPED_FOR);
}
