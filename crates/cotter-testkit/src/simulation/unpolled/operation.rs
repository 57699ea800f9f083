//! What can be asked of a client and of a guard.

use super::TTL;
use cotter::{Client, Guard, Leadership, Lease, Mode, MultiGuard, Owner, Result, Ticket, WriteGuard, multi};
use rand::RngExt;
use rand::rngs::StdRng;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// A lock that is held, as its holder has it.
pub(super) enum Holder {
    Guard(Guard),
    Writer(WriteGuard),
    Several(MultiGuard),
    Leader(Leadership),
}

impl Holder {
    pub(super) fn guards(&self) -> &[Guard] {
        match self {
            Self::Guard(guard) => std::slice::from_ref(guard),
            Self::Writer(guard) => std::slice::from_ref(guard),
            Self::Several(guards) => guards.guards(),
            Self::Leader(guard) => std::slice::from_ref(guard),
        }
    }
}

/// What an operation has come to.
pub(super) enum Came {
    To(String),
    Held(Holder),
    Ticket(Ticket),
}

pub(super) type Future_ = Pin<Box<dyn Future<Output = Came> + Send>>;

/// An operation that was asked for.
pub(super) struct Operation {
    pub(super) what: String,
    pub(super) future: Future_,
    /// The longest time that it may take while it is polled, whatever others do; `None` if it waits for others.
    pub(super) within: Option<Duration>,
    /// The owner that it asks for.
    pub(super) owner: Option<usize>,
    /// What it gets was granted before: by a downgrade, or to a ticket.
    pub(super) goes_on: bool,
}

/// The patience of the checks with an operation that does not wait for others: two names, at each an attempt and a release that
/// nobody polls, and requests that are repeated.
const PROMPT: Duration = Duration::from_secs(12);

impl Operation {
    pub(super) fn new<T: 'static>(
        what: impl Into<String>,
        future: impl Future<Output = Result<T>> + Send + 'static,
        came: impl FnOnce(T) -> Came + Send + 'static,
    ) -> Self {
        let future = Box::pin(async move {
            match future.await {
                Ok(answer) => came(answer),
                Err(e) => Came::To(format!("{:?}", e.kind())),
            }
        });
        Self { what: what.into(), future, within: Some(PROMPT), owner: None, goes_on: false }
    }

    fn waits(self) -> Self {
        Self { within: None, ..self }
    }

    fn waits_for(self, wait: Duration) -> Self {
        Self { within: Some(PROMPT + wait), what: format!("{} for {wait:?}", self.what), ..self }
    }

    fn of_owner(self, owner: Option<usize>) -> Self {
        Self { owner, ..self }
    }

    pub(super) fn going_on(self) -> Self {
        Self { goes_on: true, ..self }
    }
}

fn held<G>(holder: impl FnOnce(G) -> Holder + Send + 'static) -> impl FnOnce(G) -> Came + Send {
    |guard| Came::Held(holder(guard))
}

fn perhaps<G>(holder: impl FnOnce(G) -> Holder + Send + 'static) -> impl FnOnce(Option<G>) -> Came + Send {
    |guard| guard.map_or_else(|| Came::To("None".to_owned()), |guard| Came::Held(holder(guard)))
}

pub(super) fn told<T: std::fmt::Debug>(answer: T) -> Came {
    Came::To(format!("{answer:?}"))
}

fn done<T>(_: T) -> Came {
    Came::To("done".to_owned())
}

fn plain<G: Into<Guard>>(guard: G) -> Holder {
    Holder::Guard(guard.into())
}

pub(super) fn millis(rng: &mut StdRng, most: u64) -> Duration {
    Duration::from_millis(rng.random_range(0..=most))
}

fn lease(rng: &mut StdRng) -> Lease {
    match rng.random_range(0..6) {
        0 => Lease::fixed(TTL),
        1 => Lease::renewed(TTL).max_hold(TTL * 2),
        _ => Lease::renewed(TTL),
    }
}

/// One of the operations of a client that its store has.
pub(super) fn of_client(client: &Client, owners: &[Owner], rng: &mut StdRng) -> Operation {
    let owner = rng.random_bool(0.4).then(|| rng.random_range(0..owners.len()));
    let (mine, has) = (owner.map(|n| &owners[n]), client.info().capabilities);
    match rng.random_range(0..20) {
        8..13 if has.shared => readers(client, mine, rng).of_owner(owner),
        13..15 if has.permits => permits(client, rng),
        15..17 if has.notes && has.records => elections(client, rng),
        17 if has.swap => latches(client, rng),
        18.. if has.notes && has.swap => notes(client, rng),
        _ => exclusive(client, mine, rng).of_owner(owner),
    }
}

fn exclusive(client: &Client, owner: Option<&Owner>, rng: &mut StdRng) -> Operation {
    let lease = lease(rng);
    let mutex = |name: &str| {
        let mutex = client.mutex(name).lease(lease);
        owner.map_or_else(|| mutex.clone(), |owner| mutex.clone().owner(owner))
    };
    let (name, wait) = (["a", "b"][rng.random_range(0..2)], millis(rng, 500));
    let both = || multi([&mutex("a"), &mutex("b")]);
    match rng.random_range(0..8) {
        0..3 => Operation::new(format!("lock {name}"), mutex(name).lock(), held(plain)).waits(),
        3 => Operation::new(format!("try_lock {name}"), mutex(name).try_lock(), perhaps(plain)),
        4 => Operation::new(format!("try_lock {name}"), mutex(name).try_lock_for(wait), perhaps(plain))
            .waits_for(wait),
        5 => Operation::new("lock both", both().lock(), held(Holder::Several)).waits(),
        6 => Operation::new("try_lock both", both().try_lock(), perhaps(Holder::Several)),
        _ => Operation::new("try_lock both", both().try_lock_for(wait), perhaps(Holder::Several))
            .waits_for(wait),
    }
}

fn readers(client: &Client, owner: Option<&Owner>, rng: &mut StdRng) -> Operation {
    let (name, wait) = (["a", "b"][rng.random_range(0..2)], millis(rng, 500));
    let lock = client.rwlock(name).lease(lease(rng));
    let lock = owner.map_or_else(|| lock.clone(), |owner| lock.clone().owner(owner));
    match rng.random_range(0..6) {
        0 => Operation::new(format!("read {name}"), lock.read(), held(plain)).waits(),
        1 => Operation::new(format!("write {name}"), lock.write(), held(Holder::Writer)).waits(),
        2 => Operation::new(format!("try_read {name}"), lock.try_read(), perhaps(plain)),
        3 => Operation::new(format!("try_write {name}"), lock.try_write(), perhaps(Holder::Writer)),
        4 => Operation::new(format!("try_read {name}"), lock.try_read_for(wait), perhaps(plain))
            .waits_for(wait),
        _ => Operation::new(format!("try_write {name}"), lock.try_write_for(wait), perhaps(Holder::Writer))
            .waits_for(wait),
    }
}

fn permits(client: &Client, rng: &mut StdRng) -> Operation {
    let (take, wait) = (rng.random_range(1..=2), millis(rng, 500));
    let permits = client.semaphore("permits", 2).take(take).lease(lease(rng));
    match rng.random_range(0..3) {
        0 => Operation::new(format!("acquire {take}"), permits.acquire(), held(plain)).waits(),
        1 => Operation::new(format!("try_acquire {take}"), permits.try_acquire(), perhaps(plain)),
        _ => Operation::new(format!("try_acquire {take}"), permits.try_acquire_for(wait), perhaps(plain))
            .waits_for(wait),
    }
}

fn elections(client: &Client, rng: &mut StdRng) -> Operation {
    let (election, wait) = (client.election("leader"), millis(rng, 500));
    match rng.random_range(0..5) {
        0 | 1 => Operation::new("campaign", election.campaign(), held(Holder::Leader)).waits(),
        2 => Operation::new("campaign", election.campaign_for(wait), perhaps(Holder::Leader)).waits_for(wait),
        3 => Operation::new("leader", election.leader(), done),
        _ => {
            let mut watch = election.watch();
            let next = async move {
                let _ = watch.changed().await?;
                watch.changed().await
            };
            Operation::new("observe", next, done).waits()
        }
    }
}

fn latches(client: &Client, rng: &mut StdRng) -> Operation {
    let (latch, wait) = (client.latch("latch"), millis(rng, 2_000));
    match rng.random_range(0..6) {
        0 => Operation::new("create", latch.create(2), done),
        1 => Operation::new("count_down", latch.count_down(rng.random_range(0..2).to_string()), told),
        2 => Operation::new("wait", latch.wait(), told).waits(),
        3 => Operation::new("wait", latch.wait_for(wait), told).waits_for(wait),
        4 => Operation::new("state", latch.state(), done),
        _ => Operation::new("delete", latch.delete(), told),
    }
}

fn notes(client: &Client, rng: &mut StdRng) -> Operation {
    let (name, wait) = (["a", "b"][rng.random_range(0..2)], millis(rng, 2_000));
    match rng.random_range(0..4) {
        0 => Operation::new("note", client.note(name), done),
        1 => Operation::new("swap_note", client.swap_note(name, "swapped", 0, "x"), done),
        2 => Operation::new("holder", client.holder(name), done),
        _ => Operation::new("note_changed", client.note_changed(name, "", 0, wait), done).waits_for(wait),
    }
}

/// One that borrows a guard, whose holder keeps it.
pub(super) fn of_guard(client: &Client, guard: &Guard, rng: &mut StdRng) -> Operation {
    let has_notes = client.info().capabilities.notes;
    match rng.random_range(0..7) {
        0 => Operation::new("extend", guard.extend(TTL), told),
        // The store keeps the note of the largest token, also among holders that share the name.
        1..5 if has_notes && guard.mode() == Mode::Exclusive => {
            Operation::new("put_note", guard.put_note(rng.random_range(0..9).to_string()), told)
        }
        1..6 => {
            let expiring = guard.expiring(millis(rng, 300));
            Operation::new("expiring", async move { Ok(expiring.await.is_ok()) }, told).waits()
        }
        _ => {
            let lost = guard.lost();
            Operation::new("lost", async move { Ok(lost.await.cause) }, told).waits()
        }
    }
}

/// One that ends a guard.
pub(super) fn ending(client: &Client, holder: Holder, rng: &mut StdRng) -> Operation {
    let (way, rest, has) = (rng.random_range(0..6), millis(rng, 400), client.info().capabilities);
    let guard = match holder {
        Holder::Writer(guard) if way < 4 && has.downgrade => {
            let came = |guard| Came::Held(plain::<cotter::ReadGuard>(guard));
            return Operation::new("downgrade", guard.downgrade(), came).going_on();
        }
        Holder::Leader(leader) if way < 2 => return Operation::new("resign", leader.resign(), told),
        Holder::Several(guards) if way < 3 => return Operation::new("release both", guards.release(), told),
        Holder::Several(guards) => return Operation::new("finish both", guards.finish(), told),
        Holder::Guard(guard) => guard,
        Holder::Writer(guard) => guard.into(),
        Holder::Leader(leader) => leader.into(),
    };
    match way {
        0 | 1 => Operation::new("release", guard.release(), told),
        4.. if has.tickets => Operation::new("into_ticket", guard.into_ticket(TTL * 2), Came::Ticket),
        2 => Operation::new("finish", guard.finish(), told),
        _ => Operation::new(format!("keep_for {rest:?}"), guard.keep_for(rest), told),
    }
}

/// One that uses a ticket.
pub(super) fn of_ticket(client: &Client, ticket: &Ticket, rng: &mut StdRng) -> Operation {
    match rng.random_range(0..4) {
        0 | 1 => Operation::new("resume", client.resume(ticket), held(plain)).going_on(),
        2 => Operation::new("extend_ticket", client.admin().extend_ticket(ticket, TTL * 2), told),
        _ => Operation::new("release_ticket", client.admin().release_ticket(ticket), told),
    }
}
