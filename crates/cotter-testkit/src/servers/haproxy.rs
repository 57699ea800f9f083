//! HAProxy before servers of which one is the master.

use super::process::Process;
use super::{free_port, logs};
use crate::timing::first_within;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// A running `haproxy`; ends when it is dropped. As by default, a server that is down keeps the connections that it has.
#[derive(Debug)]
pub struct Haproxy {
    process: Process,
    port: u16,
    dir: TempDir,
}

const BINARY: &str = "haproxy";
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// The silence that it bears where that does not matter.
const HOUR: Duration = Duration::from_secs(3600);

/// The check that Redis users are told to use: a server that says that it is the master is up, and any other one is down.
const MASTER: &str = "\
    option tcp-check\n\
    tcp-check connect\n\
    tcp-check send PING\\r\\n\n\
    tcp-check expect string +PONG\n\
    tcp-check send info\\ replication\\r\\n\n\
    tcp-check expect string role:master\n\
    tcp-check send QUIT\\r\\n\n\
    tcp-check expect string +OK\n";

impl Haproxy {
    /// Before Redis servers, which it asks five times a second which of them is the master.
    ///
    /// # Panics
    /// When it does not start, or is not in `PATH`.
    pub fn before_redis(ports: &[u16]) -> Self {
        Self::start(MASTER, "check inter 200ms fall 2 rise 1", ports, HOUR)
    }

    /// Before servers of whatever kind, to any of which a connection may lead, whether it is a master or not. A connection that
    /// is silent for as long as `idle` is cut.
    ///
    /// # Panics
    /// When it does not start, or is not in `PATH`.
    pub fn before_any(ports: &[u16], idle: Duration) -> Self {
        Self::start("balance random\n", "", ports, idle)
    }

    /// Before servers of whatever kind, of which it uses the first one until it is [told](Self::switch) otherwise.
    ///
    /// # Panics
    /// When it does not start, or is not in `PATH`.
    pub fn before_first_of(ports: &[u16]) -> Self {
        let this = Self::start("", "", ports, HOUR);
        this.switch(0, ports.len());
        this
    }

    fn start(check: &str, of_each: &str, ports: &[u16], idle: Duration) -> Self {
        let idle = idle.as_millis();
        let dir = tempfile::tempdir().expect("a temporary folder");
        let mut this = Self { process: Process::default(), port: free_port(), dir };
        let servers: String = (0..)
            .zip(ports)
            .map(|(number, port)| format!("server s{number} 127.0.0.1:{port} {of_each}\n"))
            .collect();
        let settings = format!(
            "global\nlog stderr format raw local0\nstats socket {} level admin\n\
             defaults\nmode tcp\nlog global\ntimeout connect 1s\ntimeout client {idle}\ntimeout server {idle}\n\
             listen store\nbind 127.0.0.1:{}\n{check}{servers}",
            this.socket(),
            this.port,
        );
        let file = this.dir.path().join("settings");
        fs::write(&file, settings).expect("it can be written");
        let log = logs::open(&this.dir.path().join("log")).expect("a log");
        let mut command = Command::new(BINARY);
        command.arg("-db").arg("-f").arg(file).stdin(Stdio::null());
        command.stdout(log.try_clone().expect("one more handle")).stderr(log);
        this.process.start(&mut command);
        let listens = first_within(START_TIMEOUT, || {
            assert!(!this.process.has_ended(), "haproxy has ended: {}", this.log());
            // For its administrator it listens a little later.
            TcpStream::connect(("127.0.0.1", this.port)).ok()?;
            UnixStream::connect(this.socket()).ok()
        });
        assert!(listens.is_some(), "haproxy does not listen");
        this
    }

    /// The port that clients connect to.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// New connections lead to this server only, of so many. Those that exist stay where they are.
    ///
    /// # Panics
    /// When it does not answer.
    pub fn switch(&self, to: usize, of: usize) {
        for number in 0..of {
            let state = if number == to { "ready" } else { "maint" };
            let said = self.order(&format!("set server store/s{number} state {state}"));
            assert_eq!(said.trim(), "", "haproxy refuses");
        }
    }

    /// The servers that it takes for usable, by their places in the list.
    ///
    /// # Panics
    /// When it does not answer.
    pub fn up(&self) -> Vec<usize> {
        let table = self.order("show stat -1 4 -1");
        let servers = table.lines().filter(|line| line.starts_with("store,s"));
        servers.enumerate().filter(|(_, line)| line.contains(",UP,")).map(|(number, _)| number).collect()
    }

    /// Sends a command to the administrator's socket.
    fn order(&self, command: &str) -> String {
        let mut socket = UnixStream::connect(self.socket()).expect("it listens");
        socket.write_all(format!("{command}\n").as_bytes()).expect("it reads");
        let mut said = String::new();
        socket.read_to_string(&mut said).expect("it answers");
        said
    }

    fn socket(&self) -> String {
        self.dir.path().join("admin").display().to_string()
    }

    fn log(&self) -> String {
        fs::read_to_string(self.dir.path().join("log")).unwrap_or_default()
    }
}
