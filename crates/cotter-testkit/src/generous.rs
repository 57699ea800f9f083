//! A store that answers more time than it was asked for, as a server does whose clock was set back. One that grants whatever is
//! asked, as a server does that has the statements for locks only in name. And one whose answer to an adoption is lost.

use crate::altered::{Alteration, AlteredStore};
use cotter::backend::{Acquired, Claim, Connect, Grant};
use cotter::clock::Moment;
use cotter::{Error, ErrorKind, Result};
use std::time::Duration;

/// Connects to another store, and answers that its grants last this much longer than they do.
pub type Generous = AlteredStore<More>;

/// How much longer.
#[derive(Debug, Clone, Copy)]
pub struct More(Duration);

impl Generous {
    /// This store with longer answers.
    pub fn new(inner: impl Connect, more: Duration) -> Self {
        Self::of(inner, More(more))
    }
}

impl Alteration for More {
    fn lasts(&self, ttl: Duration) -> Duration {
        ttl + self.0
    }
}

/// Connects to another store, and grants what it says is busy.
pub type Pretended = AlteredStore<Everything>;

/// Everybody gets everything.
#[derive(Debug, Clone, Copy)]
pub struct Everything;

impl Pretended {
    /// This store without its exclusion.
    pub fn new(inner: impl Connect) -> Self {
        Self::of(inner, Everything)
    }
}

impl Alteration for Everything {
    fn acquired(&self, claim: &Claim, answer: Acquired) -> Acquired {
        match answer {
            Acquired::Granted(grant) => Acquired::Granted(grant),
            _ => Acquired::Granted(Grant::new(claim.clone(), 1, Moment::ZERO)),
        }
    }
}

/// Connects to another store, and loses each answer to an adoption.
pub type Unheard = AlteredStore<NoAnswer>;

/// The answer is lost, and asking again is no use.
#[derive(Debug, Clone, Copy)]
pub struct NoAnswer;

impl Unheard {
    /// This store without these answers.
    pub fn new(inner: impl Connect) -> Self {
        Self::of(inner, NoAnswer)
    }
}

impl Alteration for NoAnswer {
    fn adopted(&self, _: Result<Option<Grant>>) -> Result<Option<Grant>> {
        Err(Error::new(ErrorKind::Protocol, "the answer cannot be read").with_outcome_unknown())
    }
}
