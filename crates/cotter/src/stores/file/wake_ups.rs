//! The events that wake a waiter: its thread has the lock, the ticket before its own or somebody's permits have ended, or
//! another process asks whether it listens.

use crate::sys::ticket::Listener;
use std::future::{Future, poll_fn};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Poll;
use tokio::sync::Notify;

/// The events that wake one waiter.
#[derive(Debug, Default)]
pub(super) struct WakeUps {
    woken: Arc<Notify>,
    listeners: Mutex<Listeners>,
}

#[derive(Debug, Default)]
struct Listeners {
    /// Hears the questions of other processes.
    own: Option<Listener>,
    /// Hear the end of the ticket before ours, or of permits.
    before: Vec<Listener>,
}

impl WakeUps {
    /// Wakes the waiter.
    pub(super) fn woken(&self) -> &Arc<Notify> {
        &self.woken
    }

    pub(super) fn set_own(&self, own: Listener) {
        self.lock().own = Some(own);
    }

    pub(super) fn set_before(&self, before: Vec<Listener>) {
        self.lock().before = before;
    }

    /// Completes at the next event. It decides what to listen to when it is polled, which is after the waiter has looked.
    pub(super) async fn next(self: Arc<Self>) {
        let (own, before) = {
            let listeners = self.lock();
            (listeners.own.clone(), listeners.before.clone())
        };
        tokio::select! {
            () = self.woken.notified() => {}
            () = heard(own) => {}
            () = any_heard(before) => {}
        }
    }

    /// Answers all questions, and forgets earlier events: the waiter looks for itself now.
    pub(super) fn acknowledge(&self) {
        let listeners = self.lock();
        listeners.own.iter().for_each(Listener::answer);
        listeners.before.iter().for_each(Listener::forget);
    }

    fn lock(&self) -> MutexGuard<'_, Listeners> {
        crate::sync::lock(&self.listeners)
    }
}

async fn heard(listener: Option<Listener>) {
    match listener {
        Some(listener) => listener.heard().await,
        None => std::future::pending().await,
    }
}

async fn any_heard(listeners: Vec<Listener>) {
    let mut all: Vec<_> = listeners.into_iter().map(|listener| Box::pin(listener.heard())).collect();
    poll_fn(|cx| match all.iter_mut().any(|heard| heard.as_mut().poll(cx).is_ready()) {
        true => Poll::Ready(()),
        false => Poll::Pending,
    })
    .await;
}
