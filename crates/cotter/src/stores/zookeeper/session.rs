//! A session: its connections, one after the other, and its signs of life.
//!
//! It is *connected*, or *suspect* while it has no connection, or *lost*: once the servers say that it has ended, or once they
//! may have ended it. A lost session is never used again, also if it turns out that it still exists; the next claim begins
//! another one.

use super::connector::{Connector, Opened, Ticket};
use super::errors::{Failure, place_is_gone};
use super::live::{Listener, Live};
use super::messages::{Event, Op, What};
use super::proofs::{Proofs, SIGNS, WRITES};
use super::replies::Data;
use super::seats::Seats;
use super::watches::Watches;
use crate::backend::{Backoff, ClaimId, Host, Session};
use crate::stores::shared::soon::{SOON, Soon};
use crate::sync::lock;
use crate::{LossCause, Moment, Result};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;

/// A session of this process.
pub(super) struct ServerSession {
    connector: Arc<Connector>,
    host: Host,
    id: i64,
    password: Vec<u8>,
    /// The newest state of the store that it has seen.
    seen: AtomicI64,
    proofs: Mutex<Proofs>,
    phase: watch::Sender<Phase>,
    /// Whether the servers have ended it, for certain.
    has_ended: AtomicBool,
    pub(super) watches: Arc<Watches>,
    pub(super) seats: Seats,
    /// The seats whose nodes are read in a moment, if they still hold then.
    later: Mutex<Soon<ClaimId>>,
}

#[derive(Clone)]
enum Phase {
    Connected(Arc<Live>),
    Suspect,
    Lost,
}

const BACKOFF: Backoff = Backoff::new(Duration::from_millis(10), Duration::from_secs(1)).with_jitter(0.25);
/// Whoever evicts a holder has seen it hold for so long: its node is read, and watched, twice [`SOON`] after the grant.
pub(super) const HEADSTART: Duration = Duration::from_millis(100);
/// A connection on which a sign of life has no answer after this part of a session is given up.
const SILENCE: u32 = 4;
/// So is a new one whose first one has no answer after this time: a server drops the requests of a session that ended while
/// it was connecting, and says so only to the next connection. Twice as long for each of them in a row, because members that
/// stand still do not answer either.
const FIRST_SILENCE: Duration = Duration::from_secs(1);

impl ServerSession {
    /// Goes on with a session that was begun by this answer.
    pub(super) fn begin(connector: Arc<Connector>, host: &Host, opened: Opened) -> (Arc<Self>, Arc<Live>) {
        let (phase, _) = watch::channel(Phase::Suspect);
        let session = Arc::new(Self {
            connector,
            host: host.clone(),
            id: opened.welcome.id,
            password: opened.welcome.password.clone(),
            seen: AtomicI64::new(0),
            proofs: Mutex::new(Proofs::new(opened.welcome.timeout, opened.asked)),
            phase,
            has_ended: AtomicBool::new(false),
            watches: Arc::default(),
            seats: Seats::default(),
            later: Mutex::default(),
        });
        let live = session.connected(opened);
        (session, live)
    }

    fn connected(self: &Arc<Self>, opened: Opened) -> Arc<Live> {
        let live = Live::start(opened, self.clone(), &self.host);
        self.phase.send_replace(Phase::Connected(live.clone()));
        live
    }

    pub(super) fn is_lost(&self) -> bool {
        matches!(*self.phase.borrow(), Phase::Lost)
    }

    /// Whether nothing that was sent in it can be carried out any more, and nothing of it is left.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Acquire)
    }

    /// Returns its connection, the next one if need be.
    ///
    /// # Errors
    /// It is lost, now or before there is one.
    pub(super) async fn live(&self) -> Result<Arc<Live>> {
        let mut phase = self.phase.subscribe();
        let is_ready = |phase: &Phase| match phase {
            Phase::Connected(live) => !live.has_ended(),
            Phase::Suspect => false,
            Phase::Lost => true,
        };
        let ready = phase.wait_for(is_ready).await;
        match ready.as_deref() {
            Ok(Phase::Connected(live)) => Ok(live.clone()),
            _ => Err(place_is_gone()),
        }
    }

    /// The last sign of life to which a majority has agreed, and how long after it the session exists for certain.
    pub(super) fn proof(&self) -> (Moment, Duration) {
        lock(&self.proofs).last()
    }

    /// The same, which is recorded for a new seat: nobody makes the session shorter meanwhile.
    pub(super) fn prove_seat(&self, seat: &Session) -> (Moment, Duration) {
        let proofs = lock(&self.proofs);
        let (as_of, lasts) = proofs.last();
        seat.prove(as_of, lasts);
        (as_of, lasts)
    }

    /// The length of the session.
    pub(super) fn lasts(&self) -> Duration {
        lock(&self.proofs).session()
    }

    /// Keeps it alive until it is lost, and then ends it, so that nothing of it stays longer than it must.
    pub(super) async fn keep(self: Arc<Self>, live: Arc<Live>) {
        let next = live.host + 1;
        // If this task fails, nobody else would tell those who wait for a connection.
        let alive = Alive(self.clone());
        self.stay_alive(live).await;
        drop(alive);
        self.bury(next).await;
    }

    /// Completes when it is over.
    async fn stay_alive(self: &Arc<Self>, mut live: Arc<Live>) {
        let mut patience = FIRST_SILENCE;
        loop {
            patience = if self.attend(&live, patience).await { FIRST_SILENCE } else { patience * 2 };
            live.end();
            self.phase.send_if_modified(|phase| {
                let is_connected = matches!(phase, Phase::Connected(_));
                if is_connected {
                    *phase = Phase::Suspect;
                }
                is_connected
            });
            match self.reconnect(live.host + 1).await {
                Some(next) => live = next,
                None => break,
            }
        }
    }

    /// Sends one sign of life after the other, the first one as a write. Completes when the connection is of no use any more, or
    /// the session is over. Returns whether any of them was answered. `patience`: the time for the first answer.
    async fn attend(&self, live: &Live, patience: Duration) -> bool {
        let (clock, lasts) = (self.host.clock(), self.lasts());
        let silence = lasts / SILENCE;
        let (mut limit, mut is_answered) = (patience.min(silence), false);
        for number in (0..WRITES).cycle() {
            let (sent, is_write) = (clock.now(), number == 0);
            tokio::select! {
                answer = sign(live, is_write) => match answer {
                    Ok(()) if self.prove(sent, is_write) => (limit, is_answered) = (silence, true),
                    Ok(()) => return is_answered,
                    Err(failure) => {
                        self.note(&failure);
                        return is_answered;
                    }
                },
                () = clock.sleep_until(sent + limit) => return is_answered,
            }
            tokio::select! {
                () = clock.sleep_until(sent + lasts / SIGNS) => {}
                () = live.until_ended() => return is_answered,
            }
        }
        is_answered
    }

    /// Records a sign of life. Returns false if it comes too late: others may have been served in between.
    fn prove(&self, sent: Moment, is_write: bool) -> bool {
        let (as_of, lasts) = {
            let mut proofs = lock(&self.proofs);
            if self.host.clock().now() >= proofs.end() {
                return false;
            }
            if !is_write {
                proofs.sign(sent);
                return true;
            }
            proofs.write(sent);
            proofs.last()
        };
        self.seats.prove(as_of, lasts);
        true
    }

    fn is_over(&self) -> bool {
        self.has_ended() || self.is_lost() || self.host.clock().now() >= lock(&self.proofs).end()
    }

    /// Connects to the next member that answers. `None` once the session is over.
    async fn reconnect(self: &Arc<Self>, first: usize) -> Option<Arc<Live>> {
        let mut backoff = BACKOFF;
        while !self.is_over() {
            let end = lock(&self.proofs).end();
            let opened = tokio::select! {
                opened = self.attach(first) => opened,
                () = self.host.clock().sleep_until(end) => return None,
            };
            match opened {
                Ok(Some(opened)) => {
                    let live = self.connected(opened);
                    // What has happened meanwhile is read; nothing is watched any more.
                    self.seats.all().iter().for_each(|(id, path)| live.look_at_seat(*id, path));
                    self.watches.interrupted();
                    return Some(live);
                }
                Ok(None) => return None,
                Err(e) if !e.is_retryable() => return None,
                Err(_) => tokio::time::sleep(backoff.pause()).await,
            }
        }
        None
    }

    /// Goes on with the session over a new connection. `None` if the servers say that it has ended.
    async fn attach(&self, first: usize) -> Result<Option<Opened>> {
        let ticket =
            Ticket { id: self.id, password: &self.password, seen: self.seen.load(Ordering::Acquire) };
        let opened = self.connector.open(first, Some(ticket)).await?;
        if opened.welcome.timeout.is_zero() || opened.welcome.id != self.id {
            self.has_ended.store(true, Ordering::Release);
            return Ok(None);
        }
        let mut proofs = lock(&self.proofs);
        if proofs.attached(opened.asked, opened.welcome.timeout) {
            self.seats.shorten(proofs.end());
        }
        drop(proofs);
        Ok(Some(opened))
    }

    /// Loses it, and all that lives with it.
    pub(super) fn lose(&self) {
        let before = self.phase.send_replace(Phase::Lost);
        if let Phase::Connected(live) = before {
            live.end();
        }
        self.seats.lose_all(LossCause::SessionLost);
        self.watches.interrupted();
    }

    /// Ends a lost session at the servers.
    async fn bury(&self, first: usize) {
        let mut backoff = BACKOFF;
        while !self.has_ended() {
            if let Ok(Some(opened)) = self.attach(first).await {
                let live = Live::start(opened, Arc::new(Deaf), &self.host);
                let closing = live.ask::<()>(&Op::Close);
                let answer = tokio::time::timeout(self.lasts(), closing).await;
                live.end();
                if matches!(answer, Ok(Ok(()))) {
                    self.has_ended.store(true, Ordering::Release);
                }
            }
            if !self.has_ended() {
                tokio::time::sleep(backoff.pause()).await;
            }
        }
    }

    /// Reads the node of a seat in a moment, and watches it.
    pub(super) fn look_soon(self: &Arc<Self>, id: ClaimId) {
        if !lock(&self.later).add(id) {
            return;
        }
        let this = self.clone();
        self.host.spawn(async move {
            let mut goes_on = true;
            while goes_on {
                tokio::time::sleep(SOON).await;
                let due;
                (due, goes_on) = lock(&this.later).due();
                this.look_at(due);
            }
        });
    }

    /// Without a connection it is left out: the next one begins with the nodes of all seats.
    fn look_at(&self, seats: Vec<ClaimId>) {
        let Phase::Connected(live) = self.phase.borrow().clone() else { return };
        for id in seats {
            if let Some((path, _)) = self.seats.node(id) {
                live.look_at_seat(id, &path);
            }
        }
    }

    /// Ends it at the servers, which deletes all of its nodes.
    pub(super) async fn close(&self) {
        let connected = match &*self.phase.borrow() {
            Phase::Connected(live) => Some(live.clone()),
            Phase::Suspect | Phase::Lost => None,
        };
        if let Some(live) = connected {
            let _ = tokio::time::timeout(self.lasts() / SILENCE, live.ask::<()>(&Op::Close)).await;
        }
        self.lose();
    }

    /// A request was refused because the session has ended.
    pub(super) fn note(&self, failure: &Failure) {
        if failure.is_session_expired() {
            self.has_ended.store(true, Ordering::Release);
        }
    }
}

/// A sign of life, and its answer.
async fn sign(live: &Live, is_write: bool) -> Result<(), Failure> {
    match is_write {
        true => live.agree().await,
        false => live.ask(&Op::sync("/")).await,
    }
}

/// Loses the session when it is dropped. In a panic, it also has it ended at the servers.
struct Alive(Arc<ServerSession>);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.lose();
        if std::thread::panicking() {
            let session = self.0.clone();
            self.0.host.spawn(async move { session.bury(0).await });
        }
    }
}

impl Listener for ServerSession {
    fn on_event(&self, live: &Live, event: Event) {
        match event.what {
            What::Deleted => self.seats.deleted(&event.path),
            What::Changed => {
                if let Some(id) = self.seats.changed(&event.path) {
                    live.look_at_seat(id, &event.path);
                }
            }
            What::Created | What::Children => {}
        }
        self.watches.on_event(&event.path);
    }

    fn on_seat(&self, _: &Live, id: ClaimId, node: Result<Data, Failure>) {
        match node {
            Ok(node) => _ = self.seats.read(id, &node),
            Err(failure) if failure.is(super::errors::NO_NODE) => _ = self.seats.gone(id),
            // The connection is about to end, and the next one reads again.
            Err(failure) => self.note(&failure),
        }
    }

    fn on_state(&self, zxid: i64) {
        self.seen.fetch_max(zxid, Ordering::AcqRel);
    }
}

/// Nobody listens to what is left of a session.
struct Deaf;

impl Listener for Deaf {
    fn on_event(&self, _: &Live, _: Event) {}
    fn on_seat(&self, _: &Live, _: ClaimId, _: Result<Data, Failure>) {}
    fn on_state(&self, _: i64) {}
}
