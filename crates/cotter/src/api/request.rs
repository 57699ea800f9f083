//! The request behind every lock handle.

use crate::engine::{Core, Handle, Request, Wait, acquire};
use crate::{Error, ErrorKind, Guard, Lease, Mode, Name, Op, Owner, Result};
use std::fmt;
use std::sync::Arc;

/// A name and the way in which it is to be held.
#[derive(Clone)]
pub(crate) struct LockRequest {
    core: Arc<Core>,
    name: Result<Name>,
    pub(crate) lease: Lease,
    pub(crate) owner: Option<Owner>,
    /// Every acquisition gets a grant of its own: no turns, no re-entry.
    pub(crate) alone: bool,
    pub(crate) line: Handle,
}

impl LockRequest {
    pub(crate) fn new(core: Arc<Core>, name: &str) -> Self {
        let lease = core.settings.lease;
        Self { core, name: Name::new(name), lease, owner: None, alone: false, line: Handle::default() }
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    pub(crate) fn name(&self) -> Result<&Name> {
        self.name.as_ref().map_err(Clone::clone)
    }

    /// Waits for as long as it takes.
    pub(crate) fn forever<G: 'static>(&self, mode: Mode, wrap: fn(Guard) -> G) -> Op<G> {
        let (core, line, request) = self.parts(mode, Wait::Forever);
        Op::new(&self.core.engine, async move {
            let guard = acquire(core, request?, line).await?;
            guard
                .map(wrap)
                .ok_or_else(|| Error::new(ErrorKind::Protocol, "the store gave up a wait without end"))
        })
    }

    /// Waits for no longer than this.
    pub(crate) fn within<G: 'static>(&self, mode: Mode, wait: Wait, wrap: fn(Guard) -> G) -> Op<Option<G>> {
        let (core, line, request) = self.parts(mode, wait);
        Op::new(&self.core.engine, async move { Ok(acquire(core, request?, line).await?.map(wrap)) })
    }

    /// The parts that an acquisition needs.
    fn parts(&self, mode: Mode, wait: Wait) -> (Arc<Core>, Handle, Result<Request>) {
        // Permits are never re-entered, so a permit that was lost bars nobody either.
        let owner = self.owner.clone().or_else(Owner::current).filter(|_| !mode.is_permits() && !self.alone);
        let (lease, alone) = (self.lease, self.alone);
        let request = self.name.clone().map(|name| Request { name, mode, lease, owner, wait, alone });
        (self.core.clone(), self.line.clone(), request)
    }

    /// The `Debug` output of the handle around it.
    pub(crate) fn describe(&self, kind: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(kind).field("name", &self.name).field("lease", &self.lease).finish_non_exhaustive()
    }
}
