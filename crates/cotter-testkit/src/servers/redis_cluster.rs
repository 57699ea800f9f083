//! A cluster of Redis servers.

use super::{Redis, RedisBuilder, acl, acl_rule};
use crate::timing::{FAR, first_within, until};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How a cluster is to be started.
#[derive(Debug, Clone)]
pub struct RedisClusterBuilder {
    node: RedisBuilder,
    is_secure: bool,
}

/// Three masters, and a replica of each; they end when this is dropped.
#[derive(Debug)]
pub struct RedisCluster {
    /// The masters come first; each replica is three places behind its master. Failovers change that.
    pub nodes: Vec<Redis>,
    /// The nodes and their clients use TLS.
    is_secure: bool,
}

const MASTERS: usize = 3;
const SLOTS: usize = 16_384;

impl RedisClusterBuilder {
    /// With TLS, by these files: among the nodes and for clients. The ports without it stay, for the test.
    #[must_use]
    pub fn tls(self, files: &[PathBuf; 2], ca: &Path) -> Self {
        let node = self.node.tls(files, ca).with("tls-cluster", "yes").with("tls-replication", "yes");
        Self { node, is_secure: true }
    }

    /// Starts the servers and waits until they agree.
    ///
    /// # Panics
    /// When they do not start, or `redis-server` is not in `PATH`.
    pub fn start(self) -> RedisCluster {
        let nodes: Vec<Redis> = (0..2 * MASTERS).map(|_| self.node.clone().start()).collect();
        let this = RedisCluster { nodes, is_secure: self.is_secure };
        for (number, node) in this.nodes.iter().enumerate() {
            allow(node);
            let epoch = (number + 1).to_string();
            assert_eq!(node.command(&["CLUSTER", "SET-CONFIG-EPOCH", &epoch]), "OK");
            if number < MASTERS {
                let bound = |n: usize| SLOTS * n / MASTERS;
                let (first, last) = (bound(number).to_string(), (bound(number + 1) - 1).to_string());
                assert_eq!(node.command(&["CLUSTER", "ADDSLOTSRANGE", &first, &last]), "OK");
            }
            this.meet(number);
        }
        let info = |node: &Redis, said: &str| node.command(&["CLUSTER", "INFO"]).contains(said);
        until("the nodes know each other", || {
            this.nodes.iter().all(|node| info(node, "cluster_known_nodes:6"))
        });
        for replica in MASTERS..2 * MASTERS {
            let master = this.id(replica - MASTERS);
            until("it has heard of its master", || {
                this.nodes[replica].command(&["CLUSTER", "REPLICATE", &master]) == "OK"
            });
        }
        until("the cluster is complete", || {
            this.nodes.iter().all(|node| info(node, "cluster_state:ok"))
                && (MASTERS..2 * MASTERS).all(|replica| this.follows(replica))
                && (0..2 * MASTERS)
                    .all(|node| this.says(node).iter().filter(|says| says.is_master).count() == MASTERS)
        });
        this
    }
}

impl RedisCluster {
    /// Settings before the start. A master that is silent for `silence` is replaced.
    pub fn builder(silence: Duration) -> RedisClusterBuilder {
        let node = Redis::builder()
            .clustered()
            .with("cluster-node-timeout", &silence.as_millis().to_string())
            .with("cluster-allow-replica-migration", "no")
            .with("repl-diskless-sync-delay", "0");
        RedisClusterBuilder { node, is_secure: false }
    }

    /// Starts one with defaults.
    ///
    /// # Panics
    /// As [`RedisClusterBuilder::start`].
    pub fn start(silence: Duration) -> Self {
        Self::builder(silence).start()
    }

    /// Has each node announce a name to clients, which leads nowhere. Among each other they go on as before.
    ///
    /// # Panics
    /// When they refuse.
    pub fn announce_names(&self) {
        for (number, node) in self.nodes.iter().enumerate() {
            let name = self.announced_name(number);
            let words =
                ["CONFIG", "SET", "cluster-announce-hostname", &name, "cluster-preferred-endpoint-type"];
            assert_eq!(node.command(&[&words[..], &["hostname"]].concat()), "OK");
        }
        let nodes = |node: &Redis| node.command(&["CLUSTER", "NODES"]);
        let knows = |said: &str| (0..2 * MASTERS).all(|number| said.contains(&self.announced_name(number)));
        until("all have heard of the names", || self.nodes.iter().all(|node| knows(&nodes(node))));
    }

    /// The name that a node [announces](Self::announce_names).
    pub fn announced_name(&self, node: usize) -> String {
        format!("node-{node}.invalid")
    }

    /// The port of a node for its clients and the other nodes.
    pub fn port(&self, node: usize) -> u16 {
        if self.is_secure { self.nodes[node].tls_port() } else { self.nodes[node].port() }
    }

    /// Introduces a node to those before it.
    fn meet(&self, number: usize) {
        let node = &self.nodes[number];
        let (id, nodes) = (self.id(number), node.command(&["CLUSTER", "NODES"]));
        let itself = nodes.lines().find(|line| line.starts_with(&id)).and_then(|line| line.split_once('@'));
        let bus = itself.and_then(|(_, rest)| rest.split([' ', ',']).next()).expect("the port of its bus");
        let port = self.port(number).to_string();
        for other in &self.nodes[..number] {
            assert_eq!(other.command(&["CLUSTER", "MEET", "127.0.0.1", &port, bus]), "OK");
        }
    }

    /// A URL with these options, for the user whom `docs/stores/redis.md` gives to its mode.
    pub fn url(&self, options: &str) -> String {
        let scheme = if self.is_secure { "rediss+cluster" } else { "redis+cluster" };
        format!("{scheme}://{}{}?{options}", acl::credentials(options), self.addresses())
    }

    /// The addresses of all nodes, separated by commas.
    pub fn addresses(&self) -> String {
        let each = (0..self.nodes.len()).map(|node| format!("127.0.0.1:{}", self.port(node)));
        each.collect::<Vec<_>>().join(",")
    }

    /// The id of a node.
    pub fn id(&self, node: usize) -> String {
        self.nodes[node].command(&["CLUSTER", "MYID"])
    }

    /// The slot of a key.
    pub fn slot(&self, key: &str) -> u16 {
        self.nodes[0].command(&["CLUSTER", "KEYSLOT", key]).parse().expect("a slot")
    }

    /// Which node has a slot, as one of them sees it. In a failover it may hear of the old master's end first: then the slot is
    /// nobody's for a moment, which is waited for.
    ///
    /// # Panics
    /// When nobody has it.
    pub fn master_of(&self, slot: u16, seen_by: usize) -> usize {
        let look = || self.says(seen_by).into_iter().find(|says| says.has(slot));
        let port = first_within(FAR, look).expect("somebody has the slot").port;
        self.nodes.iter().position(|node| node.port() == port).expect("one of the nodes")
    }

    /// Whether a node is a replica that is connected to its master.
    pub fn follows(&self, node: usize) -> bool {
        let said = self.nodes[node].wire().command(&["INFO", "replication"]).unwrap_or_default();
        said.contains("role:slave") && said.contains("master_link_status:up")
    }

    /// The nodes from which a slot moves, and to which. Nothing has moved yet.
    pub fn begin_move(&self, slot: u16, from: usize, to: usize) {
        let slot = slot.to_string();
        self.order(to, &["CLUSTER", "SETSLOT", &slot, "IMPORTING", &self.id(from)]);
        self.order(from, &["CLUSTER", "SETSLOT", &slot, "MIGRATING", &self.id(to)]);
    }

    /// Moves some of the keys of a slot, one after the other. Returns how many have moved.
    pub fn move_keys(&self, slot: u16, from: usize, to: usize, most: usize) -> usize {
        let (slot, most) = (slot.to_string(), most.to_string());
        let keys = self.nodes[from].command(&["CLUSTER", "GETKEYSINSLOT", &slot, &most]);
        let port = self.port(to).to_string();
        // A lease may end meanwhile.
        keys.lines()
            .filter(|key| !key.is_empty())
            .map(|key| {
                let said = self.nodes[from].command(&["MIGRATE", "127.0.0.1", &port, key, "0", "5000"]);
                assert!(said == "OK" || said == "NOKEY", "{said}");
            })
            .count()
    }

    /// The slot has moved.
    pub fn end_move(&self, slot: u16, from: usize, to: usize) {
        while self.move_keys(slot, from, to, 100) > 0 {}
        let (slot, id) = (slot.to_string(), self.id(to));
        self.order(to, &["CLUSTER", "SETSLOT", &slot, "NODE", &id]);
        self.order(from, &["CLUSTER", "SETSLOT", &slot, "NODE", &id]);
    }

    /// Moves a slot with all of its keys.
    pub fn move_slot(&self, slot: u16, from: usize, to: usize) {
        self.begin_move(slot, from, to);
        self.end_move(slot, from, to);
    }

    /// Starts a node that was killed. It knows its cluster, and has no data.
    pub fn restart(&mut self, node: usize) {
        self.nodes[node].restart();
        allow(&self.nodes[node]);
    }

    /// Has a replica take over from its master, which answers. It has to have all of the master's data.
    pub fn fail_over(&self, replica: usize) {
        until("it obeys", || self.nodes[replica].command(&["CLUSTER", "FAILOVER"]) == "OK");
    }

    fn order(&self, node: usize, words: &[&str]) {
        assert_eq!(self.nodes[node].command(words), "OK", "{words:?}");
    }

    fn says(&self, node: usize) -> Vec<Says> {
        let said = self.nodes[node].wire().command(&["CLUSTER", "NODES"]).unwrap_or_default();
        said.lines().filter_map(Says::parse).collect()
    }
}

/// What a node says of another one.
struct Says {
    port: u16,
    is_master: bool,
    slots: Vec<(u16, u16)>,
}

impl Says {
    fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split(' ').collect();
        let port = words.get(1)?.split(['@', ',']).next()?.rsplit(':').next()?.parse().ok()?;
        let is_master = words.get(2)?.contains("master") && !words[2].contains("fail");
        let range = |word: &&str| {
            let (first, last) = word.split_once('-').unwrap_or((word, word));
            Some((first.parse().ok()?, last.parse().ok()?))
        };
        Some(Self { port, is_master, slots: words.get(8..)?.iter().filter_map(range).collect() })
    }

    fn has(&self, slot: u16) -> bool {
        self.slots.iter().any(|(first, last)| (*first..=*last).contains(&slot))
    }
}

/// What a URL with a cluster, and `replicas=`, need beside the rule of their mode.
fn allow(node: &Redis) {
    for mode in ["native", "plain", "getset"] {
        let more = ["+role", "+wait", "+cluster|slots", "+cluster|info", "+asking"];
        let words = [&["ACL", "SETUSER", acl_rule(mode)[2]][..], &more].concat();
        assert_eq!(node.command(&words), "OK");
    }
}
