//! A store with one name, and holds that need no store.

use crate::engine::line::state::Holding;
use crate::engine::line::waiter::Waiter;
use crate::{Mode, Owner};
use cotter_testkit::history::{Kind, demand};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A grant, which is its own guard: nobody enters one again here.
#[derive(Debug)]
pub(super) struct Grant {
    pub(super) id: u64,
    pub(super) mode: Mode,
    pub(super) owner: RefCell<Option<Owner>>,
    pub(super) fate: Cell<Fate>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Held,
    Expired,
    Evicted,
}

/// A first attempt in flight.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) waiter: Arc<Waiter<Arc<Grant>>>,
    pub(super) is_taken: Cell<bool>,
}

impl Holding for Grant {
    type Guard = Arc<Self>;
    type Attempt = Attempt;

    fn mode(&self) -> Mode {
        self.mode
    }

    fn has_owner(&self) -> bool {
        self.owner.borrow().is_some()
    }

    fn belongs_to(&self, owner: &Owner) -> bool {
        self.owner.borrow().as_ref() == Some(owner)
    }
}

#[derive(Debug, Default)]
pub(super) struct Store {
    granted: BTreeMap<u64, Mode>,
    last: u64,
    /// Another process holds it.
    pub(super) is_taken: bool,
}

impl Store {
    pub(super) fn acquire(&mut self, mode: Mode, owner: Option<Owner>) -> Option<Arc<Grant>> {
        let fits = |held: &Mode| !held.is_exclusive() && !mode.is_exclusive();
        if self.is_taken || !self.granted.values().all(fits) {
            return None;
        }
        self.last += 1;
        self.granted.insert(self.last, mode);
        let (owner, fate) = (RefCell::new(owner), Cell::new(Fate::Held));
        Some(Arc::new(Grant { id: self.last, mode, owner, fate }))
    }

    pub(super) fn free(&mut self, id: u64) {
        self.granted.remove(&id);
    }
}

/// How often each kind of event was met.
#[derive(Debug, Default)]
pub(super) struct Met(BTreeMap<&'static str, usize>);

const ALL: [&str; 16] = [
    "answered",
    "asked",
    "barred",
    "evicted",
    "expired",
    "failed",
    "left",
    "passed",
    "quiet",
    "recalled",
    "resumed",
    "retired",
    "served",
    "taken over",
    "told",
    "watched",
];

impl Met {
    pub(super) fn note(&mut self, what: &'static str) {
        debug_assert!(ALL.contains(&what), "{what} is not on the list");
        *self.0.entry(what).or_default() += 1;
    }

    pub(super) fn add(&mut self, other: &Self) {
        other.0.iter().for_each(|(what, count)| *self.0.entry(what).or_default() += count);
    }

    pub(super) fn demand_all(&self) {
        let missing: Vec<_> = ALL.iter().filter(|what| !self.0.contains_key(**what)).collect();
        demand(missing.is_empty(), Kind::Void, format!("never met: {missing:?}"));
    }
}
