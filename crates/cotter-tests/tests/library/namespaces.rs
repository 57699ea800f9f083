//! A network that drops whatever is sent, in a namespace of its own. Both ends are left to the limits of their kernels: nothing
//! in between says that a connection has ended, as a proxy does in the end.

use cotter::{Client, LossCause};
use cotter_testkit::bare::client;
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::timing::{Stopwatch, happens};
use std::process::Command;
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

/// Set in a process that has a network of its own, in which only the server and its clients are.
const OWN_NETWORK: &str = "COTTER_TEST_OWN_NETWORK";
const TTL: Duration = Duration::from_secs(30);
/// Longer than kernels wait where they are told nothing else: 10 s for an acknowledgement, 11 s for a sign of life.
const SILENCE: Duration = Duration::from_secs(14);
const NAME: &str = "cut off";

/// Runs a test of this program once more, with such a network. False in the process that has it.
fn is_run_apart(test: &str) -> bool {
    if std::env::var_os(OWN_NETWORK).is_some() {
        ip("up");
        return false;
    }
    let mut command = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        // Servers refuse to run as root, which any other user may become here.
        command.args(["--user", "--map-current-user", "--keep-caps"]);
    }
    command.arg("--net").arg(std::env::current_exe().unwrap());
    command.args(["--exact", "--nocapture", "--ignored", test]).env(OWN_NETWORK, "1");
    assert!(command.status().unwrap().success());
    true
}

/// While it is down, packets are dropped, and sockets do not hear of it.
fn ip(state: &str) {
    assert!(Command::new("ip").args(["link", "set", "lo", state]).status().unwrap().success());
}

/// A holder that reaches the server over the network, and the next one, which reaches it by its socket.
struct Pair {
    mode: &'static str,
    first: Client,
    next: Client,
}

impl Pair {
    async fn connect(mode: &'static str, network: String, socket: String) -> Self {
        Self { mode, first: client(&network, TTL).await, next: client(&socket, TTL).await }
    }

    /// Both want the lock, and the first one has it.
    async fn hold(self) -> Held {
        let guard = self.first.mutex(NAME).lock().await.unwrap();
        let next = self.next.mutex(NAME);
        let waiting = tokio::spawn(async move { (next.lock().await.unwrap(), Instant::now()) });
        let lost = guard.lost();
        let told = tokio::spawn(async move { (lost.await, Instant::now()) });
        Held { pair: self, guard, told, waiting }
    }
}

struct Held {
    pair: Pair,
    guard: cotter::Guard,
    told: JoinHandle<(cotter::Lost, Instant)>,
    waiting: JoinHandle<(cotter::Guard, Instant)>,
}

impl Held {
    /// The server frees the lock by its own patience, which is no shorter than the holder's.
    async fn freed_after_its_holder_is_told(self, cut: Stopwatch) {
        let mode = self.pair.mode;
        let (next, taken) = happens("it is freed", self.waiting).await.unwrap();
        let told_late = format!(
            "{mode}: the next one held it {:?} after the cut, and the first is not told",
            cut.upto(taken)
        );
        demand(self.told.is_finished(), Kind::LateLoss, told_late);
        let (lost, told) = self.told.await.unwrap();
        demand(
            told <= taken,
            Kind::LateLoss,
            format!("{mode}: told {:?} too late", told.duration_since(taken)),
        );
        assert_eq!(lost.cause, LossCause::SessionLost, "{mode}: {lost}");
        // The server counts whole seconds, and from the last thing that it has heard.
        cut.took_at_most(cut.upto(taken), SILENCE + Duration::from_secs(3), format!("{mode}: it is free"));
        assert!(next.token() > self.guard.token(), "{mode}");
        next.finish().await.unwrap();
    }
}

/// `urls` has for some options the one over the network, and the one of the socket.
async fn a_holder_is_told_before_the_server_gives_it_up(urls: impl Fn(&str) -> [String; 2]) {
    let mut all = Vec::new();
    for mode in ["row", "advisory"] {
        let [network, socket] = urls(&format!("mode={mode}&session_timeout={}s", SILENCE.as_secs()));
        all.push(Pair::connect(mode, network, socket).await.hold().await);
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(all.iter().all(|held| !held.waiting.is_finished()), "it is held");
    ip("down");
    let cut = Stopwatch::of(Kind::SlowHandOver);
    for held in all {
        held.freed_after_its_holder_is_told(cut).await;
    }
}

#[cfg(feature = "postgres")]
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres, iproute2 and unprivileged namespaces"]
async fn postgres_frees_no_lock_before_its_holder_is_told() {
    if is_run_apart("namespaces::postgres_frees_no_lock_before_its_holder_is_told") {
        return;
    }
    let server = crate::postgres::setup::server();
    let urls = |options: &str| [server.url(options), server.socket_url(options)];
    a_holder_is_told_before_the_server_gives_it_up(urls).await;
}

#[cfg(feature = "mysql")]
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd, iproute2 and unprivileged namespaces"]
async fn mysql_frees_no_lock_before_its_holder_is_told() {
    if is_run_apart("namespaces::mysql_frees_no_lock_before_its_holder_is_told") {
        return;
    }
    let server = cotter_testkit::servers::Mariadb::start();
    server.migrate("");
    let path = server.socket();
    let socket =
        |options: &str| format!("mysql://app:secret@localhost/cotter?socket={}&{options}", path.display());
    let urls = |options: &str| [server.url(options), socket(options)];
    a_holder_is_told_before_the_server_gives_it_up(urls).await;
}
