//! Other processes: this program once more, told by a variable what to do.

use crate::{redis, sessions};
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const CHILD: &str = "COTTER_BENCH_OTHER";

pub(crate) fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

pub(crate) fn child() {
    let said = std::env::var(CHILD).unwrap();
    let (role, rest) = said.split_once(' ').unwrap();
    match role {
        "race" => redis::race_child(rest),
        "handover" => redis::handover_child(rest),
        "contender" => sessions::contender(rest),
        "postgres-handover" => crate::postgres::handover_child(rest),
        other => panic!("no such role: {other}"),
    }
}

/// One of them.
pub(crate) struct Other {
    child: Child,
    orders: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Other {
    /// Back when it is ready.
    pub(crate) fn start(role: &str, rest: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.env(CHILD, format!("{role} {rest}"));
        Self::run(command)
    }

    /// Another program that says the same.
    pub(crate) fn run(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (orders, answers) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut other = Self { child, orders, answers: BufReader::new(answers).lines() };
        assert_eq!(other.answer(), "ready");
        other
    }

    pub(crate) fn tell(&mut self) {
        writeln!(self.orders).unwrap();
    }

    pub(crate) fn answer(&mut self) -> String {
        self.answers.next().unwrap().unwrap()
    }

    /// All that it still has to say.
    pub(crate) fn end(self) -> Vec<String> {
        let Self { mut child, orders, answers } = self;
        drop(orders);
        let said = answers.map(Result::unwrap).collect();
        child.wait().unwrap();
        said
    }
}
