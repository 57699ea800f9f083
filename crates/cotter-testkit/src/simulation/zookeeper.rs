//! A ZooKeeper server in memory, and what happens to it.

use super::plan::{Plan, What};
use super::run::TTL;
use super::served::{Running, Served};
use super::steps::Steps;
use super::wires::{self, Connected, Outgoing, Received, Serve, Wires};
use super::world::{Delete, MemberClock};
use crate::faulty::Faults;
use crate::zookeeper_in_memory::{Leader, Server};
use async_trait::async_trait;
use cotter::clock::Clock;
use cotter::{Builder, Client, Result, zookeeper};
use rand::RngExt;
use rand::rngs::StdRng;
use std::sync::Arc;
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
/// A session of which nothing is heard has ended after this time: at a whole tick, counted from when the leader was told.
const ENDED: Duration = SESSION.saturating_add(TICK).saturating_add(TICK);
/// The longest pause before a connection is opened again, or a release is repeated.
const RECONNECTED: Duration = Duration::from_millis(1_250);
/// A waiter that does not take its turn is passed over by the next look after this time.
const PASSED_OVER: Duration = Duration::from_millis(1_200 + 500);

impl ZooKeeperDialect {
    /// All of them, and the names of their stores.
    pub(super) fn all() -> impl Iterator<Item = (Self, &'static str)> {
        DIALECTS.iter().map(|(dialect, name, _)| (*dialect, *name))
    }

    /// The folder of the places of a name.
    fn line(self, name: &str) -> String {
        if self == Self::Own { format!("/cotter/lock/{name}") } else { format!("/{name}") }
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
        let leader = if links[0].coin() { Leader::Same } else { Leader::Other };
        let server = Server::new(millis, leader, TICK.as_millis() as u64);
        let connected = Wires::connected(server.clone(), links, TTL);
        let ticking = tokio::spawn(tick(server.clone()));
        Box::new(ZooKeeper { dialect: *self, server, ticking, _connected: connected })
    }

    fn trouble(&self, rng: &mut StdRng) -> What {
        match rng.random_range(0..8) {
            0..4 => What::Restart,
            4 => What::ClearUp,
            5 => What::StandStill(SESSION.mul_f64(rng.random_range(0.0..1.5))),
            _ => What::LoseWaiter(["a", "b", "c"][rng.random_range(0..3)]),
        }
    }

    fn lease(&self) -> Duration {
        SESSION
    }

    /// How this is derived: `docs/evidence.md`.
    fn longest_idle(&self, _: Duration) -> Duration {
        ENDED + RECONNECTED + PASSED_OVER
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

/// The mark of those who wait, in the data of a place.
const WAITS: &[u8] = b"\ncotter: waits";
/// The number that the server has appended to a place.
const DIGITS: usize = 10;

/// The places of a line, in order, and their data.
fn places(server: &Server, line: &str) -> Vec<(String, Vec<u8>)> {
    let mut places = server.children(line);
    places.sort_by_key(|(place, _)| place[place.len().saturating_sub(DIGITS)..].to_owned());
    places
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
        self.server.restart();
    }

    fn befalls(&self, what: What) {
        let server = &self.server;
        match what {
            // Only those who wait have a mark.
            What::LoseWaiter(name) => {
                let line = self.dialect.line(name);
                let waits = |data: &[u8]| data.windows(WAITS.len()).any(|part| part == WAITS);
                let waiter = places(server, &line).into_iter().rfind(|(_, data)| waits(data));
                waiter.map(|(place, _)| server.delete(&format!("{line}/{place}")));
            }
            What::ClearUp => server.clear_up(),
            What::StandStill(time) => {
                server.stand_still();
                let server = server.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(time).await;
                    server.go_on();
                });
            }
            _ => {}
        }
    }

    fn delete(&self, _: &Plan) -> Option<Delete> {
        let (server, dialect) = (self.server.clone(), self.dialect);
        Some(Arc::new(move |name: &str| {
            let line = dialect.line(name);
            let first = places(&server, &line).into_iter().next();
            first.map(|(place, _)| server.delete(&format!("{line}/{place}")));
        }))
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
    fn open(&self) -> (Received, Outgoing) {
        let (mut session, outgoing) = self.open();
        (Box::new(move |bytes| session.received(bytes)), outgoing)
    }
}
