//! `redlock://` on five servers of this machine.

mod latency;
mod others;

pub(crate) use latency::run as latency;
pub(crate) use others::{contended, pairs};

use crate::redis::server_cpu;
use cotter_testkit::bare::enlist;
use cotter_testkit::servers::Redis;
use std::time::Duration;

/// The keys of `redlock://`, unless its URL says otherwise.
const PREFIX: &str = "cotter:quorum";
const LONGEST_LEASE: u64 = 60;

/// Servers that know nothing of one another, and vote at once.
struct Members(Vec<Redis>);

impl Members {
    fn start(many: usize) -> Self {
        let members = Self((0..many).map(|_| Redis::start()).collect());
        members.enlist();
        members
    }

    fn enlist(&self) {
        self.0.iter().for_each(|server| enlist(server, PREFIX, LONGEST_LEASE));
    }

    fn url(&self, options: &str) -> String {
        let hosts: Vec<_> = self.0.iter().map(|server| format!("127.0.0.1:{}", server.port())).collect();
        format!("redlock://{}?timeout=1s&{options}", hosts.join(","))
    }

    fn ports(&self) -> String {
        self.0.iter().map(|server| server.port().to_string()).collect::<Vec<_>>().join(",")
    }

    /// One URL for each, as libraries take them that lock several servers.
    fn urls(&self) -> String {
        self.0.iter().map(|server| server.open_url("")).collect::<Vec<_>>().join(",")
    }

    /// Nothing is left of an earlier round but their votes.
    fn clear(&self) {
        self.0.iter().for_each(|server| _ = server.command(&["FLUSHALL"]));
        self.enlist();
    }

    fn cpu(&self) -> Duration {
        self.0.iter().map(server_cpu).sum()
    }
}
