//! nutcracker (twemproxy) before Redis servers.

use super::process::Process;
use super::{Redis, free_port, logs};
use crate::timing::first_within;
use std::fs;
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// A running `nutcracker`; ends when it is dropped. It forwards scripts and commands that have keys, and closes a connection over
/// which it is sent any other command.
#[derive(Debug)]
pub struct Nutcracker {
    port: u16,
    /// Ends with it.
    _process: Process,
    _dir: TempDir,
}

const BINARY: &str = "nutcracker";
const START_TIMEOUT: Duration = Duration::from_secs(10);

impl Nutcracker {
    /// Starts it and waits until it listens.
    ///
    /// # Panics
    /// When it does not start, or is not in `PATH`.
    pub fn before(server: &Redis) -> Self {
        Self::start(&[server], "timeout: 10000\n  auto_eject_hosts: false")
    }

    /// Before several servers, each of which has some of the keys. A server that does not answer for half a second is taken out for
    /// a minute, and the others have its keys, if `ejects`.
    ///
    /// # Panics
    /// As [`before`](Self::before).
    pub fn before_several(servers: &[&Redis], ejects: bool) -> Self {
        let limits = "timeout: 500\n  server_failure_limit: 1\n  server_retry_timeout";
        // One that is not taken out is asked again soon.
        let (retry, eject) = if ejects { (60_000, "true") } else { (500, "false") };
        Self::start(servers, &format!("{limits}: {retry}\n  auto_eject_hosts: {eject}"))
    }

    fn start(servers: &[&Redis], limits: &str) -> Self {
        let (dir, port, statistics) =
            (tempfile::tempdir().expect("a temporary folder"), free_port(), free_port());
        let file = |name: &str| dir.path().join(name);
        let servers: String =
            servers.iter().map(|server| format!("   - 127.0.0.1:{}:1\n", server.port())).collect();
        // Keys with the same text between braces go to the same server, as a script needs it.
        let settings = format!(
            "store:\n  listen: 127.0.0.1:{port}\n  redis: true\n  hash: fnv1a_64\n  distribution: ketama\n  hash_tag: \"{{}}\"\n  \
             {limits}\n  servers:\n{servers}",
        );
        fs::write(file("settings"), settings).expect("it can be written");
        // It opens its log itself; what it says before goes to the same file.
        let log = logs::open(&file("log")).expect("a log");
        let mut command = Command::new(BINARY);
        command.arg("-c").arg(file("settings")).arg("-o").arg(file("log"));
        command.args(["-a", "127.0.0.1", "-s", &statistics.to_string()]);
        command.stdin(Stdio::null()).stdout(log.try_clone().expect("one more handle")).stderr(log);
        let mut process = Process::default();
        process.start(&mut command);
        let listens = first_within(START_TIMEOUT, || {
            let said = || fs::read_to_string(file("log")).unwrap_or_default();
            assert!(!process.has_ended(), "nutcracker has ended: {}", said());
            TcpStream::connect(("127.0.0.1", port)).ok()
        });
        assert!(listens.is_some(), "nutcracker does not listen");
        Self { port, _process: process, _dir: dir }
    }

    /// A URL through it. There are no users: it knows the password of its server itself.
    pub fn url(&self, options: &str) -> String {
        format!("redis://127.0.0.1:{}?{options}", self.port)
    }
}
