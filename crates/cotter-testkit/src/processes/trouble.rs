//! Faults of the store and of the way to it, beside those of the processes.

use crate::history::Violation;
use std::io;

/// Trouble of one kind of store.
pub trait Trouble {
    /// Does what is due. Called again and again while the run lasts.
    ///
    /// # Errors
    /// The run cannot go on.
    fn step(&mut self) -> io::Result<()>;

    /// How many faults were to be so far, and how many were.
    fn so_far(&self) -> (usize, usize);

    /// A kind of fault that has to happen and has not happened yet: the run goes on until there is none.
    fn lacks(&self) -> Option<String>;

    /// Ends all of it, so that the processes can end in order.
    ///
    /// # Errors
    /// It does not end.
    fn end(&mut self) -> io::Result<Outcome>;
}

/// The result of the trouble.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Faults that were to be.
    pub planned: usize,
    /// Faults that were.
    pub confirmed: usize,
    /// Violations seen in the store.
    pub violations: Vec<Violation>,
    /// When sessions were ended: from when, and until when that had been done.
    pub ended: Vec<(u64, u64)>,
}

/// None.
#[derive(Debug, Clone, Copy)]
pub struct NoTrouble;

impl Trouble for NoTrouble {
    fn step(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn so_far(&self) -> (usize, usize) {
        (0, 0)
    }

    fn lacks(&self) -> Option<String> {
        None
    }

    fn end(&mut self) -> io::Result<Outcome> {
        Ok(Outcome::default())
    }
}
