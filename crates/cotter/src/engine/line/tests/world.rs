//! Tasks, an engine and a store around one line.

use super::store::{Attempt, Fate, Grant, Met, Store};
use crate::engine::line::request::{Request, Wait};
use crate::engine::line::state::{Seen, State};
use crate::engine::line::todo::Todo;
use crate::engine::line::waiter::Waiter;
use crate::{Lease, Mode, Name, Owner};
use cotter_testkit::history::{Kind, demand};
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Wake, Waker};

const TASKS: usize = 6;

pub(super) struct World {
    pub(super) seed: u64,
    pub(super) random: StdRng,
    pub(super) state: State<Grant>,
    pub(super) store: Store,
    pub(super) tasks: Vec<Task>,
    /// What the engine asks the store.
    pub(super) asker: Option<Asker>,
    pub(super) watch: Option<Seen<Attempt>>,
    /// The releases in flight.
    pub(super) releases: Vec<Release>,
    /// The line is not in the map.
    pub(super) is_retired: bool,
    pub(super) met: Met,
}

#[derive(Debug)]
pub(super) struct Task {
    pub(super) request: Request,
    pub(super) at: At,
    /// It is not polled.
    pub(super) sleeps: bool,
    /// The number of times that it waited for a wake-up.
    waits: u32,
    wakes: Arc<Wakes>,
}

#[derive(Debug)]
pub(super) enum At {
    Away,
    /// Its first attempt is in flight.
    Trying(Arc<Attempt>),
    Queued(Arc<Waiter<Arc<Grant>>>),
    /// It waits until nothing is in flight.
    UntilQuiet,
    Holding(Arc<Grant>),
}

#[derive(Debug)]
pub(super) enum Asker {
    /// About to ask for whoever is first.
    Between,
    /// A question is in flight, on behalf of this waiter. It may be an attempt that the engine has taken over.
    Asking { head: Arc<Waiter<Arc<Grant>>>, is_attempt: bool },
}

#[derive(Debug)]
pub(super) struct Release {
    pub(super) id: u64,
    /// Its task may never look at the answer.
    pub(super) is_with_a_task: bool,
}

#[derive(Debug, Default)]
pub(super) struct Wakes(AtomicU32);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Task {
    /// Some wait, some do not; some are readers, and some have an owner.
    fn new(at: usize, owners: &[Owner; 2]) -> Self {
        let request = Request {
            name: Name::new("a").unwrap(),
            mode: if at % 3 == 2 { Mode::Shared } else { Mode::Exclusive },
            lease: Lease::default(),
            owner: at.is_multiple_of(2).then(|| owners[at / 2 % 2].clone()),
            wait: if at == 1 { Wait::No } else { Wait::Forever },
            alone: false,
        };
        Self { request, at: At::Away, sleeps: false, waits: 0, wakes: Arc::default() }
    }

    pub(super) fn waker(&self) -> Waker {
        self.wakes.clone().into()
    }

    /// It is pending.
    pub(super) fn waits_for_a_wake_up(&mut self) -> Waker {
        self.waits += u32::from(self.is_woken());
        self.waker()
    }

    pub(super) fn is_woken(&self) -> bool {
        self.wakes.0.load(Ordering::Relaxed) == self.waits
    }

    pub(super) fn is_woken_once(&self) -> bool {
        self.wakes.0.load(Ordering::Relaxed) <= self.waits
    }

    /// Its future is gone; whoever still has the waker wakes nobody.
    pub(super) fn forgets_its_waker(&mut self) {
        (self.waits, self.wakes) = (0, Arc::default());
    }

    pub(super) fn was_given_a_share(&self) -> bool {
        let is_share = |waiter: &Waiter<_>| waiter.is_given() && !waiter.request.mode.is_exclusive();
        match &self.at {
            At::Trying(attempt) => is_share(&attempt.waiter),
            At::Queued(waiter) => is_share(waiter),
            At::Away | At::UntilQuiet | At::Holding(_) => false,
        }
    }

    pub(super) fn holds(&self) -> Option<&Arc<Grant>> {
        let At::Holding(grant) = &self.at else { return None };
        Some(grant).filter(|grant| grant.fate.get() == Fate::Held)
    }
}

impl World {
    pub(super) fn new(seed: u64) -> Self {
        let owners = [Owner::new(), Owner::new()];
        Self {
            seed,
            random: StdRng::seed_from_u64(seed),
            state: State::default(),
            store: Store::default(),
            tasks: (0..TASKS).map(|at| Task::new(at, &owners)).collect(),
            asker: None,
            watch: None,
            releases: Vec::new(),
            is_retired: true,
            met: Met::default(),
        }
    }

    /// Does what has to follow a change, as the engine does.
    pub(super) fn carry_out(&mut self, todo: Todo) {
        let why = |what: &str| format!("seed {}: {what}", self.seed);
        if todo.ask {
            demand(self.asker.is_none(), Kind::TooEarly, why("two ask on behalf of one line"));
            demand(!self.is_trying(), Kind::TooEarly, why("the engine asks beside a first attempt"));
        }
        demand(!todo.watch || self.watch.is_none(), Kind::Void, why("a line is watched twice"));
        demand(!todo.retire || self.is_at_rest(), Kind::LostPlace, why("a line in use was retired"));
        todo.wake.into_iter().for_each(Waker::wake);
        self.is_retired = todo.retire || self.is_retired && self.state.is_unused();
        if todo.watch {
            self.met.note("watched");
            self.watch = Some(Seen::default());
        }
        if todo.ask {
            self.met.note("asked");
            self.asker = Some(Asker::Between);
        }
        for (what, is_met) in [("told", todo.tell), ("retired", todo.retire)] {
            if is_met {
                self.met.note(what);
            }
        }
    }

    pub(super) fn is_trying(&self) -> bool {
        self.tasks.iter().any(|task| matches!(&task.at, At::Trying(attempt) if !attempt.is_taken.get()))
    }

    /// Returns true if nobody here holds the lock, wants it, or waits for an answer of the store.
    pub(super) fn is_at_rest(&self) -> bool {
        // A reader without an owner is not in the line, nor is one who was told an error.
        let is_done = |waiter: &Waiter<_>| {
            !(waiter.is_open() || waiter.is_given() && waiter.request.mode.is_exclusive())
        };
        let rests = |task: &Task| match &task.at {
            At::Away | At::UntilQuiet => true,
            At::Holding(grant) => !grant.mode.is_exclusive() || grant.fate.get() != Fate::Held,
            At::Trying(attempt) => attempt.is_taken.get() && is_done(&attempt.waiter),
            At::Queued(waiter) => is_done(waiter),
        };
        self.asker.is_none() && self.releases.is_empty() && self.tasks.iter().all(rests)
    }
}
