//! One grant of `file:`, and its release.

use super::holds::Hold;
use super::lock::{LockFile, touch};
use super::paths::LockPaths;
use super::permits::Own;
use super::readers::Record;
use super::state::State;
use crate::Moment;
use crate::backend::{Claim, Grant, Session};
use crate::sys::FileId;
use crate::sys::gate::{self, Closed};

/// One grant, with everything that ends it.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) claim: Claim,
    pub(super) paths: LockPaths,
    /// Open and locked: the lock file, or that of our permits.
    pub(super) file: LockFile,
    pub(super) access: HeldAs,
    pub(super) state: State,
    pub(super) turns: u16,
    pub(super) session: Session,
}

/// The mode of a hold.
#[derive(Debug)]
pub(super) enum HeldAs {
    Writer,
    /// A writer that is becoming a reader, behind the closed gate. It may be without the kernel's lock for a moment.
    Between(Closed),
    Reader(Record),
    /// With the lock file that the permits were counted under. Only the file of the permits is locked.
    Permits(Own, FileId),
}

impl Held {
    /// The grant for the engine.
    pub(super) fn grant(&self, as_of: Moment) -> Grant {
        let mut grant = Grant::new(self.claim.clone(), self.state.first, as_of);
        grant.turns = self.turns;
        grant.session = Some(self.session.clone());
        grant
    }
}

impl Hold for Held {
    fn is_linked(&self) -> bool {
        match &self.access {
            HeldAs::Permits(own, gate) => self.file.id.is_at(&own.path) && gate.is_at(&self.paths.lock),
            _ => self.file.id.is_at(&self.paths.lock),
        }
    }

    fn session(&self) -> &Session {
        &self.session
    }

    fn touch(&self) {
        self.file.touch();
        if let HeldAs::Permits(..) = self.access {
            touch(&self.paths.lock);
        }
    }

    /// A record that cannot be written delays nobody: the kernel's lock is the truth, and the clock is the floor under
    /// the next token.
    fn release(mut self, used: u16) {
        match self.access {
            HeldAs::Writer => {
                self.state.free(used);
                let _ = self.state.write(self.file.fd(), &self.paths.lock);
            }
            HeldAs::Between(closed) => gate::open(self.file.fd(), closed),
            // The lock file is not this reader's alone, and its one token is used. The record goes before the lock does.
            HeldAs::Reader(record) => drop(record),
            HeldAs::Permits(own, _) => {
                drop(own);
                return self.file.end();
            }
        }
        self.file.free();
    }
}
