//! The holders of each name, and the violations among them.

use super::world::EPOCH;
use crate::history::{Kind, Violation, violation};
use cotter::{Guard, Mode};
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::Arc;
use tokio::time::Instant;

/// Everything that happened, and who believes to hold what.
#[derive(Debug)]
pub struct Ledger {
    origin: Instant,
    names: BTreeMap<&'static str, State>,
    next: u64,
    /// The history, a line for each event, if it is recorded.
    pub history: Option<Vec<String>>,
    /// The violations.
    pub violations: Vec<Violation>,
    /// Locks that were held.
    pub cycles: usize,
    /// Holders that were cut off from all members.
    pub(super) isolations: usize,
    /// Nothing goes wrong any more but single requests.
    pub(super) trouble_is_over: bool,
    /// Tokens of different processes are compared.
    orders_tokens: bool,
}

#[derive(Debug, Default)]
struct State {
    held: Vec<Held>,
    /// Every token that somebody has got: each is given out once, to whomever.
    given: HashSet<u64>,
    /// The largest token of a holder that believed in it, and of one with the name for itself.
    largest: u64,
    largest_exclusive: u64,
}

#[derive(Debug)]
struct Held {
    id: u64,
    mode: Mode,
    guard: Arc<Guard>,
    /// Somebody else has held it since, who could not have if this one did.
    passed: bool,
}

impl Ledger {
    /// The history of a run has a reader only if the run is replayed.
    pub(super) fn new(records: bool, orders_tokens: bool) -> Self {
        Self {
            origin: Instant::now(),
            names: BTreeMap::new(),
            next: 0,
            history: records.then(Vec::new),
            violations: Vec::new(),
            cycles: 0,
            isolations: 0,
            trouble_is_over: false,
            orders_tokens,
        }
    }

    /// Writes a line.
    pub(super) fn write(&mut self, who: &str, what: fmt::Arguments<'_>) {
        if let Some(history) = &mut self.history {
            let at = self.origin.elapsed();
            history.push(format!("{:>10.3} {who} {what}", at.as_secs_f64() * 1e3));
        }
    }

    /// Somebody has got a guard. Returns the number of the hold.
    pub(super) fn acquired(&mut self, who: &str, name: &'static str, mode: Mode, guard: Arc<Guard>) -> u64 {
        // Counted from the beginning of all runs, so that it is short.
        let token = guard.token().get();
        let short = token as i128 - EPOCH.as_micros() as i128;
        self.write(who, format_args!("{name} {mode:?} {short}"));
        self.cycles += 1;
        self.next += 1;
        let (id, valid) = (self.next, guard.is_valid());
        let state = self.names.entry(name).or_default();
        if !state.given.insert(token) && self.orders_tokens {
            let text = format!("{who} has {token} for {name}, which was given out before");
            self.violations.push(violation(Kind::RepeatedToken, text));
        }
        if valid {
            for other in state.held.iter_mut().filter(|other| excludes(other.mode, mode)) {
                other.passed = true;
                if other.guard.is_valid() {
                    let theirs = other.guard.token();
                    let text = format!("{who} holds {name} with {token} beside the holder of {theirs}");
                    self.violations.push(violation(Kind::Overlap, text));
                }
            }
            let before = if mode == Mode::Exclusive { state.largest } else { state.largest_exclusive };
            if token < before && self.orders_tokens {
                let text = format!("{who} has {token} for {name} after {before}");
                self.violations.push(violation(Kind::TokenOrder, text));
            }
            if let Mode::Permits { of, .. } = mode {
                let beside = state.held.iter().filter(|other| other.guard.is_valid());
                let taken = beside.map(|other| permits(other.mode)).sum::<u32>() + permits(mode);
                if taken > of {
                    let text = format!("{who} holds {name} beside others: {taken} permits of {of}");
                    self.violations.push(violation(Kind::PermitsOverLimit, text));
                }
            }
            state.largest = state.largest.max(token);
            if mode == Mode::Exclusive {
                state.largest_exclusive = state.largest_exclusive.max(token);
            }
        }
        state.held.push(Held { id, mode, guard, passed: false });
        id
    }

    /// Takes a hold out of the ledger, before its release.
    pub(super) fn releasing(&mut self, who: &str, name: &'static str, id: u64) {
        let state = self.names.entry(name).or_default();
        let at = state.held.iter().position(|h| h.id == id).expect("it is held");
        let held = state.held.swap_remove(at);
        let valid = held.guard.is_valid();
        if valid && held.passed {
            let text = format!("{who} believes to hold {name} again, after others have held it");
            self.violations.push(violation(Kind::UsedAfterLoss, text));
        }
        self.write(who, format_args!("{name} {}", if valid { "releases" } else { "has lost it" }));
    }

    /// A holder is cut off from all members.
    pub(super) fn isolated(&mut self, who: &str) {
        self.write(who, format_args!("is cut off"));
        self.isolations += 1;
    }

    pub(super) fn wrong(&mut self, kind: Kind, text: String) {
        self.violations.push(violation(kind, text));
    }

    /// The time of the run.
    pub(super) fn elapsed(&self) -> std::time::Duration {
        self.origin.elapsed()
    }
}

fn excludes(one: Mode, other: Mode) -> bool {
    one == Mode::Exclusive || other == Mode::Exclusive
}

fn permits(mode: Mode) -> u32 {
    match mode {
        Mode::Permits { take, .. } => take,
        _ => 0,
    }
}
