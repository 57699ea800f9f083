//! ShedLock, in a process that stays for all rounds.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

pub(super) struct Peer {
    child: Child,
    orders: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Peer {
    /// Starts it on the database of this JDBC URL.
    pub(super) fn start(database: &str) -> Self {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut command = Command::new("java");
        command.arg("-cp").arg(here.join("../../target/servers/java/*"));
        command.arg(here.join("benches/locks/shedlock/ShedLock.java")).args([database, "app", "secret"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("scripts/servers installs java");
        let (orders, answers) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, orders, answers: BufReader::new(answers).lines() }
    }

    /// Thousands of pairs a second in one round.
    pub(super) fn round(&mut self, threads: usize, time: Duration) -> f64 {
        writeln!(self.orders, "{threads} {}", time.as_millis()).unwrap();
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
