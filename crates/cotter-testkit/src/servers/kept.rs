//! A packet that a proxy keeps back until it is let go.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// One packet that is to be kept back. Dropping this lets it go.
#[derive(Debug)]
pub struct Kept(Arc<Gate>);

/// The points at which the proxy waits.
#[derive(Debug)]
pub(super) struct Keep {
    pub(super) containing: Vec<u8>,
    gate: Arc<Gate>,
}

#[derive(Debug, Default)]
struct Gate {
    caught: AtomicBool,
    open: AtomicBool,
}

impl Kept {
    pub(super) fn of(slot: &mut Option<Keep>, containing: &[u8]) -> Self {
        let gate = Arc::<Gate>::default();
        *slot = Some(Keep { containing: containing.to_vec(), gate: gate.clone() });
        Self(gate)
    }

    /// Whether it has come.
    pub fn is_caught(&self) -> bool {
        self.0.caught.load(Ordering::SeqCst)
    }

    /// It goes on.
    pub fn let_go(self) {}
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.0.open.store(true, Ordering::SeqCst);
    }
}

impl Keep {
    pub(super) fn until_let_go(self, or: impl Fn() -> bool) {
        self.gate.caught.store(true, Ordering::SeqCst);
        while !self.gate.open.load(Ordering::SeqCst) && !or() {
            thread::sleep(Duration::from_millis(1));
        }
    }
}
