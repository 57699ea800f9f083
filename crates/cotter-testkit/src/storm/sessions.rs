//! A database whose sessions are ended, one or all at a time, and which crashes and comes back.

use crate::processes::{Outcome, Trouble};
use crate::servers::{Database, Mariadb, Postgres};
use crate::{Deck, now};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::io;
use std::ops::Range;
use std::time::{Duration, Instant};

/// The plan, and how much of it came true.
#[derive(Debug)]
pub struct Sessions {
    server: Box<dyn Database>,
    /// Its URL, to which options are added.
    url: String,
    rng: StdRng,
    deck: Deck<Fault>,
    next: Instant,
    planned: usize,
    confirmed: Vec<Fault>,
    ended: Vec<(u64, u64)>,
}

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// One session is ended.
    One,
    /// All sessions are ended at once.
    All,
    /// The whole server crashes, and comes back.
    Crash,
}

const EVERY: Range<u64> = 600..1_500;
/// How often of ten times. A run that is over has met all three.
const KINDS: [(Fault, usize); 3] = [(Fault::One, 7), (Fault::All, 2), (Fault::Crash, 1)];

impl Sessions {
    /// Begins, on a new PostgreSQL server. The URL names its socket: no password is asked for, which in a debug build costs more than
    /// all else when a session is opened.
    ///
    /// # Panics
    /// When the server does not start.
    pub fn on_postgres(seed: u64) -> Self {
        let server = Postgres::start();
        server.migrate_all();
        Self::begin(server.socket_url(""), server, seed)
    }

    /// Begins, on a new MariaDB server.
    ///
    /// # Panics
    /// When the server does not start.
    pub fn on_mariadb(seed: u64) -> Self {
        let server = Mariadb::start();
        server.migrate_all();
        Self::begin(server.url(""), server, seed)
    }

    fn begin(url: String, server: impl Database + 'static, seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let next = Instant::now() + pause(&mut rng);
        Self {
            server: Box::new(server),
            url,
            rng,
            deck: Deck::of(&KINDS),
            next,
            planned: 0,
            confirmed: Vec::new(),
            ended: Vec::new(),
        }
    }

    /// The URL of the server.
    pub fn url(&self, options: &str) -> String {
        format!("{}{options}", self.url)
    }
}

impl Trouble for Sessions {
    fn step(&mut self) -> io::Result<()> {
        if Instant::now() < self.next {
            return Ok(());
        }
        self.planned += 1;
        let began = now();
        let fault = self.deck.draw(&mut self.rng);
        let is_confirmed = match fault {
            Fault::One => self.server.end_one_session(),
            Fault::All => self.server.end_sessions() > 0,
            Fault::Crash => {
                self.server.restart();
                true
            }
        };
        self.confirmed.extend(is_confirmed.then_some(fault));
        self.ended.push((began, now()));
        self.next = Instant::now() + pause(&mut self.rng);
        Ok(())
    }

    fn so_far(&self) -> (usize, usize) {
        (self.planned, self.confirmed.len())
    }

    fn lacks(&self) -> Option<String> {
        let missing = KINDS.iter().find(|(fault, _)| !self.confirmed.contains(fault));
        missing.map(|(fault, _)| format!("sessions: nothing of the kind {fault:?} has happened"))
    }

    fn end(&mut self) -> io::Result<Outcome> {
        Ok(Outcome {
            planned: self.planned,
            confirmed: self.confirmed.len(),
            ended: std::mem::take(&mut self.ended),
            ..Outcome::default()
        })
    }
}

fn pause(rng: &mut StdRng) -> Duration {
    Duration::from_millis(rng.random_range(EVERY))
}
