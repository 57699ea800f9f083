//! Faults, by seed or by order, and how often they happened.

#[cfg(feature = "in-memory")]
mod wire;

#[cfg(feature = "in-memory")]
pub(crate) use wire::Passage;

use cotter::clock::Clock;
use cotter::{Error, ErrorKind, Result};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// One method of the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Call {
    /// `acquire` and `take`.
    Acquire,
    /// `extend`.
    Extend,
    /// `release`.
    Release,
    /// `downgrade`.
    Change,
    /// The second phase of a quorum.
    Raise,
    /// Everything about notes, but for the next.
    Note,
    /// The second phase of a swap.
    Accept,
    /// `list`, `evict`, `diagnose`, `time`.
    Look,
}

/// How much goes wrong.
#[derive(Debug, Clone, Copy, Default)]
pub struct Plan {
    /// Calls wait for up to so long before they reach the store.
    pub before: Duration,
    /// Answers take up to so long.
    pub after: Duration,
    /// This part of the calls is carried out, and answered with an unknown outcome.
    pub lost_replies: f64,
    /// This part of the acquisitions, releases and swaps is answered with an unknown outcome at once, and carried out up to
    /// two leases later.
    pub late_requests: f64,
    /// This part of the calls is refused.
    pub refused: f64,
    /// No renewal gets through.
    pub renewals_fail: bool,
    /// Nothing gets through.
    pub down: bool,
    /// Notes are denied, as by an access list.
    pub notes_denied: bool,
    /// Releases are denied, as by a table that is renamed for a moment.
    pub releases_denied: bool,
    /// Every renewal blocks the thread that carries it out, as a frozen process would be.
    pub freeze: Duration,
}

/// How often something went wrong.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Calls that had to wait before or after.
    pub delayed: usize,
    /// Replies that were lost.
    pub lost_replies: usize,
    /// Requests that came late.
    pub late_requests: usize,
    /// Calls that were refused.
    pub refused: usize,
    /// Calls that waited at a gate.
    pub gated: usize,
}

impl Counts {
    /// The sum of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            delayed: self.delayed + other.delayed,
            lost_replies: self.lost_replies + other.lost_replies,
            late_requests: self.late_requests + other.late_requests,
            refused: self.refused + other.refused,
            gated: self.gated + other.gated,
        }
    }
}

/// The fate of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Through,
    LoseReply,
    /// After this time, or after any within two leases.
    Late(Duration),
}

/// Where calls wait until it is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gate {
    Request(Call),
    Answer(Call),
}

/// Decides what goes wrong. Cloning gives another handle.
#[derive(Debug, Clone)]
pub struct Faults(Arc<State>);

#[derive(Debug)]
struct State {
    inner: Mutex<Inner>,
    closed: watch::Sender<Vec<Gate>>,
    down: watch::Sender<bool>,
}

#[derive(Debug)]
struct Inner {
    plan: Plan,
    rng: StdRng,
    counts: Counts,
    calls: HashMap<Call, usize>,
    /// The fate of the next call of a kind.
    orders: Vec<(Call, Fate)>,
}

impl Faults {
    /// Nothing goes wrong until a plan or an order says so.
    pub fn seeded(seed: u64) -> Self {
        let inner = Inner {
            plan: Plan::default(),
            rng: StdRng::seed_from_u64(seed),
            counts: Counts::default(),
            calls: HashMap::new(),
            orders: Vec::new(),
        };
        let (closed, down) = (watch::Sender::new(Vec::new()), watch::Sender::new(false));
        Self(Arc::new(State { inner: Mutex::new(inner), closed, down }))
    }

    /// From now on this much goes wrong.
    pub fn set(&self, plan: Plan) {
        self.lock().plan = plan;
        self.0.down.send_replace(plan.down);
    }

    /// The next call of this kind is carried out and its reply is lost.
    pub fn lose_next_reply(&self, call: Call) {
        self.lock().orders.push((call, Fate::LoseReply));
    }

    /// The next call of this kind is answered with an unknown outcome at once, and carried out so much later.
    pub fn delay_next(&self, call: Call, by: Duration) {
        self.lock().orders.push((call, Fate::Late(by)));
    }

    /// Calls of this kind wait before they reach the store, until the gate is opened.
    pub fn block(&self, call: Call) {
        self.0.closed.send_modify(|closed| closed.push(Gate::Request(call)));
    }

    /// Calls of this kind are carried out, and are not answered until the gate is opened.
    pub fn hold_answers(&self, call: Call) {
        self.0.closed.send_modify(|closed| closed.push(Gate::Answer(call)));
    }

    /// Lets all through that wait at a gate.
    pub fn open(&self) {
        self.0.closed.send_modify(Vec::clear);
    }

    /// The faults so far.
    pub fn counts(&self) -> Counts {
        self.lock().counts
    }

    /// How many calls of this kind were made, whatever became of them.
    pub fn calls(&self, call: Call) -> usize {
        self.lock().calls.get(&call).copied().unwrap_or(0)
    }

    /// Before the store is asked: counts, waits, refuses.
    pub(super) async fn begin(&self, call: Call, clock: &dyn Clock) -> Result<Fate> {
        let (pause, fate) = self.lock().decide(call);
        self.pass(Gate::Request(call)).await;
        sleep(clock, pause).await;
        fate
    }

    /// Waits until a gate is open.
    async fn pass(&self, gate: Gate) {
        let mut closed = self.0.closed.subscribe();
        if closed.borrow().contains(&gate) {
            self.lock().counts.gated += 1;
            let _ = closed.wait_for(|closed| !closed.contains(&gate)).await;
        }
    }

    /// After the store has answered.
    pub(super) async fn end(&self, call: Call, clock: &dyn Clock) {
        self.pass(Gate::Answer(call)).await;
        let pause = {
            let mut inner = self.lock();
            let longest = inner.plan.after;
            inner.up_to(longest)
        };
        sleep(clock, pause).await;
    }

    /// When a late request arrives.
    pub(super) fn lateness(&self, by: Duration, ttl: Duration) -> Duration {
        if by.is_zero() { self.lock().up_to(ttl * 2) } else { by }
    }

    /// For how long a renewal blocks its thread.
    pub(super) fn freeze(&self) -> Duration {
        self.lock().plan.freeze
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn decide(&mut self, call: Call) -> (Duration, Result<Fate>) {
        *self.calls.entry(call).or_default() += 1;
        let pause = self.up_to(self.plan.before);
        self.counts.delayed += usize::from(!pause.is_zero());
        if self.refuses(call) {
            self.counts.refused += 1;
            let error = Error::new(ErrorKind::Unavailable, "the store is made to refuse");
            return (pause, Err(error.with_backend("faulty")));
        }
        if call == Call::Note && self.plan.notes_denied {
            let error = Error::new(ErrorKind::Denied, "the store is made to deny notes");
            return (pause, Err(error.with_backend("faulty")));
        }
        if call == Call::Release && self.plan.releases_denied {
            self.counts.refused += 1;
            let error = Error::new(ErrorKind::Denied, "the store is made to deny releases");
            return (pause, Err(error.with_backend("faulty")));
        }
        let fate = self.fate(call);
        self.counts.lost_replies += usize::from(fate == Fate::LoseReply);
        self.counts.late_requests += usize::from(matches!(fate, Fate::Late(_)));
        (pause, Ok(fate))
    }

    fn refuses(&mut self, call: Call) -> bool {
        let renewal = call == Call::Extend && self.plan.renewals_fail;
        renewal || self.plan.down || self.happens(self.plan.refused)
    }

    fn fate(&mut self, call: Call) -> Fate {
        if let Some(at) = self.orders.iter().position(|(c, _)| *c == call) {
            return self.orders.swap_remove(at).1;
        }
        let can_be_late = matches!(call, Call::Acquire | Call::Release | Call::Accept);
        if can_be_late && self.happens(self.plan.late_requests) {
            return Fate::Late(Duration::ZERO);
        }
        if self.happens(self.plan.lost_replies) { Fate::LoseReply } else { Fate::Through }
    }

    fn happens(&mut self, part: f64) -> bool {
        part > 0.0 && self.rng.random_bool(part)
    }

    fn up_to(&mut self, longest: Duration) -> Duration {
        if longest.is_zero() {
            return longest;
        }
        longest.mul_f64(self.rng.random_range(0.0..1.0))
    }
}

async fn sleep(clock: &dyn Clock, pause: Duration) {
    if !pause.is_zero() {
        clock.sleep_until(clock.now() + pause).await;
    }
}
