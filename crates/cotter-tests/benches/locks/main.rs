//! What locks cost here, each figure beside a yardstick of the same run: `cargo bench -p cotter --bench locks [PART]…`.
#![allow(clippy::print_stdout, reason = "a benchmark talks")]

mod between;
mod children;
mod file;
mod handover;
mod mysql;
mod pair;
mod peer;
mod postgres;
mod processor_time;
mod quorum;
mod redis;
mod renewal;
mod rounds;
mod sessions;
mod shedlock;
mod sqlite;

use std::process::Command;

const PARTS: [(&str, fn()); 28] = [
    ("pair", pair::run),
    ("handover", handover::run),
    ("file-pair", file::pair),
    ("file-handover", file::handover),
    ("renewal", renewal::run),
    ("redis-pairs", redis::pairs),
    ("redis-pairs-threads", redis::pairs_on_threads),
    ("redis-server", redis::server_time),
    ("redis-shares", redis::shares),
    ("redis-handover", redis::handover),
    ("redis-contended", redis::contended),
    ("redis-renewal", redis::renewal),
    ("redis-cluster-renewal", redis::cluster_renewal),
    ("postgres-pairs", postgres::pairs),
    ("postgres-handover", postgres::handover),
    ("postgres-contended", postgres::contended),
    ("postgres-renewal", postgres::renewal),
    ("mysql-pairs", mysql::pairs),
    ("mysql-renewal", mysql::renewal),
    ("sqlite-renewal", sqlite::renewal),
    ("shedlock-pairs", shedlock::run),
    ("quorum-latency", quorum::latency),
    ("quorum-pairs", quorum::pairs),
    ("quorum-contended", quorum::contended),
    ("zookeeper-pairs", sessions::zookeeper_pairs),
    ("zookeeper-contended", sessions::zookeeper_contended),
    ("etcd-pairs", sessions::etcd_pairs),
    ("etcd-contended", sessions::etcd_contended),
];

fn main() {
    if file::is_child() {
        return file::child();
    }
    if children::is_child() {
        return children::child();
    }
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let chosen: Vec<_> =
        PARTS.iter().filter(|(name, _)| wanted.is_empty() || wanted.iter().any(|w| w == name)).collect();
    for (name, part) in &chosen {
        if chosen.len() == 1 {
            println!("\n## {name}");
            part();
        } else {
            // Some are bound to a core each with their server, others are not: each in a process of its own.
            let done = Command::new(std::env::current_exe().unwrap()).arg(name).status().unwrap();
            assert!(done.success(), "{name}");
        }
    }
}
