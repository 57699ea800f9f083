//! The bells of waiters: a waiter also joins the server's queue for a lock of the name's digest (`GET_LOCK`), on
//! a session of its own. Whoever got the lock after a wait keeps the bell as long, and lets go of it behind the release: the server
//! wakes the next waiter then. A bell is a hint. The row says who holds, and who is next.

use super::bell::{self, Bell, Work};
use super::connector::{FAREWELL, Link, Servers};
use crate::backend::ClaimId;
use crate::backend::by_claim::ByClaim;
use crate::sync::lock;
use crate::{Moment, Name};
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::{sleep, timeout};

/// The most sessions that the waiters of one client have. Whoever finds none left asks again and again instead.
const SESSIONS: usize = 16;
/// The time between two looks whether requests go to another server than that of a session.
const LOOK_PERIOD: Duration = Duration::from_secs(1);
/// The pause after a session could not be opened, or is none of its own as behind some proxies.
const RETRY_PAUSE: Duration = Duration::from_secs(10);

/// The sessions of the bells.
pub(super) struct Bells {
    pub(super) servers: Arc<Servers>,
    link: Arc<Link>,
    shared: Mutex<Sessions>,
    /// How many sessions there are.
    count: AtomicUsize,
    /// How many waiters do without one.
    without: Arc<AtomicUsize>,
    /// Each session has a receiver until it has said goodbye to the server.
    stays: watch::Sender<()>,
}

/// One of the sessions, or a task that opens it, until this is dropped.
pub(super) struct Slot(Arc<Bells>);

impl Slot {
    fn of(bells: &Arc<Bells>) -> Option<Self> {
        let slot = Self(bells.clone());
        (bells.count.fetch_add(1, Ordering::AcqRel) < SESSIONS).then_some(slot)
    }

    pub(super) fn bells(&self) -> &Arc<Bells> {
        &self.0
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A waiter that has found no session left.
#[derive(Debug)]
pub(super) struct WithoutBell(Arc<AtomicUsize>);

impl Drop for WithoutBell {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The connection for requests, by its number, when a session was opened: it leads to the same server as the session, which is of
/// use only among those who ask there.
pub(super) type Place = Option<u64>;

#[derive(Debug, Default)]
struct Sessions {
    /// Sessions without work, and the place where they are.
    idle: Vec<(Place, oneshot::Sender<Work>)>,
    /// No session is opened before.
    next_try: Option<Moment>,
    closed: bool,
}

impl Bells {
    pub(super) fn new(servers: &Arc<Servers>, link: &Arc<Link>) -> Arc<Self> {
        let (shared, count) = (Mutex::default(), AtomicUsize::new(0));
        let (servers, link, without) = (servers.clone(), link.clone(), Arc::default());
        let stays = watch::Sender::new(());
        Arc::new(Self { servers, link, shared, count, without, stays })
    }

    /// Stands in the queue for the bell of a name until the returned value is dropped. `None`: there is no session for it.
    pub(super) fn stand(self: &Arc<Self>, name: &Name, woken: &Arc<Notify>) -> Option<Bell> {
        let ((bell, mut work), place) = (Bell::new(name, woken), self.place());
        let mut sessions = lock(&self.shared);
        sessions.idle.retain(|(there, _)| *there == place);
        while let Some((_, session)) = sessions.idle.pop() {
            match session.send(work) {
                Ok(()) => return Some(bell),
                Err(back) => work = back,
            }
        }
        let may_open = !sessions.closed && sessions.next_try.is_none_or(|next| self.link.now() >= next);
        let Some(slot) = may_open.then(|| Slot::of(self)).flatten() else {
            work.withdraw();
            return None;
        };
        tokio::spawn(bell::tend(slot, work));
        Some(bell)
    }

    /// Counts a waiter for which there is none, until the returned value is dropped.
    pub(super) fn go_without(&self) -> WithoutBell {
        self.without.fetch_add(1, Ordering::AcqRel);
        WithoutBell(self.without.clone())
    }

    /// How many waiters do without.
    pub(super) fn without(&self) -> usize {
        self.without.load(Ordering::Acquire)
    }

    /// Ends the statement of a session.
    pub(super) async fn kill(&self, session: u32) {
        let Ok(live) = self.link.live().await else { return };
        let _ = live.ask(move |own| Box::pin(async move { own.end_standing(session).await })).await;
    }

    /// A session has no work any more. `None`: it is not needed.
    pub(super) fn rest(&self, place: Place) -> Option<oneshot::Receiver<Work>> {
        let (sender, receiver) = oneshot::channel();
        let mut sessions = lock(&self.shared);
        sessions.idle.retain(|(_, idle)| !idle.is_closed());
        if sessions.closed || self.place() != place {
            return None;
        }
        sessions.idle.push((place, sender));
        Some(receiver)
    }

    /// Where a session is that is opened now.
    pub(super) fn place(&self) -> Place {
        self.link.current().map(|live| live.number)
    }

    /// Completes when requests have left this place. Cancel safe.
    pub(super) async fn until_elsewhere(&self, place: Place) {
        while self.place() == place {
            sleep(LOOK_PERIOD).await;
        }
    }

    /// For a session, until it has said goodbye to the server.
    pub(super) fn stays(&self) -> watch::Receiver<()> {
        self.stays.subscribe()
    }

    /// Waits a moment until the sessions have said goodbye, as [`Connector::farewell`](super::connector::Connector::farewell) does.
    /// One that stands in a queue leaves it first, with the help of a connection for requests.
    pub(super) async fn farewell(&self) {
        let _ = timeout(FAREWELL, self.stays.closed()).await;
    }

    /// No session could be opened, or what was opened cannot be used.
    pub(super) fn failed(&self) {
        lock(&self.shared).next_try = Some(self.link.now() + RETRY_PAUSE);
    }

    /// Whether any session was opened here.
    pub(super) fn has_any(&self) -> bool {
        self.count.load(Ordering::Acquire) > 0
    }

    /// Ends the sessions without work, and each other one with its work.
    pub(super) fn close(&self) {
        let mut sessions = lock(&self.shared);
        sessions.closed = true;
        sessions.idle.clear();
    }
}

impl fmt::Debug for Bells {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bells").field("count", &self.count).finish_non_exhaustive()
    }
}

/// The bells of those who hold after a wait, by claim: a claim may be released on another connection than it has waited on.
#[derive(Debug, Default)]
pub(super) struct Kept {
    bells: Mutex<ByClaim<(Bell, Moment)>>,
    /// Almost always 0, and then the mutex is not locked.
    count: AtomicUsize,
}

impl Kept {
    /// Keeps a bell until the claim is released, or until its lease has ended.
    pub(super) fn keep(&self, id: ClaimId, bell: Bell, ends: Moment, now: Moment) {
        let mut bells = lock(&self.bells);
        // Claims that have passed to others, as tickets do, are never released here.
        bells.retain(|_, (_, ends)| *ends > now);
        bells.insert(id, (bell, ends));
        self.count.store(bells.len(), Ordering::Release);
    }

    pub(super) fn extended(&self, id: ClaimId, until: Moment) {
        if self.count.load(Ordering::Acquire) > 0
            && let Some((_, ends)) = lock(&self.bells).get_mut(&id)
        {
            *ends = until.max(*ends);
        }
    }

    /// Lets go of the bell of a claim.
    pub(super) fn let_go(&self, id: ClaimId) {
        if self.count.load(Ordering::Acquire) > 0 {
            let mut bells = lock(&self.bells);
            bells.remove(&id);
            self.count.store(bells.len(), Ordering::Release);
        }
    }

    pub(super) fn clear(&self) {
        lock(&self.bells).clear();
        self.count.store(0, Ordering::Release);
    }
}
