//! Another lock client, in a process that stays for all rounds.

use std::fmt::Display;
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

pub(crate) struct Peer {
    child: Child,
    orders: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Peer {
    /// Starts it. It reads an order from each line, and answers with a number of operations per second.
    pub(crate) fn start(command: &mut Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("scripts/servers installs it");
        let (orders, answers) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, orders, answers: BufReader::new(answers).lines() }
    }

    /// Thousands of operations a second in one round.
    pub(crate) fn round(&mut self, order: impl Display) -> f64 {
        writeln!(self.orders, "{order}").unwrap();
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
