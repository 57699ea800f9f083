//! Blocking waits on threads.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future on this thread; the engine's thread drives whatever it waits for.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut cx = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut cx) {
            Poll::Ready(done) => return done,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// More than the whole budget of a tokio task.
const BUDGET: usize = 256;

/// Returns false inside a tokio task, where blocking would stop other tasks.
///
/// tokio has no API for this. But it gives its tasks a budget of polls, and lifts the budget in `spawn_blocking` and
/// `block_in_place`: where a budget can be used up, a task is running.
pub(crate) fn may_block() -> bool {
    if tokio::runtime::Handle::try_current().is_err() {
        return true;
    }
    let mut cx = Context::from_waker(Waker::noop());
    (0..BUDGET).all(|_| pin!(tokio::task::consume_budget()).poll(&mut cx).is_ready())
}
