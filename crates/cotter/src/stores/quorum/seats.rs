//! The members: their connections, and which of them are known to be silent.

use super::Shared;
use super::shortage::unreachable;
use crate::backend::{Acceptor, Backend, Host, Member};
use crate::join::enough;
use crate::sync::lock;
use crate::{Error, ErrorKind, Moment, Result};
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;

/// The members, as one connection sees them.
#[derive(Debug)]
pub(super) struct Seats {
    pub(super) host: Host,
    seats: Vec<Arc<Seat>>,
    pub(super) shared: Arc<Shared>,
}

/// One member. Its connection may come later.
#[derive(Debug)]
struct Seat {
    number: usize,
    backend: Mutex<Option<Arc<dyn Backend>>>,
    next_probe: Mutex<Moment>,
}

/// Whether a member answers; shared by all connections.
#[derive(Debug, Default)]
pub(super) struct Health {
    is_down: AtomicBool,
}

/// The time after which a silent member is looked for again.
const PROBE_PERIOD: Duration = Duration::from_secs(1);
/// A member may take this long for a connection; the others wait for it no longer than for an answer.
const PATIENCE: Duration = Duration::from_secs(3);

/// The answers of the members: `None` from those that were cut short.
pub(super) type Answers<T> = Vec<Option<Result<T>>>;

impl Seats {
    /// Connects to a majority, and to whoever else answers as soon. The others may come later.
    pub(super) async fn open(shared: &Arc<Shared>, host: &Host) -> Result<Self> {
        let seat = |number| Seat { number, backend: Mutex::default(), next_probe: Mutex::new(Moment::ZERO) };
        let seats: Vec<_> = (0..shared.members.len()).map(|number| Arc::new(seat(number))).collect();
        let seats = Self { host: host.clone(), seats, shared: shared.clone() };
        let connected = watch::Sender::new(0);
        let connects = seats.seats.iter().map(|seat| async {
            let made = seat.connect(shared, host).await;
            seats.heard(seat.number, made.as_ref().err(), false);
            connected.send_modify(|n| *n += usize::from(made.is_ok()));
            made
        });
        let (answers, _) = enough(connects, seats.others_are_late(connected.subscribe()), |_| false).await;
        let misconfigured = |a: &Option<Result<()>>| {
            a.as_ref()?.as_ref().err().filter(|e| e.kind() == ErrorKind::Config).cloned()
        };
        match answers.iter().find_map(misconfigured) {
            Some(error) => Err(error),
            None if *connected.borrow() < seats.majority() => Err(unreachable(&answers, seats.majority())),
            None => Ok(seats),
        }
    }

    /// Completes some time after a majority has connected, and in any case after a while.
    async fn others_are_late(&self, mut connected: watch::Receiver<usize>) {
        let (clock, began) = (self.host.clock(), self.now());
        tokio::select! {
            biased;
            _ = connected.wait_for(|n| *n >= self.majority()) => {}
            () = clock.sleep_until(began + PATIENCE) => return,
        }
        clock.sleep_until(self.now() + self.now().since(began) + self.shared.timeout).await;
    }

    pub(super) fn len(&self) -> usize {
        self.seats.len()
    }

    pub(super) fn majority(&self) -> usize {
        self.len() / 2 + 1
    }

    pub(super) fn now(&self) -> Moment {
        self.host.clock().now()
    }

    /// The connections there are.
    pub(super) fn backends(&self) -> impl Iterator<Item = (usize, Arc<dyn Backend>)> {
        self.seats.iter().filter_map(|seat| Some((seat.number, seat.backend()?)))
    }

    /// The members that are not known to be silent; all, if those are too few.
    pub(super) fn awake(&self) -> Vec<usize> {
        let awake: Vec<_> = (0..self.len()).filter(|seat| self.is_awake(*seat)).collect();
        if awake.len() < self.majority() { (0..self.len()).collect() } else { awake }
    }

    /// Whether a member is to be asked. One that is silent is looked for in the background, so that no request waits for
    /// it.
    pub(super) fn is_awake(&self, seat: usize) -> bool {
        let seat = &self.seats[seat];
        if seat.backend().is_some() && !self.shared.health[seat.number].is_down.load(Ordering::Acquire) {
            return true;
        }
        let (now, mut next) = (self.now(), lock(&seat.next_probe));
        if now >= *next {
            *next = now + PROBE_PERIOD;
            self.probe(seat);
        }
        false
    }

    fn probe(&self, seat: &Arc<Seat>) {
        let (seat, shared, host) = (seat.clone(), self.shared.clone(), self.host.clone());
        self.host.spawn(async move {
            let probing = async {
                match seat.backend() {
                    Some(backend) => backend.time().await.map(drop),
                    None => seat.connect(&shared, &host).await,
                }
            };
            tokio::select! {
                biased;
                answer = probing => shared.health[seat.number].set(answer.is_err()),
                () = host.clock().sleep_until(host.clock().now() + PATIENCE) => {}
            }
        });
    }

    /// Records whether a member has answered. An error that it has sent is an answer.
    fn heard(&self, seat: usize, error: Option<&Error>, timed_out: bool) {
        let silent = timed_out || error.is_some_and(|e| e.kind() == ErrorKind::Unavailable);
        self.shared.health[seat].set(silent);
        if silent {
            *lock(&self.seats[seat].next_probe) = self.now() + PROBE_PERIOD;
        }
    }

    /// Asks these members at the same time, until they have answered, `done` is satisfied, or the time is over.
    pub(super) async fn ask<T, F: Future<Output = Result<T>>>(
        &self,
        seats: &[usize],
        limit: Duration,
        call: impl Fn(usize, Arc<dyn Backend>) -> F,
        done: impl Fn(&[Option<Result<T>>]) -> bool,
    ) -> Answers<T> {
        self.ask_while(seats, self.silence(limit), call, done).await
    }

    /// The same, until this future completes, which tells whether those that have not answered by then are silent.
    pub(super) async fn ask_while<T, F: Future<Output = Result<T>>>(
        &self,
        seats: &[usize],
        over: impl Future<Output = bool>,
        call: impl Fn(usize, Arc<dyn Backend>) -> F,
        done: impl Fn(&[Option<Result<T>>]) -> bool,
    ) -> Answers<T> {
        let calls = seats.iter().map(|seat| {
            let asked = self.seats[*seat].backend().map(|backend| (call(*seat, backend.clone()), backend));
            async move {
                let (asked, backend) = asked.ok_or_else(unconnected)?;
                let answer = asked.await?;
                self.shared.identities.verify(*seat, &*backend).await.map_err(Error::with_outcome_unknown)?;
                Ok(answer)
            }
        });
        let (answers, over) = enough(calls, over, done).await;
        for (seat, answer) in seats.iter().zip(&answers) {
            match answer {
                Some(answer) => self.heard(*seat, answer.as_ref().err(), false),
                None if over == Some(true) => self.heard(*seat, None, true),
                None => {}
            }
        }
        answers
    }

    pub(super) async fn close(&self) {
        for (_, backend) in self.backends() {
            backend.close().await;
        }
    }
}

fn unconnected() -> Error {
    Error::new(ErrorKind::Unavailable, "there is no connection to the server")
}

/// The member behind a connection. Stores that cannot be members are refused when they connect.
pub(super) fn member(backend: &dyn Backend) -> &dyn Member {
    backend.member().expect("it is a member")
}

/// The same for notes that are swapped.
pub(super) fn acceptor(backend: &dyn Backend) -> Result<&dyn Acceptor> {
    let missing = || Error::unsupported("compare-and-set on the notes of a quorum", backend.info().variant);
    member(backend).acceptor().ok_or_else(missing)
}

impl Seat {
    fn backend(&self) -> Option<Arc<dyn Backend>> {
        lock(&self.backend).clone()
    }

    /// Connects, unless the server is one that another seat has.
    async fn connect(&self, shared: &Shared, host: &Host) -> Result<()> {
        let backend = shared.members[self.number].connect(host).await?;
        if backend.member().is_none() {
            return Err(Error::unsupported("being a member of a quorum", backend.info().variant));
        }
        member(&*backend).join(shared.members.len())?;
        shared.identities.verify(self.number, &*backend).await?;
        *lock(&self.backend) = Some(backend);
        Ok(())
    }
}

impl Health {
    fn set(&self, is_down: bool) {
        self.is_down.store(is_down, Ordering::Release);
    }
}
