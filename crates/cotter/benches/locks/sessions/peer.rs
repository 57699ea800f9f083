//! The usual clients, each in a process of its own, which stays for all rounds.

use super::ROUND;
use cotter_testkit::servers::{Etcd, ZooKeeper};
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

pub(super) struct Peer {
    child: Child,
    orders: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Peer {
    /// Curator, for ZooKeeper.
    pub(super) fn curator(server: &ZooKeeper) -> Self {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/locks/sessions/Curator.java");
        let mut command = Command::new("java");
        command.args(["-cp", "/usr/share/java/curator-recipes.jar:/usr/share/java/zookeeper.jar"]);
        Self::start(command.arg(source).arg(format!("127.0.0.1:{}", server.port(0))))
    }

    /// The package `concurrency` of etcd's own client.
    pub(super) fn go(server: &Etcd) -> Self {
        let program =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/servers/concurrency/concurrency");
        Self::start(Command::new(program).arg(format!("127.0.0.1:{}", server.port(0))))
    }

    fn start(command: &mut Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let (orders, answers) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, orders, answers: BufReader::new(answers).lines() }
    }

    /// Thousands of acquisitions a second in one round.
    pub(super) fn round(&mut self, kind: &str, threads: usize) -> f64 {
        writeln!(self.orders, "{kind} {threads} {}", ROUND.as_millis()).unwrap();
        let answer = self.answers.next().expect("it runs").unwrap();
        answer.parse::<f64>().unwrap() / 1e3
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
