//! A ZooKeeper server in memory, and what happens to it.

use super::plan::{Plan, What};
use super::run::TTL;
use super::served::{Running, Served};
use super::steps::Steps;
use super::wires::{self, Connected, Outgoing, Serve, Session, Wires};
use super::world::{Delete, MemberClock};
use crate::faulty::Faults;
use crate::zookeeper_in_memory::{Connection, Leader, Server};
use async_trait::async_trait;
use cotter::clock::Clock;
use cotter::{Builder, Client, Result, zookeeper};
use rand::rngs::StdRng;
use std::time::{Duration, SystemTime};
use tokio::task::JoinHandle;

/// Whose nodes the locks are, as in the URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "as in the URL")]
pub enum ZooKeeperDialect {
    Own,
    Curator,
    CuratorReadWrite,
    Kazoo,
}

const DIALECTS: [(ZooKeeperDialect, &str, &str); 4] = [
    (ZooKeeperDialect::Own, "zookeeper", ""),
    (ZooKeeperDialect::Curator, "curator", "&dialect=curator"),
    (ZooKeeperDialect::CuratorReadWrite, "curator-rwlock", "&dialect=curator&recipe=rwlock"),
    (ZooKeeperDialect::Kazoo, "kazoo", "&dialect=kazoo"),
];

/// Requests may take a quarter of it.
const SESSION: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(100);

impl ZooKeeperDialect {
    /// All of them, and the names of their stores.
    pub(super) fn all() -> impl Iterator<Item = (Self, &'static str)> {
        DIALECTS.iter().map(|(dialect, name, _)| (*dialect, *name))
    }

    /// The options of a URL.
    fn options(self) -> &'static str {
        DIALECTS.iter().find(|(dialect, ..)| *dialect == self).map_or("", |(.., options)| options)
    }
}

impl Served for ZooKeeperDialect {
    fn start(&self, clock: MemberClock, links: Vec<Faults>) -> Box<dyn Running> {
        let millis = move || {
            let since = clock.wall().duration_since(SystemTime::UNIX_EPOCH);
            since.expect("it is later").as_millis() as u64
        };
        let server = Server::new(millis, Leader::Other, TICK.as_millis() as u64);
        let connected = Wires::connected(server.clone(), links, TTL);
        let ticking = tokio::spawn(tick(server.clone()));
        Box::new(ZooKeeper { dialect: *self, server, ticking, _connected: connected })
    }

    fn trouble(&self, _: &mut StdRng) -> What {
        What::Restart
    }

    fn lease(&self) -> Duration {
        SESSION
    }

    /// How this is derived: `docs/evidence.md`.
    fn longest_idle(&self, _: Duration) -> Duration {
        Duration::from_secs(10)
    }

    fn has_readers(&self) -> bool {
        *self != Self::Curator
    }

    fn has_permits(&self) -> bool {
        *self == Self::Own
    }
}

/// The server, and the network that leads to it.
struct ZooKeeper {
    dialect: ZooKeeperDialect,
    server: Server,
    ticking: JoinHandle<()>,
    _connected: Connected,
}

/// A leader is told twice a tick of which sessions a member has heard.
async fn tick(server: Server) {
    loop {
        tokio::time::sleep(TICK / 2).await;
        server.tell_leader();
        tokio::time::sleep(TICK / 2).await;
        server.tick();
        server.tell_leader();
    }
}

#[async_trait]
impl Running for ZooKeeper {
    async fn client(&self, process: usize, builder: Builder) -> Result<Client> {
        let (host, session, options) = (wires::host(process), SESSION.as_millis(), self.dialect.options());
        let store = zookeeper::Store::from_url(format!("zookeeper://{host}/?session={session}ms{options}"))?;
        builder.in_this_runtime().connect_to(store).await
    }

    fn restart(&self) {
        self.server.restart(true);
    }

    fn befalls(&self, _: What) {}

    fn delete(&self, _: &Plan) -> Option<Delete> {
        None
    }

    fn record(&self) {
        self.server.record();
    }

    fn recorded(&self) -> Steps {
        Steps::ZooKeeper(self.server.recorded())
    }
}

impl Drop for ZooKeeper {
    fn drop(&mut self) {
        self.ticking.abort();
    }
}

impl Serve for Server {
    fn open(&self) -> (Box<dyn Session>, Outgoing) {
        let (connection, outgoing) = self.open();
        (Box::new(connection), outgoing)
    }
}

impl Session for Connection {
    fn received(&mut self, bytes: &[u8]) -> bool {
        self.received(bytes)
    }
}
