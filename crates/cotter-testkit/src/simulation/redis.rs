//! A Redis server in memory, and what happens to it.

use super::member::micros;
use super::store::RedisMode;
use super::wires::{Connected, Wires};
use super::world::MemberClock;
use crate::faulty::Faults;
use crate::redis_in_memory::Server;
use cotter::clock::Clock;
use cotter::{Builder, Client, Result, redis};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The server, and the network that leads to it.
pub(super) struct Redis {
    mode: RedisMode,
    pub(super) server: Server,
    /// How far its clock was set back, in microseconds.
    back: Arc<AtomicU64>,
    _connected: Connected,
}

impl Redis {
    /// With a link from each process.
    pub(super) fn start(mode: RedisMode, clock: MemberClock, links: Vec<Faults>, ttl: Duration) -> Self {
        let back = Arc::<AtomicU64>::default();
        let behind = back.clone();
        let fine = FineClock::default();
        let server = Server::new(move || fine.after(micros(clock.wall()) - behind.load(Ordering::Relaxed)));
        Self { mode, server: server.clone(), back, _connected: Wires::connected(server, links, ttl) }
    }

    /// The client of a process.
    pub(super) async fn client(&self, process: usize, builder: Builder) -> Result<Client> {
        let store = redis::Store::from_url(Wires::url(process, self.mode.options()))?;
        builder.in_this_runtime().connect_to(store).await
    }

    pub(super) fn set_back(&self, by: Duration) {
        self.back.fetch_add(by.as_micros() as u64, Ordering::Relaxed);
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
pub(super) fn lose(server: &Server, name: &str, tail: &str) {
    server.call(&[b"DEL".to_vec(), format!("cotter:{{{name}}}{tail}").into_bytes()]);
}
