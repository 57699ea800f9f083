//! The bells of waiters: a waiter also joins the server's queue for a lock of the name's digest (`GET_LOCK`), on
//! a session of its own. Whoever got the lock after a wait keeps the bell as long, and lets go of it behind the release: the server
//! wakes the next waiter then. A bell is a hint. The row says who holds, and who is next.

use super::bell::{self, Bell, Work};
use super::connector::{Link, Servers};
use crate::backend::ClaimId;
use crate::backend::by_claim::ByClaim;
use crate::sync::lock;
use crate::{Moment, Name};
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{Notify, oneshot};

/// The most sessions that the waiters of one client have. Whoever finds none left asks again and again instead.
const SESSIONS: usize = 16;
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
}

/// A waiter that has found no session left.
#[derive(Debug)]
pub(super) struct WithoutBell(Arc<AtomicUsize>);

impl Drop for WithoutBell {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[derive(Debug, Default)]
struct Sessions {
    /// Sessions without work.
    idle: Vec<oneshot::Sender<Work>>,
    /// No session is opened before.
    next_try: Option<Moment>,
    closed: bool,
}

impl Bells {
    pub(super) fn new(servers: &Arc<Servers>, link: &Arc<Link>) -> Arc<Self> {
        let (shared, count) = (Mutex::default(), AtomicUsize::new(0));
        let (servers, link, without) = (servers.clone(), link.clone(), Arc::default());
        Arc::new(Self { servers, link, shared, count, without })
    }

    /// Stands in the queue for the bell of a name until the returned value is dropped. `None`: there is no session for it.
    pub(super) fn stand(self: &Arc<Self>, name: &Name, woken: &Arc<Notify>) -> Option<Bell> {
        let (bell, mut work) = Bell::new(name, woken);
        let mut sessions = lock(&self.shared);
        while let Some(session) = sessions.idle.pop() {
            match session.send(work) {
                Ok(()) => return Some(bell),
                Err(back) => work = back,
            }
        }
        if sessions.closed || sessions.next_try.is_some_and(|next| self.link.now() < next) {
            return None;
        }
        if self.count.fetch_add(1, Ordering::AcqRel) >= SESSIONS {
            self.count.fetch_sub(1, Ordering::AcqRel);
            return None;
        }
        tokio::spawn(bell::tend(self.clone(), work));
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
        let _ = live.run(move |own| Box::pin(async move { own.end_standing(session).await })).await;
    }

    /// A session has no work any more. `None`: it is not needed.
    pub(super) fn rest(&self) -> Option<oneshot::Receiver<Work>> {
        let (sender, receiver) = oneshot::channel();
        let mut sessions = lock(&self.shared);
        sessions.idle.retain(|idle| !idle.is_closed());
        if sessions.closed {
            return None;
        }
        sessions.idle.push(sender);
        Some(receiver)
    }

    /// A session has ended.
    pub(super) fn ended(&self) {
        self.count.fetch_sub(1, Ordering::AcqRel);
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
