//! Three sentinels of a Redis master.

use super::process::Process;
use super::{Redis, Wire, free_port, logs};
use crate::timing::{first_within, until};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// Three running `redis-sentinel`s, of which two have to agree; they end when this is dropped.
#[derive(Debug)]
pub struct Sentinels {
    ports: Vec<u16>,
    /// End with it.
    _processes: Vec<Process>,
    _dir: TempDir,
}

const BINARY: &str = "redis-sentinel";
const COUNT: usize = 3;
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// What they call the master.
const NAME: &str = "store";

impl Sentinels {
    /// Starts them, and waits until they have found each other and this many replicas.
    ///
    /// # Panics
    /// When they do not start, or `redis-sentinel` is not in `PATH`.
    pub fn watching(master: &Redis, replicas: usize) -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let (mut ports, mut processes) = (Vec::new(), Vec::new());
        for number in 0..COUNT {
            let (port, mut process) = (free_port(), Process::default());
            process.start(&mut command(&dir.path().join(number.to_string()), port, master.port()));
            let answers = || Wire::open(port).ok()?.command(&["PING"]).ok().filter(|said| said == "PONG");
            assert!(first_within(START_TIMEOUT, answers).is_some(), "the sentinel does not answer");
            ports.push(port);
            processes.push(process);
        }
        let these = Self { ports, _processes: processes, _dir: dir };
        let counts = [("num-other-sentinels", COUNT - 1), ("num-slaves", replicas)];
        until("the sentinels know everybody", || {
            these.ports.iter().all(|port| counts.iter().all(|(field, count)| knows(*port, field, *count)))
        });
        these
    }

    /// The port of the server that is the master by their decision.
    ///
    /// # Panics
    /// When the first one does not answer.
    pub fn master(&self) -> u16 {
        let said = ask(self.ports[0], &["SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME]);
        said.lines().nth(1).and_then(|port| port.parse().ok()).unwrap_or_else(|| panic!("no address: {said}"))
    }

    /// Has them make a replica the master, although the master answers.
    ///
    /// # Panics
    /// When they refuse.
    pub fn fail_over(&self) {
        assert_eq!(ask(self.ports[0], &["SENTINEL", "FAILOVER", NAME]), "OK");
    }
}

fn command(folder: &Path, port: u16, master: u16) -> Command {
    fs::create_dir(folder).expect("it can be made");
    // They write to this file themselves what they learn.
    let (settings, log) = (folder.join("settings"), folder.join("log"));
    let text = format!(
        "bind 127.0.0.1\nport {port}\ndir {}\nsentinel monitor {NAME} 127.0.0.1 {master} 2\n\
         sentinel down-after-milliseconds {NAME} 1000\nsentinel failover-timeout {NAME} 10000\n",
        folder.display(),
    );
    fs::write(&settings, text).expect("it can be written");
    let log = logs::open(&log).expect("a log");
    let mut command = Command::new(BINARY);
    command.arg(settings).stdin(Stdio::null()).stdout(log.try_clone().expect("one more handle")).stderr(log);
    command
}

/// Whether a field of what it says about the master has this value.
fn knows(port: u16, field: &str, count: usize) -> bool {
    let said = ask(port, &["SENTINEL", "MASTER", NAME]);
    let mut lines = said.lines().skip_while(|line| *line != field).skip(1);
    lines.next() == Some(&*count.to_string())
}

fn ask(port: u16, words: &[&str]) -> String {
    Wire::open(port).and_then(|mut wire| wire.command(words)).expect("the sentinel answers")
}
