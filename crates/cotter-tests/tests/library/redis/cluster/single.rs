//! A node of a Redis Cluster, used as a single server (`redis://`): names of other nodes are refused with an
//! explanation. Those of the node itself work, whatever their slots.

use crate::redis::setup::{USED, backend, claim, client, eventually, show_doctor, take};
use cotter::backend::{EvictOrder, Extension, Filter, Release};
use cotter::{Error, ErrorKind, Level, Severity};
use cotter_testkit::servers::Redis;
use std::time::Duration;

const TTL: Duration = Duration::from_secs(20);
const MODES: [&str; 3] = ["", "mode=plain", "mode=getset"];

/// Two names in the first half of the slots, and one in the second half, in slot 15495.
const HERE: [&str; 2] = ["b", "c"];
const ELSEWHERE: &str = "a";
const SLOT_OF_B: &str = "3300";

/// A node with these slots.
fn node(first: &str, last: &str) -> Redis {
    let server = Redis::builder().clustered().start();
    assert_eq!(server.command(&["CLUSTER", "ADDSLOTSRANGE", first, last]), "OK");
    server
}

/// A new node refuses everything for two seconds.
async fn ready(server: &Redis) {
    eventually("the cluster is complete", || {
        server.command(&["CLUSTER", "INFO"]).contains("cluster_state:ok")
    })
    .await;
}

async fn two_nodes() -> [Redis; 2] {
    let nodes = [node("0", "8191"), node("8192", "16383")];
    let info = nodes[1].command(&["CLUSTER", "NODES"]);
    let bus = info.split_once('@').unwrap().1.split([' ', ',']).next().unwrap();
    nodes[0].command(&["CLUSTER", "MEET", "127.0.0.1", &nodes[1].port().to_string(), bus]);
    for node in &nodes {
        ready(node).await;
    }
    nodes
}

/// One move of the slot of `b` between two nodes. Only the node that is asked changes its mind about the slot: the other one
/// never claims it, so that they have nothing to agree on.
struct Move<'a> {
    nodes: &'a [Redis; 2],
    key: &'a str,
}

impl Move<'_> {
    fn order(&self, node: usize, words: &[&str]) {
        assert_eq!(self.nodes[node].command(words), "OK", "{words:?}");
    }

    fn id(&self, node: usize) -> String {
        self.nodes[node].command(&["CLUSTER", "MYID"])
    }

    fn carry_key(&self, from: usize, to: usize) {
        let port = self.nodes[to].port().to_string();
        self.order(from, &["MIGRATE", "127.0.0.1", &port, self.key, "0", "5000"]);
    }

    /// The key has moved; the rest of its slot has not.
    fn begin(&self) {
        self.order(1, &["CLUSTER", "SETSLOT", SLOT_OF_B, "IMPORTING", &self.id(0)]);
        self.order(0, &["CLUSTER", "SETSLOT", SLOT_OF_B, "MIGRATING", &self.id(1)]);
        self.carry_key(0, 1);
    }

    fn end(&self) {
        self.order(0, &["CLUSTER", "SETSLOT", SLOT_OF_B, "NODE", &self.id(1)]);
    }

    fn back(&self) {
        self.order(0, &["CLUSTER", "SETSLOT", SLOT_OF_B, "NODE", &self.id(0)]);
        self.carry_key(1, 0);
    }
}

fn says_where(error: &Error, node: &Redis) {
    let (said, address) = (error.to_string(), format!("127.0.0.1:{}", node.port()));
    let explained = said.contains("Redis Cluster") && said.contains("slot") && said.contains(&address);
    assert!(error.kind() == ErrorKind::Unsupported && explained, "{said}");
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn names_of_different_slots_are_renewed_and_listed_together() {
    let server = node("0", "16383");
    ready(&server).await;
    for mode in MODES {
        let backend = backend(&server.url(mode)).await;
        let claims = HERE.map(|name| claim(name, TTL));
        let grants = [take(&backend, &claims[0]).await, take(&backend, &claims[1]).await];
        for answer in backend.extend(&grants.each_ref(), TTL * 2).await {
            let extended = matches!(answer, Ok(Extension::Extended { ttl: Some(ttl), .. }) if ttl > TTL);
            assert!(extended, "{mode}: {answer:?}");
        }
        if mode.is_empty() {
            let page = backend.admin().unwrap().list(&Filter::held(), None).await.unwrap();
            assert_eq!(page.records.len(), HERE.len(), "{:?}", page.records);
        }
        for claim in &claims {
            assert_eq!(backend.release(claim, USED).await.unwrap(), Release::Freed, "{mode}");
        }
        server.command(&["FLUSHALL"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn a_name_of_another_node_is_refused_with_its_address() {
    let nodes = two_nodes().await;
    for mode in MODES {
        let client = client(&nodes[0].url(mode), TTL).await;
        let mutex = client.mutex(ELSEWHERE);
        says_where(&mutex.try_lock().await.unwrap_err(), &nodes[1]);
        says_where(&mutex.lock().await.unwrap_err(), &nodes[1]);
        says_where(&client.holder(ELSEWHERE).await.unwrap_err(), &nodes[1]);
        let now = EvictOrder::new().at_once();
        says_where(&client.admin().evict_with(ELSEWHERE, now).await.unwrap_err(), &nodes[1]);
        client.close(TTL).await.unwrap();
        for node in &nodes {
            assert_eq!(node.command(&["DBSIZE"]), "0", "{mode}");
        }
    }
}

/// The lock is where nobody asks for it. It is neither free nor lost, and nobody is told that it is.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_lock_whose_slot_moves_is_neither_released_nor_lost() {
    let nodes = two_nodes().await;
    for (mode, key) in MODES.into_iter().zip(["cotter:{b}", "b", "b"]) {
        let backend = backend(&nodes[0].url(mode)).await;
        let (held, moving) = (claim("b", TTL), Move { nodes: &nodes, key });
        let grant = take(&backend, &held).await;
        moving.begin();
        for _ in ["while it moves", "afterwards"] {
            let extended = backend.extend(&[&grant], TTL).await;
            says_where(extended[0].as_ref().unwrap_err(), &nodes[1]);
            says_where(&backend.release(&held, USED).await.unwrap_err(), &nodes[1]);
            moving.end();
        }
        moving.back();
        let extended = backend.extend(&[&grant], TTL).await;
        assert!(matches!(extended[0], Ok(Extension::Extended { .. })), "{mode}: {extended:?}");
        assert_eq!(backend.release(&held, USED).await.unwrap(), Release::Freed, "{mode}");
        nodes[0].command(&["FLUSHALL"]);
    }
}

/// Its cluster replaces it by a replica without asking anybody.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_node_leaves_best_effort() {
    let server = node("0", "16383");
    ready(&server).await;
    show_doctor(&server);
    for mode in MODES {
        let findings = client(&server.url(mode), TTL).await.admin().diagnose().await.unwrap();
        let found = findings.iter().find(|f| f.subject == "cluster").expect("it is said");
        assert_eq!((found.severity, found.level), (Severity::Problem, Some(Level::BestEffort)), "{mode:?}");
    }
}
