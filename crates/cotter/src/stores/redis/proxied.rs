//! What can be told of the servers behind a proxy that forwards only scripts and commands with keys.

use super::connection::Link;
use super::script;
use crate::backend::Finding;
use std::collections::BTreeSet;

const SUBJECT: &str = "proxy";
const UNSEEN: &str = "something in between, such as twemproxy, closes connections over which it is sent CLIENT, SCRIPT, INFO or \
    CONFIG: version, role, replicas, memory and persistence are unknown; ask the server itself. There has to be a single server \
    behind it";
/// The number of keys whose server is asked for. Of two servers that have half of the keys each, both answer, but for one time in
/// thirty thousand.
const ASKED: usize = 16;

/// What is not known, and whether there are several servers.
pub(super) async fn diagnose(link: &Link) -> Vec<Finding> {
    let mut servers = BTreeSet::new();
    for number in 0..ASKED {
        // What differs stands in front: some hashes make next to nothing of the last byte.
        let ask = script::run_id(&format!("cotter:{{{number}:doctor}}"));
        // A user may have no right to ask: then nothing is known.
        let Ok((value, _)) = link.query(&ask).await else { break };
        servers.extend(redis::from_redis_value::<String>(value));
    }
    let mut findings = vec![Finding::limits(SUBJECT, UNSEEN)];
    if servers.len() > 1 {
        findings.push(Finding::weakens(SUBJECT, several(servers.len())));
    }
    findings
}

fn several(servers: usize) -> String {
    format!(
        "it spreads keys over {servers} servers or more: if it takes one out (auto_eject_hosts of twemproxy), or is started with \
         another list, locks that are held there are free on another server; put a single server behind it"
    )
}
