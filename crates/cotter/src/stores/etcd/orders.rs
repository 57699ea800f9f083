//! Requests to a stream of watches.

use super::messages::{Event, NO_PUT, WatchCancel, WatchCreate, WatchOrder, WatchRequest, WatchResponse};
use super::numbers::{About, Numbers};
use super::waiter::Waiter;
use crate::backend::Session;
use crate::stores::shared::soon::Soon;
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::sync::{Notify, mpsc};

/// The watches of one connection, and what is to be said about them.
#[derive(Default)]
pub(super) struct State {
    pub(super) last: i64,
    pub(super) open: BTreeMap<i64, Watch>,
    /// Those of the stream.
    pub(super) numbers: Numbers,
    /// To the stream, while there is one.
    pub(super) orders: Option<mpsc::UnboundedSender<WatchRequest>>,
    pub(super) is_running: bool,
    /// The watches of holders that are asked for in a moment, if they are still wanted then.
    pub(super) later: Soon<i64>,
    /// Those that nobody wants any more, of which the server is told in a moment, or with the next order.
    pub(super) over: Vec<i64>,
}

/// A watched key, and its waiter.
pub(super) struct Watch {
    pub(super) key: Vec<u8>,
    /// The first key behind a range; empty for one key.
    pub(super) range_end: Vec<u8>,
    /// The first revision that is of interest; 0 for what comes from now on.
    pub(super) from: i64,
    pub(super) tell: Tell,
    /// Whether the server was asked for it.
    pub(super) is_ordered: bool,
    /// Whether it was asked to end it, in order to begin it again under the same number.
    pub(super) is_ending: bool,
}

impl Watch {
    /// A watch of a key, or of a range if its end is not empty, that was not ordered yet.
    pub(super) fn new(key: Vec<u8>, range_end: Vec<u8>, from: i64, tell: Tell) -> Self {
        Self { key, range_end, from, tell, is_ordered: false, is_ending: false }
    }
}

/// The receiver of events.
#[derive(Clone)]
pub(super) enum Tell {
    /// Told when the server watches the key, when it is deleted, and whenever that may have been missed.
    Waiter(Arc<Waiter>),
    /// Whoever wants to know of each change of a key. Told when it is written too.
    Follower(Arc<Notify>),
    /// The session of a grant, which is lost when its entry is deleted, and the key that says that it was evicted.
    Holder(Session, Vec<u8>),
}

impl State {
    /// Asks for a watch, if it is still wanted.
    pub(super) fn order(&mut self, id: i64) {
        self.end_those_over();
        if let Some(watch) = self.open.get_mut(&id)
            && self.numbers.may_ask(id)
        {
            (watch.is_ordered, watch.is_ending) = (true, false);
            let order = watch.order(id);
            self.send(order);
        }
    }

    pub(super) fn end_those_over(&mut self) {
        std::mem::take(&mut self.over).into_iter().for_each(|id| self.end(id));
    }

    fn end(&mut self, id: i64) {
        if let Some(number) = self.numbers.ends(id) {
            self.cancel(number);
        }
    }

    fn cancel(&self, watch_id: i64) {
        let cancel = WatchCancel { watch_id };
        self.send(WatchRequest { order: Some(WatchOrder::Cancel(cancel)) });
    }

    /// The watch that an answer is about. Asks for those that were to wait for the answer.
    pub(super) fn answered(&mut self, answer: &WatchResponse) -> Option<i64> {
        let about = self.numbers.about(answer);
        if let About::Ended(number) = about {
            self.cancel(number);
        }
        while let Some(id) = self.numbers.next() {
            self.order(id);
        }
        if let About::Watch(id) = about { Some(id) } else { None }
    }

    /// Asks for a watch once more, from now on. The server keeps the number of one that it cannot serve, and refuses another one
    /// with it, until it is told to end that one. It confirms the end.
    pub(super) fn order_again(&mut self, id: i64) {
        self.end(id);
        if let Some(watch) = self.open.get_mut(&id) {
            watch.from = 0;
        }
        self.order(id);
        if let Some(watch) = self.open.get_mut(&id) {
            watch.is_ending = true;
        }
    }

    pub(super) fn send(&self, order: WatchRequest) {
        if let Some(orders) = &self.orders {
            let _ = orders.send(order);
        }
    }
}

impl Watch {
    pub(super) fn order(&self, watch_id: i64) -> WatchRequest {
        let (key, range_end, start_revision) = (self.key.clone(), self.range_end.clone(), self.from);
        let filters = if let Tell::Follower(_) = &self.tell { Vec::new() } else { vec![NO_PUT] };
        let create = WatchCreate { key, range_end, start_revision, filters, watch_id };
        WatchRequest { order: Some(WatchOrder::Create(create)) }
    }

    /// Whether an event is of a key that was asked for.
    pub(super) fn covers(&self, event: &Event) -> bool {
        let Some(key) = event.kv.as_ref().map(|kv| &kv.key) else { return false };
        if self.range_end.is_empty() { *key == self.key } else { (&self.key..&self.range_end).contains(&key) }
    }
}

/// The requests of a stream.
pub(super) struct Orders(pub(super) mpsc::UnboundedReceiver<WatchRequest>);

impl futures_core::Stream for Orders {
    type Item = WatchRequest;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<WatchRequest>> {
        self.0.poll_recv(cx)
    }
}
