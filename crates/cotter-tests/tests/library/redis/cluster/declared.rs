//! A script touches no key that it was not given. Servers that share their keys out among several, and proxies in front of them,
//! send a script to where its keys are, and refuse or miss all others.

use cotter_testkit::servers::Redis;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::thread::{self, JoinHandle};

/// What a server carries out, as it tells a connection that watches it.
pub(super) struct Watch {
    port: u16,
    watching: JoinHandle<Seen>,
}

/// What was seen until the end.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// The steps of scripts that touch a key.
    steps: usize,
    /// Those that touch another key than the script was given.
    others: Vec<String>,
}

const END: &str = "the end of the watch";

impl Watch {
    pub(super) fn start(server: &Redis) -> Self {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
        stream.write_all(b"MONITOR\r\n").unwrap();
        let mut lines = BufReader::new(stream);
        let mut said = String::new();
        lines.read_line(&mut said).unwrap();
        assert_eq!(said.trim(), "+OK");
        Self { port: server.port(), watching: thread::spawn(move || Seen::of(lines)) }
    }

    /// All that was carried out since the start.
    pub(super) fn end(self) -> Seen {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.write_all(format!("ECHO \"{END}\"\r\n").as_bytes()).unwrap();
        self.watching.join().unwrap()
    }
}

impl Seen {
    fn of(lines: impl BufRead) -> Self {
        let (mut seen, mut given) = (Self::default(), Vec::new());
        for line in lines.lines().map(|line| line.unwrap()) {
            let Some((from, said)) = line.split_once("] \"") else { continue };
            // What is quoted has no quotation mark of its own in it that is not escaped.
            let words: Vec<&str> = said.trim_end_matches('"').split("\" \"").collect();
            match (from.ends_with("lua"), &words[..]) {
                (_, [_, END]) => break,
                (false, [command, _, count, keys @ ..]) if command.to_uppercase().starts_with("EVAL") => {
                    given = keys[..count.parse().unwrap()].iter().map(|key| (*key).to_owned()).collect();
                }
                (true, [command, keys @ ..]) => {
                    let keys = &keys[..keys.len().min(touched(command))];
                    seen.steps += keys.len();
                    let others = keys.iter().filter(|key| !given.iter().any(|given| given == *key));
                    seen.others.extend(others.map(|key| format!("{command} {key}, given {given:?}")));
                }
                _ => {}
            }
        }
        seen
    }

    pub(super) fn demand_given_keys(&self, many: usize) {
        assert!(self.steps > many, "only {} steps were seen", self.steps);
        assert!(self.others.is_empty(), "{:?}", self.others);
    }
}

/// How many of the words behind a command are keys, at most.
fn touched(command: &str) -> usize {
    match &*command.to_uppercase() {
        "TIME" | "INFO" | "PUBLISH" | "PUBSUB" => 0,
        "UNLINK" | "DEL" | "RENAME" => 2,
        _ => 1,
    }
}
