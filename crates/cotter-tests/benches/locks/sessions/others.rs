//! The usual clients of these stores.

use super::ROUND;
use crate::peer::Peer;
use cotter_testkit::servers::{Etcd, ZooKeeper};
use std::path::Path;
use std::process::Command;

/// Curator, for ZooKeeper.
pub(super) fn curator(server: &ZooKeeper) -> Peer {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/locks/sessions/Curator.java");
    let mut command = Command::new("java");
    command.args(["-cp", "/usr/share/java/curator-recipes.jar:/usr/share/java/zookeeper.jar"]);
    Peer::start(command.arg(source).arg(format!("127.0.0.1:{}", server.port(0))))
}

/// The package `concurrency` of etcd's own client.
pub(super) fn go(server: &Etcd) -> Peer {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/servers/concurrency/concurrency");
    Peer::start(Command::new(program).arg(format!("127.0.0.1:{}", server.port(0))))
}

/// Thousands of acquisitions a second in one round.
pub(super) fn round(peer: &mut Peer, kind: &str, threads: usize) -> f64 {
    peer.round(format_args!("{kind} {threads} {}", ROUND.as_millis()))
}
