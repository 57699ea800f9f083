//! The pool of workers: a free one goes to whoever waits with the highest priority, and among equals to who came first.

use crate::UnixTime;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{oneshot, watch};

/// The pool.
#[derive(Debug, Clone)]
pub(crate) struct Workers(Arc<Mutex<Pool>>);

#[derive(Debug)]
struct Pool {
    /// Nobody waits while there are some.
    free: usize,
    all: usize,
    /// How many have waited so far.
    arrivals: u64,
    waiting: BTreeMap<Place, oneshot::Sender<Worker>>,
    /// Since when somebody has been waiting.
    crowded: watch::Sender<Option<UnixTime>>,
}

/// A priority, and a number in order of arrival.
type Place = (Reverse<i32>, u64);

/// A worker. When it is dropped the next one in line gets it.
#[derive(Debug)]
pub(super) struct Worker(Option<Workers>);

impl Workers {
    pub(super) fn new(count: usize) -> Self {
        let (waiting, crowded) = (BTreeMap::new(), watch::Sender::new(None));
        Self(Arc::new(Mutex::new(Pool { free: count, all: count, arrivals: 0, waiting, crowded })))
    }

    /// Since when somebody has been waiting; `None` while nobody does.
    pub(super) fn crowded(&self) -> watch::Receiver<Option<UnixTime>> {
        self.pool().crowded.subscribe()
    }

    /// A worker, if one is free.
    pub(super) fn try_take(&self) -> Option<Worker> {
        self.pool().try_take().then(|| Worker(Some(self.clone())))
    }

    /// Waits for a worker. Cancel safe: whoever no longer waits is passed over.
    pub(super) async fn take(&self, priority: i32, now: UnixTime) -> Worker {
        let (_waiter, turn) = {
            let mut pool = self.pool();
            if pool.try_take() {
                return Worker(Some(self.clone()));
            }
            let (turn, comes) = oneshot::channel();
            pool.arrivals += 1;
            let place = (Reverse(priority), pool.arrivals);
            pool.waiting.insert(place, turn);
            pool.tell_crowd(now);
            (Waiter(self, place), comes)
        };
        turn.await.expect("the pool exists while somebody waits")
    }

    /// How many of them work.
    pub(super) fn busy(&self) -> usize {
        self.count().busy
    }

    /// How many there are, too.
    pub(crate) fn count(&self) -> crate::Workers {
        let pool = self.pool();
        crate::Workers { busy: pool.all - pool.free, all: pool.all }
    }

    /// Passes a worker on.
    fn give(&self) {
        loop {
            let next = {
                let mut pool = self.pool();
                let Some((_, next)) = pool.waiting.pop_first() else {
                    pool.free += 1;
                    return;
                };
                pool.tell_no_crowd();
                next
            };
            match next.send(Worker(Some(self.clone()))) {
                Ok(()) => return,
                // It no longer waits.
                Err(mut worker) => worker.0 = None,
            }
        }
    }

    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pool {
    fn try_take(&mut self) -> bool {
        let is_free = self.free > 0;
        self.free -= usize::from(is_free);
        is_free
    }

    fn tell_crowd(&self, now: UnixTime) {
        self.crowded.send_if_modified(|since| since.replace(since.unwrap_or(now)).is_none());
    }

    fn tell_no_crowd(&self) {
        if self.waiting.is_empty() {
            self.crowded.send_if_modified(|since| since.take().is_some());
        }
    }
}

/// Somebody who waits, or has just got a worker.
struct Waiter<'a>(&'a Workers, Place);

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let mut pool = self.0.pool();
        // The channel is dropped after the lock: a worker in it goes back to the pool.
        let _turn = pool.waiting.remove(&self.1);
        pool.tell_no_crowd();
        drop(pool);
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(workers) = self.0.take() {
            workers.give();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::{Pin, pin};
    use std::task::{Context, Poll, Waker};

    fn poll<F: Future>(future: &mut Pin<&mut F>) -> Poll<F::Output> {
        future.as_mut().poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn it_is_crowded_for_as_long_as_somebody_waits() {
        let (workers, at) = (Workers::new(1), UnixTime::from_seconds);
        let crowded = workers.crowded();
        let since = || *crowded.borrow();
        let held = workers.try_take().unwrap();
        assert_eq!(since(), None, "all are busy, but nobody waits");
        let (mut one, mut two) = (Box::pin(workers.take(0, at(1))), Box::pin(workers.take(0, at(2))));
        assert!(poll(&mut one.as_mut()).is_pending() && poll(&mut two.as_mut()).is_pending());
        assert_eq!(since(), Some(at(1)));
        drop(one);
        assert_eq!(since(), Some(at(1)), "another one waits");
        drop(two);
        assert_eq!(since(), None, "they have gone");
        let mut three = Box::pin(workers.take(0, at(3)));
        assert!(poll(&mut three.as_mut()).is_pending());
        assert_eq!(since(), Some(at(3)));
        drop(held);
        assert_eq!(since(), None, "it has got one");
        assert!(poll(&mut three.as_mut()).is_ready());
    }

    #[test]
    fn priority_then_arrival_and_whoever_has_gone_is_passed_over() {
        let workers = Workers::new(1);
        let first = workers.try_take().unwrap();
        assert!(workers.try_take().is_none());
        let (mut low, mut high) =
            (pin!(workers.take(0, UnixTime::EPOCH)), pin!(workers.take(5, UnixTime::EPOCH)));
        let mut later = pin!(workers.take(5, UnixTime::EPOCH));
        let mut gone = Box::pin(workers.take(9, UnixTime::EPOCH));
        assert!(poll(&mut low).is_pending() && poll(&mut high).is_pending() && poll(&mut later).is_pending());
        assert!(poll(&mut gone.as_mut()).is_pending());
        drop(gone);
        drop(first);
        let Poll::Ready(worker) = poll(&mut high) else { panic!("the highest that waits") };
        assert!(poll(&mut low).is_pending() && poll(&mut later).is_pending());
        drop(worker);
        // It has got the worker, and goes before it looks.
        assert!(workers.try_take().is_none());
        let Poll::Ready(worker) = poll(&mut later) else { panic!("in order of arrival") };
        drop(worker);
        let Poll::Ready(worker) = poll(&mut low) else { panic!("it is the last") };
        drop(worker);
        let mut one = Box::pin(workers.take(0, UnixTime::EPOCH));
        let held = match poll(&mut one.as_mut()) {
            Poll::Ready(worker) => worker,
            Poll::Pending => panic!("it is free"),
        };
        let mut two = Box::pin(workers.take(0, UnixTime::EPOCH));
        assert!(poll(&mut two.as_mut()).is_pending());
        drop(held);
        drop(two);
        assert!(workers.try_take().is_some(), "what was given to someone who has gone is free");
    }
}
