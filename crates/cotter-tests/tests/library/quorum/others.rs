//! `mode=plain` beside other Redlock libraries on the same servers: node-redlock, and redsync for Go.

use super::setup::{Members, TTL};
use cotter::{Client, Lease};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::{Redis, redlock_url};
use cotter_testkit::timing::eventually;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const LONGEST: Duration = Duration::from_secs(60);

fn members() -> Members {
    Members::voting(5, LONGEST, Duration::from_millis(500))
}

impl Members {
    fn ports(&self) -> String {
        self.servers.iter().map(|server| server.port().to_string()).collect::<Vec<_>>().join(",")
    }

    /// A client of cotter's beside theirs.
    async fn beside_others(&self) -> Client {
        let url = redlock_url(self.servers.iter().map(Redis::port), "mode=plain&timeout=500ms");
        Client::builder().lease(Lease::renewed(TTL)).local_turns(false).connect(url).await.unwrap()
    }
}

/// Another library.
#[derive(Clone, Copy)]
enum Library {
    NodeRedlock,
    Redsync,
}

impl Library {
    /// A program that uses it on these servers.
    fn program(self, members: &Members, args: &[&str]) -> Command {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let installed = here.join("../../target/servers");
        let mut program = match self {
            Self::NodeRedlock => Command::new("node"),
            Self::Redsync => Command::new(installed.join("go/redsync")),
        };
        if let Self::NodeRedlock = self {
            program.env("NODE_PATH", installed.join("node/node_modules"));
            program.arg(here.join("tests/library/quorum/node_redlock.js"));
        }
        program.arg(members.ports()).args(args).stdin(Stdio::piped()).stdout(Stdio::piped());
        program
    }
}

/// A process of theirs that holds the lock, until its input is closed. `None`: it was busy.
fn they_take(library: Library, members: &Members, name: &str) -> Option<Child> {
    let mut process = library.program(members, &[name, "once"]).spawn().expect("scripts/servers installs it");
    let mut line = String::new();
    BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    if line == "taken\n" {
        return Some(process);
    }
    assert_eq!(process.wait().unwrap().code(), Some(1), "it is refused because the lock is held");
    None
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server and node-redlock"]
async fn each_waits_for_the_other() {
    each_waits(Library::NodeRedlock).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server and redsync"]
async fn redsync_and_cotter_wait_for_each_other() {
    each_waits(Library::Redsync).await;
}

async fn each_waits(library: Library) {
    let members = members();
    let client = members.beside_others().await;
    let guard = client.mutex("orders").lock().await.unwrap();
    assert!(they_take(library, &members, "orders").is_none(), "it is held here");
    guard.finish().await.unwrap();
    let mut process = they_take(library, &members, "orders").expect("it was given back");
    assert!(client.mutex("orders").try_lock().await.unwrap().is_none(), "it is held there");
    let waiting = tokio::spawn(client.mutex("orders").lock());
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!waiting.is_finished(), "it is held there");
    drop(process.stdin.take());
    let second = waiting.await.unwrap().unwrap();
    assert!(process.wait().unwrap().success());
    second.finish().await.unwrap();
    let none_left = || members.servers.iter().all(|server| server.command(&["EXISTS", "orders"]) == "0");
    eventually("nothing is left on any server", none_left).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server and node-redlock"]
async fn they_never_work_at_the_same_time() {
    never_at_the_same_time(Library::NodeRedlock).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server and redsync"]
async fn redsync_and_cotter_never_work_at_the_same_time() {
    never_at_the_same_time(Library::Redsync).await;
}

/// Two of theirs and two of cotter's count in a file, each under the lock; one server of five is down.
async fn never_at_the_same_time(library: Library) {
    const TIMES: usize = 20;
    let mut members = members();
    let folder = tempfile::tempdir().unwrap();
    let file: PathBuf = folder.path().join("number");
    std::fs::write(&file, "0").unwrap();
    let client = members.beside_others().await;
    let (path, times) = (file.to_str().unwrap(), TIMES.to_string());
    let arguments = ["counter", "count", path, &times];
    let processes: Vec<_> = (0..2).map(|_| library.program(&members, &arguments).spawn().unwrap()).collect();
    members.servers.pop();
    let count = async |mut last: u64| {
        for _ in 0..TIMES {
            let guard = client.mutex("counter").lock().await.unwrap();
            let token = guard.token().get();
            demand(token > last, Kind::TokenOrder, format!("{token} after {last}"));
            last = token;
            let number: u64 = std::fs::read_to_string(&file).unwrap().parse().unwrap();
            tokio::time::sleep(Duration::from_millis(1)).await;
            std::fs::write(&file, (number + 1).to_string()).unwrap();
            guard.finish().await.unwrap();
        }
    };
    tokio::join!(count(0), count(0));
    for mut process in processes {
        // It ends early when its input does.
        let _input = process.stdin.take();
        assert!(process.wait().unwrap().success());
    }
    let number = std::fs::read_to_string(&file).unwrap();
    demand(
        number == (4 * TIMES).to_string(),
        Kind::Overlap,
        format!("{number} of {} were counted", 4 * TIMES),
    );
}
