//! What observers and the log are told: one event for the end of each call, one for the end of each lock.
//!
//! | file | concept |
//! |---|---|
//! | `calls` | how calls end: acquired, busy, failed, given up |
//! | `holds` | how locks end: passed on, released, lost; and what is no end |
//! | `store` | a store that fails: renewals, outages, releases without an answer |
//! | `slow` | observers that block or panic |
//! | `counts` | random tasks: what is acquired is released, lost or held |
//! | `log` | the same in `tracing` |
//! | `metrics` | what the feature `metrics` makes of it, and docs/observability.md |

mod calls;
mod counts;
mod holds;
mod log;
mod metrics;
mod slow;
mod store;

use cotter::backend::Connect;
use cotter::{Client, Event, EventKind, FencingToken, Op};
use cotter_testkit::timing::FAR;
use std::pin::pin;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::{Context, Waker};

/// The events of a client.
struct Seen {
    receiver: Receiver<Event>,
    before: Vec<Event>,
}

impl Seen {
    /// An observer, and what it has seen.
    fn new() -> (impl Fn(&Event) + Send + Sync + 'static, Self) {
        let (sender, receiver): (Sender<Event>, _) = channel();
        let observer = move |event: &Event| drop(sender.send(event.clone()));
        (observer, Self { receiver, before: Vec::new() })
    }

    /// Waits for the first event of this kind, as its label.
    fn until(&mut self, kind: &str) -> Event {
        let is_it = |event: &&Event| event.kind.as_str() == kind;
        if let Some(event) = self.before.iter().find(is_it) {
            return event.clone();
        }
        loop {
            let Ok(event) = self.receiver.recv_timeout(FAR) else {
                panic!("violation[unseen]: {kind}: {:#?}", self.before)
            };
            self.before.push(event.clone());
            if is_it(&&event) {
                return event;
            }
        }
    }

    /// Returns all events. The client and its guards must be gone: the thread of its observers ends after the last event.
    fn all(mut self) -> Vec<Event> {
        use std::sync::mpsc::RecvTimeoutError::{Disconnected, Timeout};
        loop {
            match self.receiver.recv_timeout(FAR) {
                Ok(event) => self.before.push(event),
                Err(Disconnected) => return self.before,
                Err(Timeout) => panic!("the observers live on: {:#?}", self.before),
            }
        }
    }
}

fn labels(events: &[Event]) -> Vec<&'static str> {
    events.iter().map(|event| event.kind.as_str()).collect()
}

/// Demands that these are the events.
fn assert_seen(seen: Seen, wanted: &[&str]) {
    let events = seen.all();
    assert_eq!(labels(&events), wanted, "violation[unseen]: {events:#?}");
}

/// A client with an observer.
fn observed(store: impl Connect) -> (Client, Seen) {
    let (observer, seen) = Seen::new();
    (Client::builder().observe(observer).connect_to(store).wait().unwrap(), seen)
}

/// Polls a call that has to wait.
fn poll_once<T>(call: &mut Op<T>) {
    assert!(pin!(call).poll(&mut Context::from_waker(Waker::noop())).is_pending());
}

fn token(event: &Event) -> Option<FencingToken> {
    match event.kind {
        EventKind::Acquired { token, .. }
        | EventKind::Renewed { token, .. }
        | EventKind::RenewalFailed { token, .. }
        | EventKind::Lost { token, .. }
        | EventKind::Released { token, .. } => Some(token),
        _ => None,
    }
}
