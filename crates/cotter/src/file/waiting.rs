//! Waiting for a lock: a ticket, and then a place in the kernel's queue.
//!
//! Whoever has the first ticket stands in the kernel's queue for the lock, by a thread that sleeps there. The others wait
//! for the end of the ticket before theirs. So everybody is woken by what it waits for, and looks by itself only once a
//! second: whether the files still stand there, and whether the lock is free and the one before it does not take it.

use super::backend::{Files, Try};
use super::errors::{errno, fault};
use super::kernel_queue::Sleeper;
use super::lock::{Opened, Way};
use super::paths::Spot;
use super::rival::Rival;
use super::tickets::{Rank, Ticket, arrival};
use crate::backend::poll::Attempt;
use crate::backend::{Claim, Grant};
use crate::sys::ticket::{LOOK, Listener};
use crate::{Error, Result};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// Where no thread could be had to stand in the kernel's queue.
const POLL: Duration = Duration::from_millis(50);
/// The lock was there, but could not be kept.
const SOON: Duration = Duration::from_millis(1);

/// One who waits; dropped, it leaves the queue.
pub(super) struct Place<'a> {
    files: &'a Files,
    claim: &'a Claim,
    spot: Spot,
    way: Way,
    ticket: Option<Ticket>,
    stage: Stage,
    ears: Arc<Ears>,
}

/// What one who has a ticket waits for.
enum Stage {
    /// Its rank is to be looked up.
    Unknown,
    /// The end of a ticket.
    Behind(Rival),
    /// The lock. `passing`: there is somebody before us who did not listen.
    Asleep { sleeper: Sleeper, passing: bool },
    /// The lock, too, but by looking for it.
    Looking(Duration),
}

/// What wakes one who waits.
#[derive(Debug, Default)]
struct Ears {
    woken: Arc<Notify>,
    pipes: Mutex<Pipes>,
}

#[derive(Debug, Default)]
struct Pipes {
    /// Questions to us.
    own: Option<Listener>,
    /// The end of the ticket before ours.
    before: Option<Listener>,
}

impl<'a> Place<'a> {
    pub(super) fn new(files: &'a Files, claim: &'a Claim) -> Self {
        files.holds.wait(claim.id);
        let spot = files.spot(&claim.name);
        let way = Files::way(claim);
        Self { files, claim, spot, way, ticket: None, stage: Stage::Unknown, ears: Arc::default() }
    }

    /// A try when it is our turn.
    fn look(&mut self) -> Result<Option<Grant>> {
        if !self.files.holds.is_waiting(self.claim.id) {
            return Err(Error::not_ours(self.claim.id).with_name(&self.claim.name));
        }
        self.ears.hear();
        let Some(ticket) = &self.ticket else { return self.come() };
        match &self.stage {
            Stage::Behind(rival) if rival.lives() => {
                // While somebody has the lock, it does not matter what those before us do.
                let is_free = self.files.could_be_had(&self.spot, Way::Alone)?;
                let is_shared = || self.files.could_be_had(&self.spot, Way::WithReaders);
                let would_do = is_free || (self.way == Way::WithReaders && is_shared()?);
                if !would_do {
                    return Ok(None);
                }
                if !rival.is_listening() || !ticket.stands() {
                    return self.stand();
                }
                if is_free {
                    self.spot.queue.ask(Some(ticket))?
                } else {
                    rival.ask()
                }
                Ok(None)
            }
            Stage::Asleep { sleeper, passing } => match sleeper.outcome() {
                Some(got) => {
                    let got = got.map_err(|e| fault("locking", &self.spot.lock, e))?;
                    self.wake_up(got, *passing)
                }
                None if sleeper.file().is_at(&self.spot.lock) && ticket.stands() => Ok(None),
                None => self.stand(),
            },
            _ => self.stand(),
        }
    }

    /// Like anybody who does not want to wait; then in line.
    fn come(&mut self) -> Result<Option<Grant>> {
        let granted = self.files.take(self.claim, &self.spot, false)?;
        if granted.is_some() {
            return Ok(granted);
        }
        self.enter(arrival())?;
        self.stand()
    }

    fn enter(&mut self, number: u64) -> Result<()> {
        let ticket = self.spot.queue.enter(number)?;
        self.ears.pipes().own = Some(receiver(ticket.pipe(), &self.spot.queue.directory)?);
        self.ticket = Some(ticket);
        Ok(())
    }

    /// Looks up its place.
    fn stand(&mut self) -> Result<Option<Grant>> {
        self.stage = Stage::Unknown;
        loop {
            let ticket = self.ticket.as_ref().expect("who stands in line has one");
            let number = ticket.number;
            match self.spot.queue.rank(ticket)? {
                Rank::First { passing } => return self.try_it(passing),
                Rank::Missing => self.enter(number)?,
                Rank::Behind(rival) => {
                    if self.stay_behind(rival)? {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// False when it has left before it could be waited for.
    fn stay_behind(&mut self, rival: Rival) -> Result<bool> {
        self.ears.pipes().before = Some(receiver(rival.pipe(), rival.path())?);
        let stays = rival.is_listening();
        if stays {
            self.stage = Stage::Behind(rival);
        }
        Ok(stays)
    }

    fn try_it(&mut self, passing: bool) -> Result<Option<Grant>> {
        self.ears.pipes().before = None;
        let granted = self.files.take(self.claim, &self.spot, true)?;
        if granted.is_none() {
            let opened = Opened::ours(&self.spot.lock, &self.files.directory.access)?;
            let sleeper = self.files.sleepers.start(opened, self.way, &self.ears.woken);
            self.stage = sleeper.map_or(Stage::Looking(POLL), |sleeper| Stage::Asleep { sleeper, passing });
        }
        Ok(granted)
    }

    /// The kernel has given us the lock.
    fn wake_up(&mut self, got: Opened, passing: bool) -> Result<Option<Grant>> {
        // Whoever was passed over may listen by now, and is before us.
        if passing && let Some(rival) = self.before_us()? {
            got.free();
            rival.ask();
            return if self.stay_behind(rival)? { Ok(None) } else { self.stand() };
        }
        self.stage = Stage::Looking(SOON);
        match self.files.go_on(self.claim, &self.spot, true, got, self.files.clock.now())? {
            Try::Granted(grant) => Ok(Some(grant)),
            Try::Busy => Ok(None),
            Try::Again => self.stand(),
        }
    }

    fn before_us(&self) -> Result<Option<Rival>> {
        let Some(ticket) = &self.ticket else { return Ok(None) };
        match self.spot.queue.rank(ticket)? {
            Rank::Behind(rival) => Ok(Some(rival)),
            Rank::First { .. } | Rank::Missing => Ok(None),
        }
    }
}

impl Ears {
    fn pipes(&self) -> MutexGuard<'_, Pipes> {
        self.pipes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Until there is something to hear. What to listen to is looked up when it is polled, after the try.
    async fn listen(self: Arc<Self>) {
        let (own, before) = {
            let pipes = self.pipes();
            (pipes.own.clone(), pipes.before.clone())
        };
        tokio::select! {
            () = self.woken.notified() => {}
            () = readable(own) => {}
            () = readable(before) => {}
        }
    }

    /// Answers all questions, and forgets what was heard.
    fn hear(&self) {
        let pipes = self.pipes();
        pipes.own.iter().for_each(Listener::answer);
        // It is looked at by other means; what comes from now on is heard anew.
        pipes.before.iter().for_each(Listener::forget);
    }
}

async fn readable(pipe: Option<Listener>) {
    match pipe {
        Some(pipe) => pipe.heard().await,
        None => std::future::pending().await,
    }
}

/// An end of a pipe that a task can wait for.
fn receiver(pipe: std::io::Result<OwnedFd>, path: &Path) -> Result<Listener> {
    pipe.and_then(Listener::new).map_err(|e| fault("listening to", path, errno(&e)))
}

impl Attempt for Place<'_> {
    type Done = Grant;

    async fn attempt(&mut self) -> Result<Option<Grant>> {
        self.look()
    }

    fn hint(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(self.ears.clone().listen())
    }

    fn period(&self) -> Duration {
        match self.stage {
            Stage::Looking(period) => period,
            Stage::Unknown | Stage::Behind(_) | Stage::Asleep { .. } => LOOK,
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.files.holds.leave(self.claim.id);
    }
}
