//! Curator and kazoo in the same folders: who holds is respected, and who releases wakes, in both directions.

use super::shared;
use cotter::backend::{Backend, Claim, Leave, Mode, Until};
use cotter::{Client, ErrorKind};
use cotter_testkit::bare::{backend, claim};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::ZooKeeper;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

const TTL: Duration = Duration::from_secs(20);
const SOON: Duration = Duration::from_secs(10);
const WHILE: Duration = Duration::from_millis(150);

/// Another client, in a process of its own.
struct Theirs {
    child: Child,
    answers: Receiver<String>,
}

impl Theirs {
    fn start(command: &mut Command, server: &ZooKeeper) -> Self {
        let command = command.arg(format!("127.0.0.1:{}", server.port(0)));
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it is installed");
        let (tell, answers) = channel();
        let out = BufReader::new(child.stdout.take().expect("piped"));
        std::thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| tell.send(line)));
        Self { child, answers }
    }

    fn curator(server: &ZooKeeper) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/library/zookeeper");
        let mut command = Command::new("java");
        let jars = "/usr/share/java/curator-recipes.jar:/usr/share/java/zookeeper.jar";
        command.args(["-Xshare:auto", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", jars]);
        Self::start(command.arg(folder.join("Curator.java")).stderr(Stdio::null()), server)
    }

    fn kazoo(server: &ZooKeeper) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut command = Command::new(root.join("../../target/servers/python/bin/python"));
        Self::start(command.arg(root.join("tests/library/zookeeper/kazoo_locks.py")), server)
    }

    /// Orders something whose answer is asked for later.
    fn order(&mut self, kind: &str, how: &str, path: &str) {
        let input = self.child.stdin.as_mut().expect("piped");
        writeln!(input, "{kind} {how} {path}").expect("it listens");
    }

    fn answer(&self) -> String {
        self.answers.recv_timeout(SOON).expect("it answers")
    }

    fn ask(&mut self, kind: &str, how: &str, path: &str) -> String {
        self.order(kind, how, path);
        self.answer()
    }

    fn is_silent(&self) -> bool {
        self.answers.recv_timeout(WHILE) == Err(RecvTimeoutError::Timeout)
    }
}

impl Drop for Theirs {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn take(ours: &Arc<dyn Backend>, claim: &Claim) -> bool {
    ours.acquire(claim, Until::Now).await.unwrap().granted().is_some()
}

/// A claim of this mode and a lock of that kind are not held at once, and each wakes the other.
async fn exclude_each_other(
    ours: &Arc<dyn Backend>,
    theirs: &mut Theirs,
    mode: Mode,
    kind: &str,
    name: &str,
) {
    let path = format!("/{name}");
    let of_mode = || {
        let mut claim = claim(name, TTL);
        claim.mode = mode;
        claim
    };
    let (first, second) = (of_mode(), of_mode());
    assert!(take(ours, &first).await);
    let busy = theirs.ask(kind, "try", &path);
    demand(busy == "busy", Kind::Overlap, format!("{kind} is {busy} while we hold as {mode:?}"));
    theirs.order(kind, "wait", &path);
    assert!(theirs.is_silent());
    ours.release(&first, Leave::used(1)).await.unwrap();
    assert_eq!(theirs.answer(), "held", "our release wakes {kind}");

    demand(!take(ours, &of_mode()).await, Kind::Overlap, format!("{kind} is held, and we hold as {mode:?}"));
    let waiting = tokio::spawn({
        let (ours, second) = (ours.clone(), second.clone());
        async move { ours.acquire(&second, Until::Forever).await.unwrap().granted().is_some() }
    });
    tokio::time::sleep(WHILE).await;
    assert!(!waiting.is_finished());
    assert_eq!(theirs.ask(kind, "release", &path), "free");
    assert!(tokio::time::timeout(SOON, waiting).await.expect("their release wakes us").unwrap());
    ours.release(&second, Leave::used(1)).await.unwrap();
}

/// Both read at once.
async fn share(ours: &Arc<dyn Backend>, theirs: &mut Theirs, name: &str) {
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
    let mut theirs = Theirs::curator(&server);
    let mutex = backend(&server.url("session=20s&dialect=curator")).await;
    exclude_each_other(&mutex, &mut theirs, Mode::Exclusive, "mutex", "curator-mutex").await;
    let both = backend(&server.url("session=20s&dialect=curator&recipe=rwlock")).await;
    for (mode, kind) in [(Mode::Exclusive, "write"), (Mode::Exclusive, "read"), (Mode::Shared, "write")] {
        exclude_each_other(&both, &mut theirs, mode, kind, "curator-rwlock").await;
    }
    share(&both, &mut theirs, "curator-rwlock").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper and python3-venv"]
async fn kazoo_and_cotter_exclude_and_wake_each_other() {
    let server = shared();
    let mut theirs = Theirs::kazoo(&server);
    let ours = backend(&server.url("session=20s&dialect=kazoo")).await;
    for (mode, kind) in [
        (Mode::Exclusive, "lock"),
        (Mode::Exclusive, "write"),
        (Mode::Exclusive, "read"),
        (Mode::Shared, "write"),
    ] {
        exclude_each_other(&ours, &mut theirs, mode, kind, "kazoo-lock").await;
    }
    share(&ours, &mut theirs, "kazoo-lock").await;
}

/// An operator takes the lock of another client away by deleting its node; a listing shows it.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper and python3-venv"]
async fn a_holder_of_another_client_is_listed_and_evicted() {
    let server = shared();
    let mut theirs = Theirs::kazoo(&server);
    let client = Client::connect(server.url("dialect=kazoo")).await.unwrap();
    assert_eq!(theirs.ask("lock", "try", "/kazoo-evicted"), "held");
    let held = client.holder("kazoo-evicted").await.unwrap().expect("it is held");
    assert_eq!(held.holders[0].label, "theirs");
    assert!(matches!(client.evict("kazoo-evicted").await, Ok(cotter::Eviction::Evicted { .. })));
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
