//! Real ZooKeeper servers: an ensemble of one or more members.

use super::process::Process;
use super::znodes::Znodes;
use super::{Proxy, free_port, logs};
use crate::timing::first_within;
use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// A running ensemble; ends when it is dropped.
#[derive(Debug)]
pub struct ZooKeeper {
    members: Vec<Member>,
    /// In front of each member, for those others of [`Links`].
    links: Vec<Proxy>,
    settings: Settings,
    dir: TempDir,
}

/// Differences from the usual set-up.
#[derive(Debug, Clone)]
struct Settings {
    tick: Duration,
    links: Links,
    /// More lines of the configuration.
    lines: String,
    /// More arguments of the program.
    flags: Vec<String>,
}

/// Who reaches the other members through a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Links {
    Nobody,
    First,
    Everybody,
}

#[derive(Debug)]
struct Member {
    process: Process,
    port: u16,
    peer_ports: [u16; 2],
}

const PROGRAM: &str = "java";
const JAR: &str = "/usr/share/java/zookeeper.jar";
/// The jars that TLS needs and that the manifest of Debian's jar does not name.
const MORE_JARS: &str = ":/usr/share/java/netty-codec.jar:/usr/share/java/netty-resolver.jar";
const MAIN: &str = "org.apache.zookeeper.server.quorum.QuorumPeerMain";
/// Starts in a second instead of three, and syncs nothing to the disk: a machine that crashes ends the tests too.
const FLAGS: &[&str] = &[
    "-Xshare:auto",
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-Xmx192m",
    "-Dzookeeper.forceSync=no",
    "-Dzookeeper.preAllocSize=1024",
    "-Dzookeeper.admin.enableServer=false",
    "-Dzookeeper.4lw.commands.whitelist=*",
];
const START_TIMEOUT: Duration = Duration::from_secs(30);
/// How often other ports are tried.
const TRIES: usize = 5;

impl Default for Settings {
    /// Sessions may be as short as two ticks.
    fn default() -> Self {
        let tick = Duration::from_millis(100);
        Self { tick, links: Links::Nobody, lines: String::new(), flags: Vec::new() }
    }
}

impl ZooKeeper {
    /// An ensemble with this many members. Sessions may be as short as two ticks of 100 ms.
    ///
    /// # Panics
    /// When it does not start, or `java` or ZooKeeper is missing.
    pub fn start(members: usize) -> Self {
        Self::begin(members, Settings::default())
    }

    /// The same, with ticks of this length. A follower that has lost its leader answers for up to ten of them.
    ///
    /// # Panics
    /// When it does not start, or `java` or ZooKeeper is missing.
    pub fn with_tick(members: usize, tick: Duration) -> Self {
        Self::begin(members, Settings { tick, ..Settings::default() })
    }

    /// The same as [`start`](Self::start), with more lines in the configuration and more arguments for the program.
    ///
    /// # Panics
    /// When it does not start, or `java` or ZooKeeper is missing.
    pub fn with_settings(members: usize, lines: &str, flags: &[&str]) -> Self {
        let flags = flags.iter().map(|&flag| flag.to_owned()).collect();
        Self::begin(members, Settings { lines: lines.to_owned(), flags, ..Settings::default() })
    }

    /// Three members, and the number of a follower that can be cut off from the others. It notices after ten ticks.
    ///
    /// # Panics
    /// When it does not start, or `java` or ZooKeeper is missing.
    pub fn with_cuttable_follower(tick: Duration) -> (Self, usize) {
        let ensemble = Self::begin(3, Settings { tick, links: Links::First, ..Settings::default() });
        // Of two members that agree, the one with the larger number leads.
        assert_ne!(ensemble.leader(), 0);
        (ensemble, 0)
    }

    /// Three members, whose leader can be [deposed](Self::depose).
    ///
    /// # Panics
    /// When it does not start, or `java` or ZooKeeper is missing.
    pub fn with_deposable_leader(tick: Duration) -> Self {
        // A member that is chosen by one that has changed its mind gives up soon, while the old leader still waits.
        let lines = "initLimit=5\nsyncLimit=20\n".to_owned();
        Self::begin(3, Settings { tick, links: Links::Everybody, lines, ..Settings::default() })
    }

    fn begin(members: usize, settings: Settings) -> Self {
        assert!(Path::new(JAR).exists(), "{JAR} is missing; scripts/servers installs it");
        for _ in 0..TRIES {
            let member = |_| Member {
                process: Process::default(),
                port: free_port(),
                peer_ports: [free_port(), free_port()],
            };
            let dir = tempfile::tempdir().expect("a temporary folder");
            let members: Vec<_> = (0..members).map(member).collect();
            let linked = members.iter().filter(|_| settings.links != Links::Nobody);
            let links = linked.map(|Member { peer_ports: [peer, _], .. }| Proxy::start(*peer)).collect();
            let mut ensemble = Self { members, links, settings: settings.clone(), dir };
            let members = ensemble.members.len();
            (0..members).for_each(|number| ensemble.spawn(number));
            // Otherwise somebody else was given one of the ports in the meantime.
            if ensemble.answers() {
                return ensemble;
            }
        }
        panic!("the ensemble ended {TRIES} times before it answered");
    }

    fn spawn(&mut self, number: usize) {
        let config = self.write_config(number).expect("a configuration");
        let log = logs::open(&self.folder(number).join("log")).expect("a log");
        let mut command = Command::new(PROGRAM);
        command
            .args(FLAGS)
            .args(&self.settings.flags)
            .args(["-cp", &[JAR, MORE_JARS].concat(), MAIN])
            .arg(config)
            .current_dir(self.folder(number))
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a log"))
            .stderr(log);
        self.members[number].process.start(&mut command);
    }

    fn write_config(&self, number: usize) -> std::io::Result<PathBuf> {
        let (folder, member) = (self.folder(number), &self.members[number]);
        fs::create_dir_all(&folder)?;
        let mut config = format!(
            "tickTime={}\ninitLimit=100\nsyncLimit=10\ndataDir={}\nclientPort={}\nclientPortAddress=127.0.0.1\n\
             maxClientCnxns=0\nminSessionTimeout={}\nmaxSessionTimeout=120000\n",
            self.settings.tick.as_millis(),
            folder.join("data").display(),
            member.port,
            self.settings.tick.as_millis() * 2,
        );
        config.push_str(&self.settings.lines);
        if self.members.len() > 1 {
            for (n, Member { peer_ports: [peer, election], .. }) in self.members.iter().enumerate() {
                let is_linked = n != number && (number == 0 || self.settings.links == Links::Everybody);
                let link = self.links.get(n).filter(|_| is_linked);
                let peer = link.map_or(*peer, Proxy::port);
                let _ = writeln!(config, "server.{}=127.0.0.1:{peer}:{election}", n + 1);
            }
        }
        fs::create_dir_all(folder.join("data"))?;
        fs::write(folder.join("data/myid"), format!("{}", number + 1))?;
        let path = folder.join("zoo.cfg");
        fs::write(&path, config)?;
        Ok(path)
    }

    fn folder(&self, number: usize) -> PathBuf {
        self.dir.path().join(format!("m{number}"))
    }

    /// Waits until the running members serve clients; false when one of them has ended instead.
    fn answers(&mut self) -> bool {
        let serve = first_within(START_TIMEOUT, || {
            if self.members.iter_mut().any(|member| member.process.has_ended()) {
                return Some(false);
            }
            self.running().all(|number| self.mode(number).is_some()).then_some(true)
        });
        serve == Some(true)
    }

    fn running(&self) -> impl Iterator<Item = usize> {
        self.members.iter().enumerate().filter(|(_, m)| m.process.is_running()).map(|(n, _)| n)
    }

    /// The port of a member on 127.0.0.1.
    pub fn port(&self, member: usize) -> u16 {
        self.members[member].port
    }

    /// A URL of all members, with these options: `""` or `"session=2s"`.
    pub fn url(&self, options: &str) -> String {
        let hosts: Vec<_> = self.members.iter().map(|m| format!("127.0.0.1:{}", m.port)).collect();
        format!("zookeeper://{}?{options}", hosts.join(","))
    }

    /// The number of the member that leads, once one does.
    ///
    /// # Panics
    /// When none does.
    pub fn leader(&self) -> usize {
        self.leader_but(None)
    }

    fn leader_but(&self, not: Option<usize>) -> usize {
        let leads = |&number: &usize| Some(number) != not && self.mode(number).as_deref() == Some("leader");
        first_within(START_TIMEOUT, || self.running().find(leads)).expect("a member leads")
    }

    /// The followers lose their leader and choose another one, which is returned. The old one does not learn of it for
    /// twenty ticks.
    ///
    /// # Panics
    /// When they choose none.
    pub fn depose(&self, leader: usize) -> usize {
        self.links[leader].desert();
        self.leader_but(Some(leader))
    }

    /// `leader`, `follower` or `standalone`; `None` for a member that serves nobody.
    pub fn mode(&self, member: usize) -> Option<String> {
        let told = self.tell(member, "srvr")?;
        told.lines().find_map(|line| line.strip_prefix("Mode: ")).map(str::to_owned)
    }

    /// The answer of a member to a command of four letters.
    pub fn tell(&self, member: usize, command: &str) -> Option<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port(member))).ok()?;
        stream.set_read_timeout(Some(Duration::from_millis(500))).ok()?;
        stream.write_all(command.as_bytes()).ok()?;
        let mut told = String::new();
        stream.read_to_string(&mut told).ok()?;
        Some(told)
    }

    /// The nodes, as a client of its own sees them over a member.
    ///
    /// # Panics
    /// When it does not answer.
    pub fn nodes(&self, member: usize) -> Znodes {
        Znodes::open(self.port(member)).expect("the member answers")
    }

    /// Members that are started from now on have these lines in their configuration.
    pub fn set(&mut self, lines: &str) {
        lines.clone_into(&mut self.settings.lines);
    }

    /// Kills a member, without any chance to write.
    pub fn kill(&mut self, member: usize) {
        self.members[member].process.kill();
    }

    /// Starts a member that was killed again, with its data, and waits until all serve clients.
    ///
    /// # Panics
    /// When they do not.
    pub fn restart(&mut self, member: usize) {
        self.spawn(member);
        assert!(self.answers(), "the ensemble does not answer");
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

    /// Cuts the follower off: its connection to the leader stays, and carries nothing until this is undone.
    pub fn cut_off(&self, yes: bool) {
        self.links.iter().for_each(|link| link.freeze(yes));
    }
}
