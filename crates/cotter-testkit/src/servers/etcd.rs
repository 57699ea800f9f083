//! Real `etcd` servers: a cluster of one or more members.

use super::process::Process;
use super::{free_port, logs};
use crate::timing::first_within;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// A running cluster; ends when it is dropped.
#[derive(Debug)]
pub struct Etcd {
    members: Vec<Member>,
    args: Vec<String>,
    /// The port for TLS, if there is one.
    tls_port: Option<u16>,
    dir: TempDir,
}

#[derive(Debug)]
struct Member {
    process: Process,
    port: u16,
    peer_port: u16,
}

impl Member {
    fn new() -> Self {
        Self { process: Process::default(), port: free_port(), peer_port: free_port() }
    }
}

pub(super) const BINARY: &str = "etcd";
const TOOL: &str = "etcdctl";
pub(super) const START_TIMEOUT: Duration = Duration::from_secs(20);
/// How often other ports are tried.
const TRIES: usize = 10;

impl Etcd {
    /// A cluster with this many members. Nothing is synced to the disk: a machine that crashes ends the tests too.
    ///
    /// # Panics
    /// When it does not start, or `etcd` is not in `PATH`.
    pub fn start(members: usize) -> Self {
        Self::with_args(members, &[])
    }

    /// The same, with more arguments for each member.
    ///
    /// # Panics
    /// When it does not start, or `etcd` is not in `PATH`.
    pub fn with_args(members: usize, args: &[&str]) -> Self {
        Self::begin(members, None, args)
    }

    /// One member that also listens on a port for TLS, with certificates that the arguments name.
    ///
    /// # Panics
    /// When it does not start, or `etcd` is not in `PATH`.
    pub fn with_tls(port: u16, args: &[&str]) -> Self {
        Self::begin(1, Some(port), args)
    }

    fn begin(members: usize, tls_port: Option<u16>, args: &[&str]) -> Self {
        let args: Vec<_> = args.iter().map(|&arg| arg.to_owned()).collect();
        for _ in 0..TRIES {
            let dir = tempfile::tempdir().expect("a temporary folder");
            let members: Vec<_> = (0..members).map(|_| Member::new()).collect();
            let mut cluster = Self { members, args: args.clone(), tls_port, dir };
            let members = cluster.members.len();
            (0..members).for_each(|number| cluster.spawn(number, &[]));
            // Otherwise somebody else was given one of the ports in the meantime.
            if cluster.answers() {
                return cluster;
            }
        }
        panic!("the cluster ended {TRIES} times before it answered");
    }

    fn spawn(&mut self, number: usize, more: &[&str]) {
        let url = |port| format!("http://127.0.0.1:{port}");
        let peers: Vec<_> =
            self.members.iter().enumerate().map(|(n, m)| format!("m{n}={}", url(m.peer_port))).collect();
        let Member { port, peer_port, .. } = self.members[number];
        let secure = self.tls_port.map(|port| format!(",https://127.0.0.1:{port}")).unwrap_or_default();
        let listens = url(port) + &secure;
        let mut command = Command::new(BINARY);
        command
            .args(["--name", &format!("m{number}"), "--logger", "zap", "--unsafe-no-fsync"])
            .args(["--data-dir", &self.folder(number).to_string_lossy()])
            .args(["--listen-client-urls", &listens, "--advertise-client-urls", &url(port)])
            .args(["--listen-peer-urls", &url(peer_port), "--initial-advertise-peer-urls", &url(peer_port)])
            .args(["--initial-cluster", &peers.join(",")])
            .args(&self.args)
            .args(more)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(logs::open(&self.dir.path().join(format!("m{number}.log"))).expect("a log"));
        self.members[number].process.start(&mut command);
    }

    /// Adds a member without a vote, which answers hardly anything. Its number.
    ///
    /// # Panics
    /// When it does not start.
    pub fn add_learner(&mut self) -> usize {
        let (number, member) = (self.members.len(), Member::new());
        let peer = format!("http://127.0.0.1:{}", member.peer_port);
        self.ctl(&["member", "add", &format!("m{number}"), "--learner", "--peer-urls", &peer]);
        self.members.push(member);
        self.spawn(number, &["--initial-cluster-state", "existing"]);
        let started = first_within(START_TIMEOUT, || self.try_ctl(number, &["endpoint", "status"]));
        assert!(started.is_some(), "the learner does not answer");
        number
    }

    fn folder(&self, number: usize) -> PathBuf {
        self.dir.path().join(format!("m{number}"))
    }

    /// Waits until the running members answer; false when one of them has ended instead.
    fn answers(&mut self) -> bool {
        let answers = first_within(START_TIMEOUT, || {
            if self.members.iter_mut().any(|member| member.process.has_ended()) {
                return Some(false);
            }
            let running: Vec<_> = self.running().collect();
            let open = |&number: &usize| TcpStream::connect(("127.0.0.1", self.members[number].port)).is_ok();
            let healthy = |&number: &usize| self.try_ctl(number, &["endpoint", "health"]).is_some();
            (running.iter().all(open) && running.iter().all(healthy)).then_some(true)
        });
        answers == Some(true)
    }

    fn running(&self) -> impl Iterator<Item = usize> {
        self.members.iter().enumerate().filter(|(_, m)| m.process.is_running()).map(|(n, _)| n)
    }

    /// The port of a member on 127.0.0.1.
    pub fn port(&self, member: usize) -> u16 {
        self.members[member].port
    }

    /// A URL of all members, with these options: `""` or `"dialect=concurrency"`.
    pub fn url(&self, options: &str) -> String {
        let hosts: Vec<_> = self.members.iter().map(|m| format!("127.0.0.1:{}", m.port)).collect();
        format!("etcd://{}?{options}", hosts.join(","))
    }

    /// The number of the member that leads; waits while one is chosen.
    ///
    /// # Panics
    /// When none does.
    pub fn leader(&self) -> usize {
        let leads = |&number: &usize| {
            let status = self.status(number);
            let id = field(&status, "MemberID");
            id.is_some() && id == field(&status, "Leader")
        };
        first_within(START_TIMEOUT, || self.running().find(leads)).expect("a member leads")
    }

    fn status(&self, member: usize) -> String {
        self.try_ctl(member, &["endpoint", "status", "-w", "fields"]).unwrap_or_default()
    }

    /// Makes another member lead, in another term, while all go on.
    ///
    /// # Panics
    /// When the leader refuses.
    pub fn move_leader(&self) {
        let leader = self.leader();
        let next = (leader + 1) % self.members.len();
        let id: u64 = field(&self.status(next), "MemberID").expect("it answers");
        let moved = self.try_ctl(leader, &["move-leader", &format!("{id:x}")]);
        assert!(moved.is_some(), "the leader refuses");
    }

    /// The lease of the first key below a prefix, as the commands of `etcdctl` take it.
    pub fn lease_of(&self, prefix: &str) -> Option<String> {
        let found = self.ctl(&["get", "--prefix", prefix, "-w", "fields"]);
        field(&found, "Lease").map(|lease| format!("{lease:016x}"))
    }

    /// Kills a member, without any chance to write.
    pub fn kill(&mut self, member: usize) {
        self.members[member].process.kill();
    }

    /// Starts a member that was killed again, with its data, and waits until the cluster answers.
    ///
    /// # Panics
    /// When it does not.
    pub fn restart(&mut self, member: usize) {
        self.spawn(member, &[]);
        assert!(self.answers(), "the cluster does not answer");
    }

    /// Saves the state of a cluster of one member.
    ///
    /// # Panics
    /// When it cannot be saved.
    pub fn save(&self) {
        self.ctl(&["snapshot", "save", &self.dir.path().join("saved").to_string_lossy()]);
    }

    /// Kills the member of a cluster of one, and starts it with the state that was saved.
    ///
    /// # Panics
    /// When it does not start.
    pub fn put_back(&mut self) {
        self.kill(0);
        let folder = self.folder(0);
        std::fs::remove_dir_all(&folder).expect("its folder");
        let peer = format!("http://127.0.0.1:{}", self.members[0].peer_port);
        let mut restore = Self::ctl_of(self.port(0), &["snapshot", "restore"]);
        restore
            .arg(self.dir.path().join("saved"))
            .args(["--name", "m0", "--initial-cluster", &format!("m0={peer}")])
            .args(["--initial-advertise-peer-urls", &peer, "--data-dir", &folder.to_string_lossy()])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        assert!(restore.status().is_ok_and(|status| status.success()), "the state cannot be restored");
        self.restart(0);
    }

    /// Stops a member as it is: connections stay, and nothing is answered until it goes on.
    ///
    /// # Panics
    /// When it does not run.
    pub fn stop(&self, member: usize) {
        self.members[member].process.stop();
    }

    /// Lets it go on.
    ///
    /// # Panics
    /// When it does not run.
    pub fn go_on(&self, member: usize) {
        self.members[member].process.go_on();
    }

    /// The output of an `etcdctl` command at the first member that runs; repeated while a leader is chosen.
    ///
    /// # Panics
    /// When it fails.
    pub fn ctl(&self, words: &[&str]) -> String {
        let member = self.running().next().expect("a member runs");
        let answer = (0..TRIES).find_map(|_| self.try_ctl(member, words));
        answer.unwrap_or_else(|| panic!("{TOOL} {words:?} failed"))
    }

    /// From now on, requests need a login. `app` with the password `s3cret` may use locks, and `root` with the password
    /// `god` everything.
    ///
    /// # Panics
    /// When the server refuses.
    pub fn require_logins(&self) {
        for words in [
            &["user", "add", "root:god"][..],
            &["user", "grant-role", "root", "root"],
            &["role", "add", "locks"],
            &["role", "grant-permission", "locks", "--prefix=true", "readwrite", "cotter/"],
            &["user", "add", "app:s3cret"],
            &["user", "grant-role", "app", "locks"],
            &["auth", "enable"],
        ] {
            self.ctl(words);
        }
    }

    fn try_ctl(&self, member: usize, words: &[&str]) -> Option<String> {
        let output = self.ctl_command(member, words).stderr(Stdio::null()).output();
        let output =
            output.unwrap_or_else(|e| panic!("{TOOL} does not start ({e}); scripts/servers installs it"));
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// The answer of the first member to a request over HTTP, with its head.
    ///
    /// # Panics
    /// When it does not answer.
    pub fn http(&self, method: &str, path: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port(0))).expect("it listens");
        let length = body.len();
        // Version 1.0: the answer ends with the connection, and is in one piece.
        write!(stream, "{method} {path} HTTP/1.0\r\nContent-Length: {length}\r\n\r\n{body}")
            .expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        answer
    }

    /// How many messages the first member has received from clients: all of them, or those of one method.
    ///
    /// # Panics
    /// When it does not answer.
    pub fn received(&self, method: Option<&str>) -> usize {
        self.counted("grpc_server_msg_received_total", method)
    }

    /// How many requests of one method the first member has begun and not ended, streams among them.
    ///
    /// # Panics
    /// When it does not answer.
    pub fn open_requests(&self, method: &str) -> usize {
        let ended = self.counted("grpc_server_handled_total", Some(method));
        self.counted("grpc_server_started_total", Some(method)).saturating_sub(ended)
    }

    fn counted(&self, what: &str, method: Option<&str>) -> usize {
        let metrics = self.http("GET", "/metrics", "");
        let lines = metrics.lines().filter(|line| {
            line.starts_with(what) && method.is_none_or(|method| line.contains(&format!("\"{method}\"")))
        });
        lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum::<f64>() as usize
    }

    /// An `etcdctl` command at a member, to be run.
    pub fn ctl_command(&self, member: usize, words: &[&str]) -> Command {
        Self::ctl_of(self.members[member].port, words)
    }

    pub(super) fn ctl_of(port: u16, words: &[&str]) -> Command {
        let mut command = Command::new(TOOL);
        let endpoint = format!("127.0.0.1:{port}");
        command.env("ETCDCTL_API", "3").env("ETCDCTL_ENDPOINTS", endpoint).args(words).stdin(Stdio::null());
        command
    }
}

/// The number in the first field of this name, of what `etcdctl -w fields` writes.
fn field(said: &str, name: &str) -> Option<u64> {
    said.lines().find_map(|line| line.strip_prefix(&format!("\"{name}\" : "))?.parse().ok())
}
