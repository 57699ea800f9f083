//! A process that is stopped for longer than its session or lease lasts, whatever the store.

use cotter::Guard;
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::timing::{FAR, first_within, until};
use rustix::process::{Pid, Signal, kill_process};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Stops the holder of a lock for a while. When this is dropped, that is over.
pub(crate) struct Stopper(Option<JoinHandle<()>>);

impl Stopper {
    /// `holder` asks the store for the label of the holder, which begins with HOST/PID. The store has to forget the holder while it
    /// is stopped.
    pub(crate) fn start(length: Duration, holder: impl Fn() -> Option<String> + Send + 'static) -> Self {
        Self(Some(std::thread::spawn(move || {
            let label = first_within(FAR, &holder).expect("somebody holds the lock");
            let pid = label.split(['/', ' ', '(']).find_map(|word| word.trim().parse().ok()).expect("a pid");
            let pid = Pid::from_raw(pid).expect("a pid");
            kill_process(pid, Signal::STOP).unwrap();
            std::thread::sleep(length);
            let is_gone = first_within(FAR, || holder().is_none().then_some(()));
            kill_process(pid, Signal::CONT).unwrap();
            assert!(is_gone.is_some(), "the store ends its session");
        })))
    }
}

impl Drop for Stopper {
    fn drop(&mut self) {
        let ended = self.0.take().map(JoinHandle::join);
        assert!(std::thread::panicking() || !matches!(ended, Some(Err(_))), "it was not stopped as planned");
    }
}

/// Waits until this process has been stopped. Then the guard is invalid, before anything was sent or received.
pub(crate) fn is_known_at_once(guard: &Guard, length: Duration) {
    until_stopped_for(length / 2);
    demand(!guard.is_valid(), Kind::UsedAfterLoss, "it believes in a lock that the store has given away");
}

/// Waits until this process has been stopped for so long.
pub(crate) fn until_stopped_for(length: Duration) {
    let mut last = Instant::now();
    until("it is stopped", || Instant::now() > std::mem::replace(&mut last, Instant::now()) + length);
}
