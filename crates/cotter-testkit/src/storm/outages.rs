//! Faults of the server itself, and whether they happened.

use crate::servers::{Redis, Wire};
use cotter::{Client, Eviction};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::io;
use std::ops::Range;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};

/// The plan, and how much of it came true.
#[derive(Debug)]
pub(super) struct Outages {
    wire: Wire,
    admin: (Runtime, Client),
    names: Vec<String>,
    rng: StdRng,
    next_kill: Instant,
    next_eviction: Instant,
    next_full: Instant,
    full_until: Option<Instant>,
    planned: usize,
    confirmed: Vec<Fault>,
}

/// What is done to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// Its subscriptions are ended.
    Kill,
    /// A holder is evicted.
    Eviction,
    /// It has no memory left.
    Full,
}

const KILL_EVERY: Range<u64> = 700..1300;
const EVICT_EVERY: Range<u64> = 400..800;
const FULL_EVERY: Range<u64> = 2000..4000;
const FULL_FOR: Range<u64> = 50..300;

impl Outages {
    pub(super) fn plan(server: &Redis, names: &[String], seed: u64) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let client = runtime.block_on(Client::connect(server.url(""))).map_err(io::Error::other)?;
        let mut rng = StdRng::seed_from_u64(seed);
        let now = Instant::now();
        Ok(Self {
            wire: Wire::open(server.port())?,
            admin: (runtime, client),
            names: names.to_vec(),
            next_kill: now + millis(KILL_EVERY, &mut rng),
            next_eviction: now + millis(EVICT_EVERY, &mut rng),
            next_full: now + millis(FULL_EVERY, &mut rng),
            full_until: None,
            planned: 0,
            confirmed: Vec::new(),
            rng,
        })
    }

    pub(super) fn step(&mut self) -> io::Result<()> {
        let now = Instant::now();
        if now >= self.next_kill {
            self.next_kill = now + millis(KILL_EVERY, &mut self.rng);
            let killed = self.wire.command(&["CLIENT", "KILL", "TYPE", "pubsub"])?;
            self.count(Fault::Kill, killed.parse::<u32>().is_ok_and(|n| n > 0));
        }
        if now >= self.next_eviction {
            self.next_eviction = now + millis(EVICT_EVERY, &mut self.rng);
            let evicted = self.evict();
            self.count(Fault::Eviction, evicted);
        }
        if now >= self.next_full {
            self.next_full = now + millis(FULL_EVERY, &mut self.rng);
            self.full_until = Some(now + millis(FULL_FOR, &mut self.rng));
            self.wire.command(&["CONFIG", "SET", "maxmemory", "1"])?;
            let refused = self.wire.command(&["SET", "full", "?"])?;
            self.count(Fault::Full, refused.starts_with("OOM"));
        }
        if self.full_until.is_some_and(|until| now >= until) {
            self.empty()?;
        }
        Ok(())
    }

    /// Marks a holder, at whatever name has one.
    fn evict(&mut self) -> bool {
        let (runtime, client) = &self.admin;
        let first = self.rng.random_range(0..self.names.len());
        let (before, from) = self.names.split_at(first);
        from.iter()
            .chain(before)
            .any(|name| matches!(runtime.block_on(client.admin().evict(name)), Ok(Eviction::Evicted { .. })))
    }

    fn count(&mut self, fault: Fault, is_confirmed: bool) {
        self.planned += 1;
        self.confirmed.extend(is_confirmed.then_some(fault));
    }

    /// How much was planned and how much came true.
    pub(super) fn so_far(&self) -> (usize, usize) {
        (self.planned, self.confirmed.len())
    }

    /// Each kind has to come true.
    pub(super) fn lacks(&self) -> Option<String> {
        let kinds = [Fault::Kill, Fault::Eviction, Fault::Full];
        let missing = kinds.iter().find(|fault| !self.confirmed.contains(fault));
        missing.map(|fault| format!("outages: nothing of the kind {fault:?} has happened"))
    }

    fn empty(&mut self) -> io::Result<()> {
        self.full_until = None;
        self.wire.command(&["CONFIG", "SET", "maxmemory", "0"]).map(drop)
    }

    pub(super) fn end(&mut self) -> io::Result<()> {
        self.empty()
    }
}

fn millis(range: Range<u64>, rng: &mut StdRng) -> Duration {
    Duration::from_millis(rng.random_range(range))
}
