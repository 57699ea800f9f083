//! A real `redis-server`.

use super::{Wire, acl, free_port, logs, skew};
use rustix::process::{Pid, Signal, kill_process};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How a server is to be started.
#[derive(Debug, Clone, Default)]
pub struct RedisBuilder {
    args: Vec<String>,
    /// Commands that it does not have.
    removed: Vec<String>,
    skewed: bool,
    clustered: bool,
    secure: bool,
}

/// A running `redis-server`, without persistence unless asked for; ends when it is dropped. It has the users of
/// `docs/stores/redis.md`, and its [URLs](Redis::url) name the one for their mode.
#[derive(Debug)]
pub struct Redis {
    child: Option<Child>,
    builder: RedisBuilder,
    port: u16,
    /// The port for TLS, beside the other one.
    tls_port: Option<u16>,
    /// The port on which a node of a cluster hears of the others.
    bus: u16,
    dir: TempDir,
    /// Loaded into it before all other libraries.
    preload: Option<PathBuf>,
}

const BINARY: &str = "redis-server";
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// How often another port is tried.
const TRIES: usize = 10;

impl RedisBuilder {
    /// One more setting: `("requirepass", "secret")`.
    #[must_use]
    pub fn with(mut self, setting: &str, value: &str) -> Self {
        self.args.extend([format!("--{setting}"), value.into()]);
        self
    }

    /// Without this command, as behind a proxy that does not know it.
    #[must_use]
    pub fn without(mut self, command: &str) -> Self {
        self.args.extend(["--rename-command", command, ""].map(str::to_owned));
        self.removed.push(command.to_lowercase());
        self
    }

    /// With a clock that [`step_clock`](Redis::step_clock) moves.
    #[must_use]
    pub fn skewed(mut self) -> Self {
        self.skewed = true;
        self
    }

    /// As a node of a cluster, without slots and without other nodes.
    #[must_use]
    pub fn clustered(mut self) -> Self {
        self.clustered = true;
        self
    }

    /// With a port for TLS too, by these files. Certificates of clients are not asked for.
    #[must_use]
    pub fn tls(mut self, [cert, key]: &[PathBuf; 2], ca: &Path) -> Self {
        self.secure = true;
        let files = [("tls-cert-file", &**cert), ("tls-key-file", &**key), ("tls-ca-cert-file", ca)];
        let this =
            files.iter().fold(self, |this, (setting, file)| this.with(setting, &file.display().to_string()));
        this.with("tls-auth-clients", "no")
    }

    /// Starts it and waits until it answers.
    ///
    /// # Panics
    /// When it does not start, or is not in `PATH`.
    pub fn start(mut self) -> Redis {
        self.args.extend(acl::settings(&self.removed));
        let dir = tempfile::tempdir().expect("a temporary folder");
        let preload = self.skewed.then(|| skew::build(dir.path()).expect("a clock shim"));
        let mut server = Redis { child: None, builder: self, port: 0, tls_port: None, bus: 0, dir, preload };
        for _ in 0..TRIES {
            (server.port, server.bus) = (free_port(), free_port());
            server.tls_port = server.builder.secure.then(free_port);
            match server.spawn() {
                Err(e) => panic!("{BINARY} does not start ({e}); scripts/servers installs it"),
                Ok(true) => return server,
                // Somebody else was given the same port in the meantime.
                Ok(false) => {}
            }
        }
        panic!("the server ended {TRIES} times before it listened");
    }
}

impl Redis {
    /// A server with defaults.
    ///
    /// # Panics
    /// As [`RedisBuilder::start`].
    pub fn start() -> Self {
        RedisBuilder::default().start()
    }

    /// Settings before the start.
    pub fn builder() -> RedisBuilder {
        RedisBuilder::default()
    }

    /// Starts it and waits until it listens; false when it has ended instead.
    fn spawn(&mut self) -> std::io::Result<bool> {
        let log = logs::open(&self.dir.path().join("log"))?;
        let mut command = Command::new(BINARY);
        command
            .args([
                "--bind",
                "127.0.0.1",
                "--port",
                &self.port.to_string(),
                "--save",
                "",
                "--appendonly",
                "no",
            ])
            .args([
                "--dir",
                &self.dir.path().to_string_lossy(),
                "--unixsocket",
                &self.socket().to_string_lossy(),
            ])
            .args(&self.builder.args)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        if self.builder.clustered {
            command.args(["--cluster-enabled", "yes", "--cluster-port", &self.bus.to_string()]);
        }
        if let Some(port) = self.tls_port {
            command.args(["--tls-port", &port.to_string()]);
        }
        if let Some(library) = &self.preload {
            command.env("LD_PRELOAD", library).env("SKEW_FILE", self.dir.path().join("skew"));
        }
        let socket = self.socket();
        let child = self.child.insert(command.spawn()?);
        let end = Instant::now() + START_TIMEOUT;
        loop {
            if child.try_wait()?.is_some() {
                return Ok(false);
            }
            // The socket is its own for certain; on the port another server may answer.
            let own = UnixStream::connect(&socket).is_ok();
            if own && TcpStream::connect(("127.0.0.1", self.port)).is_ok() {
                return Ok(true);
            }
            assert!(Instant::now() < end, "the server does not listen");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Kills it, without any chance to write.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Stops it as it is: connections stay, and nothing is answered until it goes on.
    ///
    /// # Panics
    /// When it does not run.
    pub fn stop(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets it go on.
    ///
    /// # Panics
    /// When it does not run.
    pub fn go_on(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        let child = self.child.as_ref().expect("it runs");
        kill_process(Pid::from_child(child), signal).expect("it is ours");
    }

    /// Starts it again, in the same folder, on the same port.
    ///
    /// # Panics
    /// When it does not start.
    pub fn restart(&mut self) {
        self.kill();
        assert!(self.spawn().expect("it started before"), "it ended before it listened");
    }

    /// Its port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its port for TLS.
    ///
    /// # Panics
    /// When it has [none](RedisBuilder::tls).
    pub fn tls_port(&self) -> u16 {
        self.tls_port.expect("it has a port for TLS")
    }

    /// Its folder.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Its socket.
    pub fn socket(&self) -> PathBuf {
        self.dir.path().join("socket")
    }

    /// Sets its clock ahead by this many seconds from now on, or behind; only for a [`skewed`](RedisBuilder::skewed) server.
    ///
    /// # Panics
    /// When the file that the server reads cannot be written.
    pub fn step_clock(&self, seconds: i64) {
        assert!(self.preload.is_some(), "this server has the clock of the machine");
        skew::step(self.dir.path(), seconds * 1_000_000_000).expect("the file can be written");
    }

    /// A URL with these options, `""` or `"mode=plain&retry=5ms"`, for the user whom `docs/stores/redis.md` gives to its mode.
    pub fn url(&self, options: &str) -> String {
        redis_url(self.port, options)
    }

    /// A URL for an administrator, who may do everything; only for what the [users](Redis::url) are not meant to do.
    pub fn open_url(&self, options: &str) -> String {
        format!("redis://127.0.0.1:{}?{options}", self.port)
    }

    /// Sends one command on a connection of its own; the answer as it stands on the wire, without type signs.
    ///
    /// # Panics
    /// When the server does not answer.
    pub fn command(&self, words: &[&str]) -> String {
        self.wire().command(words).expect("it answers")
    }

    /// How many scripts it has run since the last reset.
    ///
    /// # Panics
    /// When the server does not answer.
    pub fn scripts(&self) -> usize {
        let stats = self.command(&["INFO", "commandstats"]);
        let calls = stats.lines().find_map(|line| line.strip_prefix("cmdstat_evalsha:calls="));
        calls.and_then(|line| line.split(',').next()).map_or(0, |calls| calls.parse().expect("a number"))
    }

    /// A connection for many commands.
    ///
    /// # Panics
    /// When the server does not listen.
    pub fn wire(&self) -> Wire {
        Wire::open(self.port).expect("the server listens")
    }

    /// Makes this server a replica of another and waits until it has its data.
    ///
    /// # Panics
    /// When they do not find each other.
    pub fn follow(&self, master: &Self) {
        self.command(&["REPLICAOF", "127.0.0.1", &master.port.to_string()]);
        let end = Instant::now() + START_TIMEOUT;
        while !self.command(&["INFO", "replication"]).contains("master_link_status:up") {
            assert!(Instant::now() < end, "the replica does not follow");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Makes a replica a master.
    pub fn promote(&self) {
        self.command(&["REPLICAOF", "NO", "ONE"]);
    }
}

/// The URL of the user for these options, directly or through a proxy on this port.
pub(super) fn redis_url(port: u16, options: &str) -> String {
    format!("redis://{}127.0.0.1:{port}?{options}", acl::credentials(options))
}

/// A URL of the majority of the servers on these ports.
pub fn redlock_url(ports: impl IntoIterator<Item = u16>, options: &str) -> String {
    let hosts: Vec<_> = ports.into_iter().map(|port| format!("127.0.0.1:{port}")).collect();
    let credentials = acl::credentials(&format!("prefix=cotter:quorum&{options}"));
    format!("redlock://{credentials}{}?{options}", hosts.join(","))
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.kill();
    }
}
