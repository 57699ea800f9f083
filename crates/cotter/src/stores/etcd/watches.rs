//! Watching keys, all over one stream of the connection.

use super::connection::Link;
use super::errors::Failure;
use super::live::Live;
use super::messages::{RangeRequest, RangeResponse, TxnRequest, TxnResponse, WatchResponse};
use super::numbers::Numbers;
use super::orders::{Orders, State, Tell, Watch};
use super::requests::{TXN, look};
use super::waiter::Waiter;
use crate::LossCause;
use crate::backend::{Backoff, Session};
use crate::stores::shared::soon::SOON;
use crate::sync::lock;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tonic::Streaming;

/// The watches of one connection.
pub(super) struct Watches {
    link: Arc<Link>,
    state: Mutex<State>,
}

/// A key that is watched until this is dropped.
pub(super) struct Watched {
    watches: Arc<Watches>,
    id: i64,
}

const BACKOFF: Backoff = Backoff::new(Duration::from_millis(10), Duration::from_secs(1)).with_jitter(0.25);
const DELETE: i32 = 1;
/// What has panicked may do so again, at once.
const PAUSE_AFTER_PANIC: Duration = Duration::from_secs(1);
/// A holder whose entry is gone learns of it within this time, whether the reason is known or not.
const REASON_TIMEOUT: Duration = Duration::from_millis(200);

impl Watches {
    pub(super) fn new(link: Arc<Link>) -> Self {
        Self { link, state: Mutex::default() }
    }

    /// Wakes `waiter` once the server watches the keys up to `range_end` (or the one, if that is empty), and when one has
    /// been deleted after that.
    pub(super) fn wait_for(
        self: &Arc<Self>,
        key: Vec<u8>,
        range_end: Vec<u8>,
        waiter: &Arc<Waiter>,
    ) -> Watched {
        self.add(Watch::new(key, range_end, 0, Tell::Waiter(waiter.clone())))
    }

    /// Notifies `follower` once the server watches the key, and when the key has been written or deleted after that.
    pub(super) fn follow(self: &Arc<Self>, key: Vec<u8>, follower: &Arc<Notify>) -> Watched {
        self.add(Watch::new(key, Vec::new(), 0, Tell::Follower(follower.clone())))
    }

    /// Loses the session when the entry that was created at this revision is deleted.
    pub(super) fn guard(
        self: &Arc<Self>,
        key: Vec<u8>,
        revision: i64,
        evicted: Vec<u8>,
        session: &Session,
    ) -> Watched {
        self.add(Watch::new(key, Vec::new(), revision + 1, Tell::Holder(session.clone(), evicted)))
    }

    fn add(self: &Arc<Self>, watch: Watch) -> Watched {
        let mut state = lock(&self.state);
        state.last += 1;
        let id = state.last;
        let is_holder = matches!(watch.tell, Tell::Holder(..));
        state.open.insert(id, watch);
        if !is_holder {
            state.order(id);
        } else if state.later.add(id) {
            self.link.host().spawn(self.clone().settle());
        }
        if !std::mem::replace(&mut state.is_running, true) {
            let (this, closed) = (self.clone(), self.link.until_closed());
            self.link.host().spawn(async move {
                tokio::select! { () = this.supervise() => {} () = closed => {} }
            });
        }
        Watched { watches: self.clone(), id }
    }

    /// Ends the watches that are over, and asks for those of holders that still hold after a while. They miss nothing: the server
    /// tells what has happened since the grant.
    async fn settle(self: Arc<Self>) {
        let mut goes_on = true;
        while goes_on {
            tokio::time::sleep(SOON).await;
            let mut state = lock(&self.state);
            state.end_those_over();
            let due;
            (due, goes_on) = state.later.due();
            due.into_iter().for_each(|id| state.order(id));
        }
    }

    /// Keeps the stream until nobody watches anything any more, also if what reads it panics.
    async fn supervise(self: Arc<Self>) {
        let mut running = JoinSet::new();
        loop {
            running.spawn(self.clone().run());
            if !running.join_next().await.is_some_and(|ended| ended.is_err_and(|e| e.is_panic())) {
                return;
            }
            if self.interrupted() {
                return;
            }
            tokio::time::sleep(PAUSE_AFTER_PANIC).await;
        }
    }

    /// Reads what the server says, over one stream after another, until nobody watches anything any more.
    async fn run(self: Arc<Self>) {
        let mut backoff = BACKOFF;
        loop {
            if let Ok(live) = self.link.live().await {
                tokio::select! {
                    biased;
                    // A member that answers no requests may keep the stream, and tell nothing over it.
                    () = live.until_retired() => backoff.reset(),
                    () = self.watch(&live, &mut backoff) => {}
                }
            }
            if self.interrupted() {
                return;
            }
            tokio::time::sleep(backoff.pause()).await;
        }
    }

    /// Opens a stream and reads it, until it is of no use any more.
    async fn watch(&self, live: &Live, backoff: &mut Backoff) {
        match live.stream("/etcdserverpb.Watch/Watch", self.begin()).await {
            Ok(answers) => {
                backoff.reset();
                self.read(answers, live).await;
                live.retire();
            }
            Err(failure) if failure.is_of_this_member() => live.retire(),
            Err(_) => {}
        }
    }

    /// The orders of a new stream: all that is watched now, and what comes.
    fn begin(&self) -> Orders {
        let (sender, orders) = mpsc::unbounded_channel();
        let mut state = lock(&self.state);
        state.orders = Some(sender);
        state.numbers = Numbers::default();
        state.later.clear();
        state.over.clear();
        let all: Vec<_> = state.open.keys().copied().collect();
        all.into_iter().for_each(|id| state.order(id));
        Orders(orders)
    }

    async fn read(&self, mut answers: Streaming<WatchResponse>, live: &Live) {
        while let Ok(Some(answer)) = answers.message().await {
            if !self.on(&answer) || (answer.is_refusal() && has_ended(live).await) {
                return;
            }
        }
    }

    /// Returns false if the stream is of no use any more.
    fn on(&self, answer: &WatchResponse) -> bool {
        let mut state = lock(&self.state);
        let Some(id) = state.answered(answer).filter(|_| !answer.is_refusal()) else { return true };
        let Some(watch) = state.open.get_mut(&id) else { return true };
        watch.is_ending &= !answer.created;
        let mut events = answer.events.iter().filter(|event| watch.covers(event)).peekable();
        let (is_told, is_deleted) = (events.peek().is_some(), events.any(|event| event.kind == DELETE));
        match (&watch.tell, answer.canceled) {
            (Tell::Waiter(waiter), false) if answer.created || is_deleted => waiter.tell(answer.revision()),
            (Tell::Follower(follower), false) if answer.created || is_told => follower.notify_one(),
            (Tell::Holder(session, evicted), false) if is_deleted => {
                let link = self.link.clone();
                self.link.host().spawn(lose(link, session.clone(), evicted.clone()));
            }
            (_, false) => {}
            // The history since the grant is gone: a renewal notices what has happened then.
            (Tell::Holder(..), true) if answer.compact_revision > 0 => {
                state.order_again(id);
            }
            (_, true) => return std::mem::take(&mut watch.is_ending),
        }
        true
    }

    /// Ends the stream, without which the connection would stay. Nothing is watched any more.
    pub(super) fn end(&self) {
        lock(&self.state).orders = None;
    }

    /// Between two streams everything may have happened. Returns true if nobody watches anything any more.
    fn interrupted(&self) -> bool {
        let mut state = lock(&self.state);
        state.orders = None;
        for watch in state.open.values() {
            match &watch.tell {
                Tell::Waiter(waiter) => waiter.interrupted(),
                Tell::Follower(follower) => follower.notify_one(),
                Tell::Holder(..) => {}
            }
        }
        state.is_running = !state.open.is_empty();
        !state.is_running
    }
}

/// Whether the login of a connection has ended. A stream has the one with which it was opened, and a server that refuses a watch
/// does not say whether it would accept another login.
async fn has_ended(live: &Live) -> bool {
    let question = RangeRequest { key: vec![0], keys_only: true, ..RangeRequest::default() };
    let _: Result<RangeResponse, Failure> = live.ask("/etcdserverpb.KV/Range", question).await;
    !live.is_usable()
}

/// Loses a session whose entry is gone, with the reason if it can be had quickly.
async fn lose(link: Arc<Link>, session: Session, evicted: Vec<u8>) {
    let asking = link.ask::<_, TxnResponse>(TXN, TxnRequest::of(vec![look(evicted)]));
    let answer = tokio::time::timeout(REASON_TIMEOUT, asking).await;
    let is_evicted = matches!(answer, Ok(Ok(answer)) if !answer.found(0).is_empty());
    session.lose(if is_evicted { LossCause::Evicted } else { LossCause::Gone });
}

impl Drop for Watched {
    fn drop(&mut self) {
        let mut state = lock(&self.watches.state);
        if state.open.remove(&self.id).is_some_and(|watch| watch.is_ordered) {
            state.over.push(self.id);
            // Whoever has just been served asks for other watches in a moment.
            if !state.later.is_running() {
                state.end_those_over();
            }
        }
    }
}

#[cfg(test)]
mod tests;
