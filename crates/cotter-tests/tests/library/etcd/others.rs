//! `etcdctl lock`, Go's package `concurrency`, and what else writes into the same folder.

use super::keys;
use crate::leader_killed::Contended;
use crate::peer::{Peer, exclude_each_other};
use cotter::backend::Mode;
use cotter::{Client, Lease, Level};
use cotter_testkit::bare::{backend, client};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::Etcd;
use cotter_testkit::timing::{eventually, happens};
use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;
use tempfile::TempDir;

const TTL: Duration = Duration::from_secs(10);
const DIALECT: &str = "dialect=concurrency";

/// `etcdctl lock` around a command that writes and waits until it is told to end.
struct Command {
    child: Child,
    folder: TempDir,
}

impl Command {
    fn start(server: &Etcd, name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (held, end) = (folder.path().join("held"), folder.path().join("end"));
        let script =
            format!("touch {}; until test -e {}; do sleep 0.02; done", held.display(), end.display());
        let mut command = server.ctl_command(0, &["lock", name, "--", "sh", "-c", &script]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        Self { child, folder }
    }

    fn holds(&self) -> bool {
        self.folder.path().join("held").exists()
    }

    fn end(mut self) {
        fs::write(self.folder.path().join("end"), "").unwrap();
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Command {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn etcdctl_lock_and_cotter_exclude_each_other() {
    let server = Etcd::start(1);
    let client = client(&server.url(DIALECT), TTL).await;
    let mutex = client.mutex("jobs/night");
    let command = Command::start(&server, "jobs/night");
    eventually("etcdctl holds", || command.holds()).await;
    assert!(mutex.try_lock().await.unwrap().is_none());

    let waiting = tokio::spawn({
        let mutex = mutex.clone();
        async move { mutex.lock().await.unwrap() }
    });
    eventually("we wait behind it", || keys(&server, "jobs/night/").len() == 2).await;
    let second = Command::start(&server, "jobs/night");
    eventually("it waits behind us", || keys(&server, "jobs/night/").len() == 3).await;
    command.end();
    let guard = happens("it is woken", waiting).await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(guard.is_valid() && !second.holds(), "both hold");
    guard.finish().await.unwrap();
    eventually("etcdctl is woken by our release", || second.holds()).await;
    assert!(mutex.try_lock().await.unwrap().is_none());
    second.end();
    mutex.lock().await.unwrap().finish().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd and Go"]
async fn gos_concurrency_and_cotter_exclude_and_wake_each_other() {
    let server = Etcd::start(1);
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/servers/concurrency/concurrency");
    let mut command = std::process::Command::new(program);
    let mut theirs = Peer::start(command.arg(format!("127.0.0.1:{}", server.port(0))));
    let ours = backend(&server.url(DIALECT)).await;
    for name in ["jobs", "jobs/night"] {
        exclude_each_other(&ours, &mut theirs, Mode::Exclusive, "mutex", (name, name)).await;
    }
    // With its session its lock ends, and we are next.
    assert_eq!(theirs.ask("mutex", "try", "dies"), "held");
    let leases = super::leases(&server);
    drop(theirs);
    leases.iter().for_each(|lease| _ = server.ctl(&["lease", "revoke", lease]));
    client(&server.url(DIALECT), TTL).await.mutex("dies").lock().await.unwrap().finish().await.unwrap();
}

/// As the page says: below the name everything counts. Our own keys encode the slash.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn a_name_below_another_one_excludes_it_only_in_the_dialect() {
    let server = Etcd::start(1);
    let theirs = client(&server.url(DIALECT), TTL).await;
    let below = theirs.mutex("a/b").lock().await.unwrap();
    assert!(theirs.mutex("a").try_lock().await.unwrap().is_none());
    below.finish().await.unwrap();
    theirs.mutex("a").try_lock().await.unwrap().expect("free").finish().await.unwrap();

    let own = client(&server.url(""), TTL).await;
    let below = own.mutex("a/b").lock().await.unwrap();
    own.mutex("a").try_lock().await.unwrap().expect("another lock").finish().await.unwrap();
    below.finish().await.unwrap();
}

/// Whoever wrote it, and whatever its name: only the keys of readers let a reader in.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn a_key_that_is_not_ours_keeps_readers_out_too() {
    let server = Etcd::start(1);
    let client = client(&server.url(""), TTL).await;
    for last in ["a", "by-hand", "qq", "s", "writer", "z"] {
        let key = format!("cotter/lock/jobs/{last}");
        server.ctl(&["put", &key, ""]);
        let lock = client.rwlock("jobs");
        let text = format!("a reader holds beside {key}");
        demand(lock.try_read().await.unwrap().is_none(), Kind::SharedWithExclusive, text);
        let waiting = tokio::spawn(async move { lock.read().await.unwrap() });
        eventually("it waits", || keys(&server, "cotter/lock/jobs/").len() == 2).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        let text = format!("a reader that has waited holds beside {key}");
        demand(!waiting.is_finished(), Kind::SharedWithExclusive, text);
        server.ctl(&["del", &key]);
        let guard = happens("it is woken", waiting).await.unwrap();
        guard.finish().await.unwrap();
    }
}

/// The layout of the other clients is no weaker than our own where members are lost.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn a_killed_leader_lets_nobody_else_in_with_the_dialect() {
    let mut server = Etcd::start(3);
    let contended = Contended::default();
    let going = tokio::spawn(contended.clone().go(server.url(DIALECT)));
    contended.until_under_way().await;
    server.kill(server.leader());
    going.await.unwrap();
    assert!(keys(&server, "contended/").is_empty());
}

/// Their leases can be ended by a leader that stood still; ours are left before (`terms`).
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn the_doctor_says_what_is_assumed_beside_other_clients() {
    let server = Etcd::start(1);
    for (options, is_said) in [("", false), (DIALECT, true)] {
        let found =
            backend(&server.url(options)).await.admin().expect("it has one").diagnose().await.unwrap();
        let said = found.iter().any(|finding| finding.subject == "other clients");
        assert_eq!(said, is_said, "{found:?}");
    }
}

/// Each of these processes asks one member, and both of them get the lock.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn members_of_two_clusters_are_a_problem() {
    let [one, other] = [Etcd::start(1), Etcd::start(3)];
    let level = async |hosts: String| {
        let store = backend(&format!("etcd://{hosts}")).await;
        let found = store.admin().expect("it has one").diagnose().await.unwrap();
        found.into_iter().filter(|finding| finding.subject == "members").filter_map(|f| f.level).next()
    };
    let host = |cluster: &Etcd, member| format!("127.0.0.1:{}", cluster.port(member));
    let of_two = level(format!("{},{}", host(&one, 0), host(&other, 1))).await;
    demand(of_two == Some(Level::BestEffort), Kind::Overlap, format!("{of_two:?} is promised"));
    assert_eq!(level(format!("{},{}", host(&other, 0), host(&other, 1))).await, None);
}

/// A stopped `etcdctl lock` is passed over, as a stopped process of ours is.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn a_key_with_a_lease_that_ends_lets_the_next_one_in() {
    let server = Etcd::start(1);
    let out = server.ctl(&["lease", "grant", "2"]);
    let lease = out.split_whitespace().nth(1).unwrap();
    server.ctl(&["put", "--lease", lease, &format!("jobs/{lease}"), ""]);
    let client = Client::builder().lease(Lease::renewed(TTL));
    let client = client.connect(server.url(DIALECT)).await.unwrap();
    let guard = happens("their lease ends", client.mutex("jobs").lock()).await;
    guard.unwrap().finish().await.unwrap();
}
