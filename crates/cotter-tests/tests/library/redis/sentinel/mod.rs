//! A master and two replicas that three sentinels watch.
//!
//! | file | concept |
//! |---|---|
//! | `failover` | what becomes of locks, waiters and tokens when another server becomes the master |
//! | `told`, `played` | what is believed of what sentinels say; a sentinel that a test plays |
//! | `announced` | a master that is announced with an address which leads nowhere |
//! | `tls` | `rediss+sentinel:` |
//! | `refusals` | URLs, credentials and sentinels that are wrong, and what is said of it |
//! | `doctor` | what `doctor` says |
//! | `contract` | the contract through sentinels |
//! | `long_run` | many failovers |

mod announced;
mod contract;
mod doctor;
mod failover;
mod long_run;
mod played;
mod refusals;
mod tls;
mod told;

use cotter::{Client, Lease};
use cotter_testkit::servers::{Redis, Sentinels, SentinelsBuilder, acl_rule};
use cotter_testkit::timing::eventually;
use std::time::Duration;

/// Longer than it takes to replace a master.
const TTL: Duration = Duration::from_secs(6);

/// What a URL with sentinels, and `replicas=`, need beside the rule of their mode.
fn allow(server: &Redis) {
    for mode in ["native", "plain", "getset", "redisson"] {
        assert_eq!(server.command(&["ACL", "SETUSER", acl_rule(mode)[2], "+role", "+wait"]), "OK");
    }
}

fn server() -> Redis {
    let server = Redis::builder().with("repl-diskless-sync-delay", "0").start();
    allow(&server);
    server
}

/// Sentinels that take a server to be down soon.
fn quick() -> SentinelsBuilder {
    Sentinels::builder().down_after(Duration::from_millis(500)).failover_timeout(Duration::from_secs(1))
}

struct Watched {
    servers: [Redis; 3],
    sentinels: Sentinels,
}

impl Watched {
    /// The first one is the master.
    fn start() -> Self {
        let servers = [server(), server(), server()];
        servers[1..].iter().for_each(|replica| replica.follow(&servers[0]));
        let sentinels = quick().watch(&servers[0], 2);
        Self { servers, sentinels }
    }

    async fn connect(&self, options: &str) -> Client {
        self.connect_for(TTL, options).await
    }

    async fn connect_for(&self, ttl: Duration, options: &str) -> Client {
        let url = self.sentinels.url(options);
        Client::builder().lease(Lease::renewed(ttl)).local_turns(false).connect(url).await.unwrap()
    }

    /// Which server is the master by the decision of the sentinels.
    fn master(&self) -> usize {
        let port = self.sentinels.master();
        self.servers.iter().position(|server| server.port() == port).expect("one of them")
    }

    /// Until all sentinels have announced another master than this one.
    async fn replaced(&self, old: usize) -> usize {
        let port = self.servers[old].port().to_string();
        let announced = |n| self.sentinels.says(n, "port") != port;
        eventually("a replica is promoted", || (0..3).all(announced)).await;
        self.master()
    }

    /// Until this server follows the master.
    async fn follows(&self, old: usize) {
        // All connections end when it is demoted, this one too.
        let info = || self.servers[old].wire().command(&["INFO", "replication"]).unwrap_or_default();
        eventually("the old master follows", || info().contains("master_link_status:up")).await;
    }
}
