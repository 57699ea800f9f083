//! An etcd server in memory, and what happens to it.

use super::plan::{Plan, What};
use super::served::{Running, Served};
use super::steps::Steps;
use super::wires::{self, Connected, Outgoing, Received, Serve, Wires};
use super::world::{Delete, MemberClock};
use crate::etcd_in_memory::Server;
use crate::faulty::Faults;
use async_trait::async_trait;
use cotter::{Builder, Client, Result, etcd};
use rand::RngExt;
use rand::rngs::StdRng;
use std::sync::Arc;
use std::time::Duration;

/// Locks in an etcd cluster.
pub(super) struct InEtcd {
    pub(super) may_be_behind: bool,
}

/// The shortest lease that there is.
const LEASE: Duration = Duration::from_secs(2);
const IDLE: Duration = Duration::from_secs(6);

impl Served for InEtcd {
    fn start(&self, _: MemberClock, links: Vec<Faults>) -> Box<dyn Running> {
        let server = Server::new(Some(links[0].seed()));
        server.may_be_behind(self.may_be_behind);
        let connected = Wires::connected(server.clone(), links, LEASE);
        Box::new(Etcd { server, _connected: connected })
    }

    fn trouble(&self, rng: &mut StdRng) -> What {
        let mut millis = |range| Duration::from_millis(rng.random_range(range));
        let (unaware, away, returns) = (millis(0..1_500), millis(0..3_000), millis(2_000..5_000));
        match rng.random_range(0..10) {
            0..2 => What::Restart,
            2 => What::Compact,
            3..5 => What::LoseWaiter("a"),
            5..7 => What::NewLeader { unaware, away, returns: None },
            _ => What::NewLeader { unaware, away, returns: Some(returns) },
        }
    }

    fn lease(&self) -> Duration {
        LEASE
    }

    fn longest_idle(&self, _: Duration) -> Duration {
        IDLE
    }

    fn heals_itself(&self) -> bool {
        true
    }

    fn bears_losses(&self) -> bool {
        false
    }

    fn has_readers(&self) -> bool {
        true
    }

    fn has_permits(&self) -> bool {
        true
    }
}

/// The server, and the network that leads to it.
struct Etcd {
    server: Server,
    _connected: Connected,
}

#[async_trait]
impl Running for Etcd {
    async fn client(&self, process: usize, builder: Builder) -> Result<Client> {
        let store = etcd::Store::from_url(format!("etcd://{}:2379", wires::host(process)))?;
        builder.in_this_runtime().connect_to(store).await
    }

    fn restart(&self) {
        self.server.restart();
    }

    fn befalls(&self, what: What) {
        match what {
            What::Compact => self.server.compact(),
            What::NewLeader { unaware, away, returns } => self.server.new_leader(unaware, away, returns),
            What::LoseWaiter(name) => {
                // Who is the last of several has never held it.
                let entries = self.server.keys(&line(name));
                if let Some((last, _)) = entries.last().filter(|_| entries.len() > 1) {
                    self.server.delete(last);
                }
            }
            _ => {}
        }
    }

    /// The entry of the holder, or its lease with all that is on it.
    fn delete(&self, _: &Plan) -> Option<Delete> {
        let server = self.server.clone();
        Some(Arc::new(move |name: &str| {
            if let Some((first, lease)) = server.keys(&line(name)).first() {
                // By chance, but by the same one in each run.
                if lease % 2 == 0 { server.delete(first) } else { server.revoke(*lease) }
            }
        }))
    }

    fn record(&self) {}

    fn recorded(&self) -> Steps {
        Steps::None
    }
}

/// What the entries of a name begin with.
fn line(name: &str) -> String {
    format!("cotter/lock/{name}/")
}

impl Serve for Server {
    fn open(&self) -> (Received, Outgoing) {
        let (mut session, outgoing) = self.open();
        (Box::new(move |bytes| session.received(bytes)), outgoing)
    }
}
