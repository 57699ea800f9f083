//! Curator and kazoo in the same folders: who holds is respected, and who releases wakes, in both directions.

use super::shared;
use crate::leader_killed::Contended;
use crate::peer::{Peer, exclude_each_other, take};
use cotter::backend::{Backend, Leave, Mode};
use cotter::{Client, ErrorKind};
use cotter_testkit::bare::{backend, claim};
use cotter_testkit::servers::ZooKeeper;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

const TTL: Duration = Duration::from_secs(20);

/// A client in a process of its own.
fn peer(command: &mut Command, server: &ZooKeeper) -> Peer {
    Peer::start(command.arg(format!("127.0.0.1:{}", server.port(0))))
}

fn curator(server: &ZooKeeper) -> Peer {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/library/zookeeper");
    let mut command = Command::new("java");
    let jars = "/usr/share/java/curator-recipes.jar:/usr/share/java/zookeeper.jar";
    command.args(["-Xshare:auto", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", jars]);
    peer(command.arg(folder.join("Curator.java")).stderr(Stdio::null()), server)
}

fn kazoo(server: &ZooKeeper) -> Peer {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new(root.join("../../target/servers/python/bin/python"));
    peer(command.arg(root.join("tests/library/zookeeper/kazoo_locks.py")), server)
}

/// Both read at once.
async fn share(ours: &Arc<dyn Backend>, theirs: &mut Peer, name: &str) {
    let mut reading = claim(name, TTL);
    reading.mode = Mode::Shared;
    assert!(take(ours, &reading).await);
    assert_eq!(theirs.ask("read", "try", &format!("/{name}")), "held");
    assert_eq!(theirs.ask("read", "release", &format!("/{name}")), "free");
    ours.release(&reading, Leave::used(1)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper and Curator"]
async fn curator_and_cotter_exclude_and_wake_each_other() {
    let server = shared();
    let mut theirs = curator(&server);
    let mutex = backend(&server.url("session=20s&dialect=curator")).await;
    exclude_each_other(&mutex, &mut theirs, Mode::Exclusive, "mutex", ("curator-mutex", "/curator-mutex"))
        .await;
    let both = backend(&server.url("session=20s&dialect=curator&recipe=rwlock")).await;
    for (mode, kind) in [(Mode::Exclusive, "write"), (Mode::Exclusive, "read"), (Mode::Shared, "write")] {
        exclude_each_other(&both, &mut theirs, mode, kind, ("curator-rwlock", "/curator-rwlock")).await;
    }
    share(&both, &mut theirs, "curator-rwlock").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper and python3-venv"]
async fn kazoo_and_cotter_exclude_and_wake_each_other() {
    let server = shared();
    let mut theirs = kazoo(&server);
    let ours = backend(&server.url("session=20s&dialect=kazoo")).await;
    for (mode, kind) in [
        (Mode::Exclusive, "lock"),
        (Mode::Exclusive, "write"),
        (Mode::Exclusive, "read"),
        (Mode::Shared, "write"),
    ] {
        exclude_each_other(&ours, &mut theirs, mode, kind, ("kazoo-lock", "/kazoo-lock")).await;
    }
    share(&ours, &mut theirs, "kazoo-lock").await;
}

/// The layouts of the other clients are no weaker than our own where members are lost.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper"]
async fn a_killed_leader_lets_nobody_else_in_with_the_dialects() {
    let mut server = ZooKeeper::start(3);
    // The layouts exclude each other only from their own names.
    let at = |dialect| format!("{}/{dialect}", server.url("").trim_end_matches('?'));
    let (curator, kazoo) = (Contended::default(), Contended::default());
    let going = [(&curator, "curator"), (&kazoo, "kazoo")].map(|(contended, dialect)| {
        tokio::spawn(contended.clone().go(format!("{}?session=12s&dialect={dialect}", at(dialect))))
    });
    curator.until_under_way().await;
    kazoo.until_under_way().await;
    server.kill(server.leader());
    for contended in going {
        contended.await.unwrap();
    }
}

/// An operator takes the lock of another client away by deleting its node; a listing shows it.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper and python3-venv"]
async fn a_holder_of_another_client_is_listed_and_evicted() {
    let server = shared();
    let mut theirs = kazoo(&server);
    let client = Client::connect(server.url("dialect=kazoo")).await.unwrap();
    assert_eq!(theirs.ask("lock", "try", "/kazoo-evicted"), "held");
    let held = client.holder("kazoo-evicted").await.unwrap().expect("it is held");
    assert_eq!(held.holders[0].label, "theirs");
    assert!(matches!(client.admin().evict("kazoo-evicted").await, Ok(cotter::Eviction::Evicted { .. })));
    client.mutex("kazoo-evicted").try_lock().await.unwrap().expect("free").finish().await.unwrap();
}

/// Curator's mutex and its read/write lock do not exclude each other, so one client speaks one of them.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper"]
async fn shared_locks_name_the_recipe_that_has_them() {
    let server = shared();
    let client = Client::connect(server.url("dialect=curator")).await.unwrap();
    let error = client.rwlock("a").try_read().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("recipe=rwlock"), "{error}");
}

/// As the page says: `a` and `a/b` are different locks in every layout.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper"]
async fn a_slash_in_a_name_is_no_folder() {
    let server = shared();
    for dialect in ["own", "curator", "kazoo"] {
        let ours = backend(&server.url(&format!("session=20s&dialect={dialect}"))).await;
        let (below, above) =
            (claim(&format!("slash {dialect}/b"), TTL), claim(&format!("slash {dialect}"), TTL));
        assert!(take(&ours, &below).await && take(&ours, &above).await, "{dialect}");
    }
}
