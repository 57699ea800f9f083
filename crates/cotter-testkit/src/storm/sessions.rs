//! A database whose sessions are ended, one or all at a time, and which crashes and comes back.

use crate::now;
use crate::processes::{Outcome, Trouble};
use crate::servers::{Database, Mariadb, Postgres};
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
    next: Instant,
    planned: usize,
    confirmed: usize,
    ended: Vec<(u64, u64)>,
}

const EVERY: Range<u64> = 600..1_500;
/// This part of what is done is done to all sessions at once.
const ALL: f64 = 0.15;
/// In this part the whole server crashes.
const CRASHES: f64 = 0.05;

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
        Self { server: Box::new(server), url, rng, next, planned: 0, confirmed: 0, ended: Vec::new() }
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
        if self.rng.random_bool(CRASHES) {
            self.server.restart();
            self.confirmed += 1;
        } else if self.rng.random_bool(ALL) {
            self.confirmed += usize::from(self.server.end_sessions() > 0);
        } else {
            self.confirmed += usize::from(self.server.end_one_session());
        }
        self.ended.push((began, now()));
        self.next = Instant::now() + pause(&mut self.rng);
        Ok(())
    }

    fn confirmed(&self) -> usize {
        self.confirmed
    }

    fn end(&mut self) -> io::Result<Outcome> {
        Ok(Outcome {
            planned: self.planned,
            confirmed: self.confirmed,
            ended: std::mem::take(&mut self.ended),
            ..Outcome::default()
        })
    }
}

fn pause(rng: &mut StdRng) -> Duration {
    Duration::from_millis(rng.random_range(EVERY))
}
