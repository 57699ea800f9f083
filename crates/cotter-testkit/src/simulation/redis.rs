//! A Redis server in memory, and what happens to it.

use super::member::micros;
use super::plan::{Plan, What};
use super::run::TTL;
use super::served::{Running, Served};
use super::steps::Steps;
use super::wires::{self, Connected, Outgoing, Received, Serve, Wires};
use super::world::{Delete, MemberClock};
use crate::faulty::Faults;
use crate::redis_in_memory::Server;
use async_trait::async_trait;
use cotter::clock::Clock;
use cotter::{Builder, Client, Result, redis};
use rand::RngExt;
use rand::rngs::StdRng;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How a Redis server is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "as in the URL")]
pub enum RedisMode {
    Native,
    Plain,
    Redisson,
    RedissonFair,
    RedissonReadWrite,
    RedissonPermits,
}

const MODES: [(RedisMode, &str, &str); 6] = [
    (RedisMode::Native, "redis", ""),
    (RedisMode::Plain, "redis-plain", "mode=plain"),
    (RedisMode::Redisson, "redisson", "mode=redisson"),
    (RedisMode::RedissonFair, "redisson-fair", "mode=redisson&recipe=fair"),
    (RedisMode::RedissonReadWrite, "redisson-rwlock", "mode=redisson&recipe=rwlock"),
    (RedisMode::RedissonPermits, "redisson-permits", "mode=redisson&recipe=permits"),
];

/// Bytes that are late arrive within this time.
const LATE: Duration = Duration::from_millis(600);
/// The longest pause before a connection is opened again.
const RECONNECTED: Duration = Duration::from_millis(1_250);

impl RedisMode {
    /// All of them, and the names of their stores.
    pub(super) fn all() -> impl Iterator<Item = (Self, &'static str)> {
        MODES.iter().map(|(mode, name, _)| (*mode, *name))
    }

    /// The options of a URL.
    fn options(self) -> &'static str {
        MODES.iter().find(|(mode, ..)| *mode == self).map_or("", |(.., options)| options)
    }
}

impl Served for RedisMode {
    fn start(&self, clock: MemberClock, links: Vec<Faults>) -> Box<dyn Running> {
        let back = Arc::<AtomicU64>::default();
        let behind = back.clone();
        let fine = FineClock::default();
        let server = Server::new(move || fine.after(micros(clock.wall()) - behind.load(Ordering::Relaxed)));
        let connected = Wires::connected(server.clone(), links, TTL);
        Box::new(Redis { mode: *self, server, back, _connected: connected })
    }

    fn trouble(&self, rng: &mut StdRng) -> What {
        match rng.random_range(0..8) {
            0..4 => What::Restart,
            // Only here does the one make up for the other.
            5.. if *self != Self::Native => What::Restart,
            4 => What::SetBack(Duration::from_millis(rng.random_range(1..1_000))),
            _ => {
                let (name, tail) =
                    (["a", "b", "c"][rng.random_range(0..3)], [":q", ":w"][rng.random_range(0..2)]);
                What::Lose { name, tail }
            }
        }
    }

    /// How this is derived: `docs/evidence.md`.
    fn longest_idle(&self, lease: Duration) -> Duration {
        let seconds = Duration::from_secs_f64;
        let poll = (lease / 3).clamp(seconds(0.5), seconds(5.0));
        match self {
            // One who is gone and whose place was not given up, another one who got the lock and does not say so, and one poll.
            Self::Native => (poll * 3).max(seconds(2.0)) + lease.min(seconds(2.0)) + poll,
            // What is left behind ends with its lease. Who has held the lock leaves it to others for half a second.
            Self::Plain => LATE + lease + seconds(0.5) + seconds(0.05) + RECONNECTED,
            // The first in line is waited for, and a message may be lost.
            _ => LATE + lease + seconds(1.5) + seconds(5.0),
        }
    }

    fn heals_itself(&self) -> bool {
        *self == Self::Native
    }

    /// In `plain`, each process has its own.
    fn orders_tokens(&self) -> bool {
        *self != Self::Plain
    }

    fn has_readers(&self) -> bool {
        matches!(self, Self::Native | Self::RedissonReadWrite)
    }

    fn has_permits(&self) -> bool {
        matches!(self, Self::Native | Self::RedissonPermits)
    }
}

/// The server, and the network that leads to it.
struct Redis {
    mode: RedisMode,
    server: Server,
    /// How far its clock was set back, in microseconds.
    back: Arc<AtomicU64>,
    _connected: Connected,
}

#[async_trait]
impl Running for Redis {
    async fn client(&self, process: usize, builder: Builder) -> Result<Client> {
        let url = format!("redis://{}:6379/?{}", wires::host(process), self.mode.options());
        builder.in_this_runtime().connect_to(redis::Store::from_url(url)?).await
    }

    fn restart(&self) {
        self.server.restart();
    }

    fn befalls(&self, what: What) {
        match what {
            What::Lose { name, tail } => lose(&self.server, name, tail),
            What::SetBack(by) => _ = self.back.fetch_add(by.as_micros() as u64, Ordering::Relaxed),
            _ => {}
        }
    }

    /// The tokens outlive it only if the clock was not set back.
    fn delete(&self, plan: &Plan) -> Option<Delete> {
        let was_set_back = plan.trouble.iter().any(|t| matches!(t.what, What::SetBack(_)));
        let server = self.server.clone();
        let delete = Arc::new(move |name: &str| lose(&server, name, ""));
        (self.mode == RedisMode::Native && !was_set_back).then_some(delete)
    }

    fn record(&self) {
        self.server.record();
    }

    fn recorded(&self) -> Steps {
        Steps::Redis(self.server.recorded())
    }
}

impl Serve for Server {
    fn open(&self) -> (Received, Outgoing) {
        let (mut session, outgoing) = self.open();
        (Box::new(move |bytes| session.received(bytes)), outgoing)
    }
}

/// Virtual time stands still for a whole millisecond, in which a real server has many different times.
#[derive(Default)]
struct FineClock(AtomicU64);

impl FineClock {
    /// A later time within the millisecond, or one near the beginning of another.
    fn after(&self, now: u64) -> u64 {
        let last = self.0.load(Ordering::Relaxed);
        let is_same = (last.saturating_sub(999)..=last).contains(&now);
        let at = if is_same { last + 1 } else { now + now / 1_000 * 37 % 500 };
        self.0.store(at, Ordering::Relaxed);
        at
    }
}

/// A lock is gone, or one of the keys beside it, which ends so.
fn lose(server: &Server, name: &str, tail: &str) {
    server.call(&[b"DEL".to_vec(), format!("cotter:{{{name}}}{tail}").into_bytes()]);
}
