//! Waiting for a lock: first with a ticket, then in the kernel's queue.
//!
//! The owner of the first ticket waits in the kernel's queue for the lock, by a thread. Each of the others waits for the end
//! of the ticket before its own. Every waiter is thus woken by what it waits for. Once a second it also looks by itself:
//! whether the files are still at their paths, and whether the lock is free and the waiter before it does not take it.
//!
//! The owner of the first ticket of a semaphore waits for the end of permits instead.

use super::acquire::Try;
use super::backend::Files;
use super::errors::{errno, fault};
use super::kernel_queue::QueuedWait;
use super::lock::{LockFile, LockKind};
use super::paths::LockPaths;
use super::peer::Peer;
use super::rival::Rival;
use super::tickets::{Rank, Ticket, arrival};
use super::wake_ups::WakeUps;
use crate::backend::poll::Attempt;
use crate::backend::{Claim, Grant, Mode};
use crate::sys::ticket::{LOOK_PERIOD, Listener};
use crate::{Error, Result};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// How often to try where no thread could be had to wait in the kernel's queue.
const POLL_PERIOD: Duration = Duration::from_millis(50);
/// The number of grants whose end a waiter listens for: each takes a descriptor.
const MAX_LISTENERS: usize = 64;
/// How soon to try again after the lock was there but could not be kept.
const RETRY_PERIOD: Duration = Duration::from_millis(1);

/// A claim that waits. Dropped, it leaves the queue.
pub(super) struct Waiter<'a> {
    files: &'a Files,
    claim: &'a Claim,
    paths: LockPaths,
    kind: LockKind,
    /// The limit of the semaphore when this claim came.
    limit: u32,
    ticket: Option<Ticket>,
    stage: Stage,
    wake_ups: Arc<WakeUps>,
}

/// The thing that the owner of a ticket waits for.
enum Stage {
    /// Not known until its rank has been looked up.
    Unranked,
    /// The end of the ticket before it.
    Behind(Rival),
    /// The lock, in the kernel's queue. `passing`: there is a ticket before ours whose owner did not listen.
    InKernelQueue { wait: QueuedWait, passing: bool },
    /// The end of permits.
    ForPermits(Duration),
    /// The lock, by trying again and again.
    Polling(Duration),
}

impl<'a> Waiter<'a> {
    pub(super) fn new(files: &'a Files, claim: &'a Claim) -> Self {
        files.holds.wait(claim.id);
        let (paths, kind) = (files.paths(&claim.name), LockKind::of(claim));
        let (ticket, stage, wake_ups) = (None, Stage::Unranked, Arc::default());
        Self { files, claim, paths, kind, limit: 0, ticket, stage, wake_ups }
    }

    /// Tries to get the lock if it is our turn.
    fn look(&mut self) -> Result<Option<Grant>> {
        if !self.files.holds.is_waiting(self.claim.id) {
            return Err(Error::not_ours(self.claim.id).with_name(&self.claim.name));
        }
        self.wake_ups.acknowledge();
        let Some(ticket) = &self.ticket else { return self.arrive() };
        match &self.stage {
            Stage::Behind(rival) if rival.lives() => {
                // While the lock is held, it does not matter what those before us do.
                let is_free = self.is_free()?;
                let is_shared = || self.files.could_be_had(&self.paths, LockKind::Shared);
                let would_do = is_free || (self.claim.mode == Mode::Shared && is_shared()?);
                if !would_do {
                    return Ok(None);
                }
                if !rival.is_listening() || !ticket.is_linked() {
                    return self.queue();
                }
                if is_free {
                    self.paths.queue.ask(Some(ticket))?
                } else {
                    rival.ask()
                }
                Ok(None)
            }
            Stage::InKernelQueue { wait, passing } => match wait.outcome() {
                Some(outcome) => {
                    let locked = outcome.map_err(|e| fault("locking", &self.paths.lock, e))?;
                    self.use_lock(locked, *passing)
                }
                None if wait.file().is_at(&self.paths.lock) && ticket.is_linked() => Ok(None),
                None => self.queue(),
            },
            _ => self.queue(),
        }
    }

    /// Whether whoever is first could take it now.
    fn is_free(&self) -> Result<bool> {
        match self.claim.mode.is_permits() {
            true => self.files.has_permits(self.claim, &self.paths),
            false => self.files.could_be_had(&self.paths, LockKind::Exclusive),
        }
    }

    /// The first look: tries like a claim that does not want to wait, and queues if that fails.
    fn arrive(&mut self) -> Result<Option<Grant>> {
        let granted = if self.claim.mode.is_permits() {
            let tried = self.files.take_permits(self.claim, &self.paths, None)?;
            tried.map_err(|busy| self.limit = busy.limit).ok()
        } else {
            self.files.take(self.claim, &self.paths, false)?
        };
        if granted.is_some() {
            return Ok(granted);
        }
        self.enter(arrival())?;
        self.queue()
    }

    fn enter(&mut self, number: u64) -> Result<()> {
        let ticket = self.paths.queue.enter(number)?;
        self.wake_ups.set_own(listener(ticket.duplicate(), &self.paths.queue.directory)?);
        self.ticket = Some(ticket);
        Ok(())
    }

    /// Looks up the rank of its ticket, and waits for whatever is before it.
    fn queue(&mut self) -> Result<Option<Grant>> {
        self.stage = Stage::Unranked;
        loop {
            let ticket = self.ticket.as_ref().expect("only the owner of a ticket queues");
            let number = ticket.number;
            match self.paths.queue.rank(ticket)? {
                Rank::First { passing } => return self.try_lock(passing),
                Rank::Missing => self.enter(number)?,
                Rank::Behind(rival) => {
                    if self.stay_behind(rival)? {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// False when the rival left before it could be waited for.
    fn stay_behind(&mut self, rival: Rival) -> Result<bool> {
        self.wake_ups.set_before(vec![listener(rival.duplicate(), rival.path())?]);
        let stays = rival.is_listening();
        if stays {
            self.stage = Stage::Behind(rival);
        }
        Ok(stays)
    }

    fn try_lock(&mut self, passing: bool) -> Result<Option<Grant>> {
        self.wake_ups.set_before(Vec::new());
        if self.claim.mode.is_permits() {
            return self.try_permits();
        }
        let granted = self.files.take(self.claim, &self.paths, true)?;
        if granted.is_none() {
            let opened = LockFile::open(&self.paths.lock, &self.files.directory.access)?;
            let wait = self.files.threads.start(opened, self.kind, self.wake_ups.woken());
            self.stage = match wait {
                Some(wait) => Stage::InKernelQueue { wait, passing },
                None => Stage::Polling(POLL_PERIOD),
            };
        }
        Ok(granted)
    }

    /// Takes the permits, or listens for the end of those that are taken.
    fn try_permits(&mut self) -> Result<Option<Grant>> {
        let taken = match self.files.take_permits(self.claim, &self.paths, Some(self.limit))? {
            Ok(grant) => return Ok(Some(grant)),
            Err(busy) => busy.taken,
        };
        let holders = taken.iter().take(MAX_LISTENERS).map(|taken| &taken.holder);
        let listen = |holder: &Peer| listener(holder.duplicate(), holder.path());
        self.wake_ups.set_before(holders.map(listen).collect::<Result<_>>()?);
        let hears_all = !taken.is_empty() && taken.len() <= MAX_LISTENERS;
        self.stage = Stage::ForPermits(if hears_all { LOOK_PERIOD } else { POLL_PERIOD });
        Ok(None)
    }

    /// Makes a grant of the lock that the kernel has given us.
    fn use_lock(&mut self, locked: LockFile, passing: bool) -> Result<Option<Grant>> {
        // A waiter that was passed over may listen by now, and is before us.
        if passing && let Some(rival) = self.rival_before()? {
            locked.free();
            rival.ask();
            return if self.stay_behind(rival)? { Ok(None) } else { self.queue() };
        }
        self.stage = Stage::Polling(RETRY_PERIOD);
        match self.files.grant_locked(self.claim, &self.paths, true, locked, self.files.clock.now())? {
            Try::Granted(grant) => Ok(Some(grant)),
            Try::Busy => Ok(None),
            Try::Again => self.queue(),
        }
    }

    fn rival_before(&self) -> Result<Option<Rival>> {
        let Some(ticket) = &self.ticket else { return Ok(None) };
        match self.paths.queue.rank(ticket)? {
            Rank::Behind(rival) => Ok(Some(rival)),
            Rank::First { .. } | Rank::Missing => Ok(None),
        }
    }
}

fn listener(ticket: std::io::Result<OwnedFd>, path: &Path) -> Result<Listener> {
    ticket.and_then(Listener::new).map_err(|e| fault("listening to", path, errno(&e)))
}

impl Attempt for Waiter<'_> {
    type Done = Grant;

    async fn attempt(&mut self) -> Result<Option<Grant>> {
        self.look()
    }

    fn hint(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(self.wake_ups.clone().next())
    }

    fn period(&self) -> Duration {
        match self.stage {
            Stage::Polling(period) | Stage::ForPermits(period) => period,
            Stage::Unranked | Stage::Behind(_) | Stage::InKernelQueue { .. } => LOOK_PERIOD,
        }
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.files.holds.leave(self.claim.id);
    }
}
