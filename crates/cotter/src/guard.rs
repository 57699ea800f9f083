//! The user's handle on a grant.

use crate::backend::{Extension, NoteAt};
use crate::engine::{Core, Engine, Hold, Returned, give_back, in_background};
use crate::lease::check_ttl;
use crate::notes::{check_key, check_size};
use crate::{Error, ErrorKind, ExpirySignal, FencingToken, Lease, LossCause, LossSignal, Lost};
use crate::{Mode, Name, Op, Result};
use std::fmt;
use std::future::Future;
use std::os::fd::OwnedFd;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

/// A lock that is held. Dropping it releases, in the background and without a runtime.
///
/// A guard is not a proof: the process can be paused for longer than the lease, and others may hold the lock when it
/// wakes up. So:
/// - call [`check`](Self::check) before each step that must not be done by two, or run the work in
///   [`scope`](Self::scope), or wait for [`lost`](Self::lost) beside it;
/// - give the [`token`](Self::token) to the resource and let it refuse smaller ones ([`Fence`](crate::Fence)).
///
/// `mem::forget` of a guard with a renewed lease keeps the lock for as long as the process lives.
#[must_use = "a guard that is dropped at once frees the lock at once"]
pub struct Guard {
    /// `None` only while it is taken apart.
    hold: Option<Arc<Hold>>,
    serial: u32,
    token: FencingToken,
}

/// What became of a release.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Released {
    /// The lock is given back.
    Yes,
    /// The same owner still holds it so many times.
    StillHeld(usize),
    /// It was lost before; what the work did after that may have collided with another holder.
    AlreadyLost,
}

impl Guard {
    pub(crate) fn new(hold: Arc<Hold>, serial: u32, token: FencingToken) -> Self {
        Self { hold: Some(hold), serial, token }
    }

    /// The name of the lock.
    pub fn name(&self) -> &Name {
        self.hold().name()
    }

    /// The claim id of the grant, for logs.
    pub fn id(&self) -> crate::backend::ClaimId {
        self.hold().grant.claim.id
    }

    /// The fencing token: larger than that of every earlier holder of this name.
    pub fn token(&self) -> FencingToken {
        self.token
    }

    /// How the name is held.
    pub fn mode(&self) -> Mode {
        self.hold().grant.claim.mode
    }

    /// How many guards of this owner live on the grant.
    pub fn holds(&self) -> usize {
        self.hold().count()
    }

    pub(crate) fn lease(&self) -> Lease {
        self.hold().lease
    }

    /// Whether the lock is still held as far as this process can know. Looks at the clock, asks nobody.
    pub fn is_valid(&self) -> bool {
        self.hold().lost().is_none()
    }

    /// How long it is valid without another renewal; zero when it is lost, `None` when it lives with the process or
    /// session.
    pub fn remaining(&self) -> Option<Duration> {
        if !self.is_valid() {
            return Some(Duration::ZERO);
        }
        Some(self.hold().deadline()?.since(self.hold().core.now()))
    }

    /// Ok while the lock is held. Looks at the clock first, so that a process that was paused learns it here.
    ///
    /// # Errors
    /// [`Lost`] says why.
    pub fn check(&self) -> Result<(), Lost> {
        self.hold().check(self.token)
    }

    /// Completes when the lock is lost, at the deadline at the latest; after a release when the store has answered it.
    pub fn lost(&self) -> LossSignal {
        LossSignal::new(self.hold().clone(), self.serial, self.token)
    }

    /// Completes `margin` before the deadline, while the lock is still held: for work that needs time to stop. That
    /// comes only while renewals fail (or with a fixed lease), and never where the grant lives with the process or
    /// session; a margin of more than a third of a renewed lease is cut short, because renewals come that late. A loss that
    /// comes first ends it with [`Lost`].
    pub fn expiring(&self, margin: Duration) -> ExpirySignal {
        ExpirySignal::new(self.lost(), margin)
    }

    /// Runs `work` until it is done or the lock is lost, whatever is first. `Ok` means that the lock was still valid
    /// when `work` returned.
    ///
    /// Cancel safe as far as `work` is. A `work` that never yields is never stopped.
    ///
    /// # Errors
    /// [`Lost`]; `work` was dropped where it stood.
    pub async fn scope<F: Future>(&self, work: F) -> Result<F::Output, Lost> {
        let mut work = pin!(work);
        let done = tokio::select! {
            biased;
            lost = self.lost() => return Err(lost),
            done = &mut work => done,
        };
        self.check().map(|()| done)
    }

    /// Makes the lease last at least `ttl` from now. Never shortens it.
    ///
    /// Where the grant lives with the process it moves the end of a fixed lease, and does nothing else.
    ///
    /// # Errors
    /// [`ErrorKind::Lost`], [`ErrorKind::InvalidInput`] for a ttl that the store cannot do,
    /// [`ErrorKind::Unavailable`] when the store does not answer (the lease stays as it is).
    pub fn extend(&self, ttl: Duration) -> Op<()> {
        let (hold, token) = (self.hold().clone(), self.token);
        Op::new(&self.engine(), async move { extend(&hold, token, ttl).await })
    }

    /// Writes the note of this name, which outlives the lock. At most [`Note::MAX_BYTES`](crate::Note::MAX_BYTES).
    ///
    /// # Errors
    /// [`ErrorKind::Lost`] when a later holder was here, [`ErrorKind::Unsupported`] where the store has no notes.
    pub fn put_note(&self, bytes: impl Into<Vec<u8>>) -> Op<()> {
        self.put_note_at("", bytes)
    }

    /// The same under a key: a name may have several notes, independent of each other. A key has at most
    /// [`Note::MAX_KEY`](crate::Note::MAX_KEY) bytes and no control characters.
    ///
    /// Cancel safety: a dropped call may or may not have written; writes are kept in the order in which they were asked
    /// for, so a late one never replaces a newer one of this holder.
    ///
    /// # Errors
    /// As [`put_note`](Self::put_note); [`ErrorKind::InvalidInput`] for a bad key or a note that is too long.
    pub fn put_note_at(&self, key: impl AsRef<str>, bytes: impl Into<Vec<u8>>) -> Op<()> {
        let (hold, token) = (self.hold().clone(), self.token);
        let (key, bytes) = (key.as_ref().to_owned(), bytes.into());
        Op::new(&self.engine(), async move { put_note(&hold, token, key, bytes).await })
    }

    /// Duplicates of the descriptors that the grant lives on; none where it does not live on descriptors.
    ///
    /// For a process that must keep the lock when this one is killed: it receives them over a socket (`SCM_RIGHTS`), and
    /// as long as it has them open nobody else gets the lock. They are to be opened there in this order and closed in
    /// the opposite one: the end of the last wakes those who wait, and by then the lock has to be free. A
    /// [`release`](Self::release) frees the lock whoever has duplicates; that it wakes those who wait at once needs all
    /// duplicates to be closed before.
    ///
    /// # Errors
    /// The process has no descriptors left.
    pub fn descriptors(&self) -> std::io::Result<Vec<OwnedFd>> {
        let hold = self.hold();
        hold.core.backend.descriptors(&hold.grant)
    }

    /// Gives the lock back. Carried out even when the operation is dropped or never polled.
    ///
    /// [`Released::AlreadyLost`] also when the store turns out not to know the lock any more: evicted, deleted, flushed,
    /// taken by another. Of the [turns](crate::Builder::local_turns) that pass inside the process only the last one asks
    /// the store, and speaks for all of them.
    ///
    /// # Errors
    /// [`ErrorKind::Unavailable`] when the store did not answer for as long as the lease lasts: it runs out then.
    pub fn release(self) -> Op<Released> {
        let engine = self.engine();
        Op::new(&engine, self.part(None))
    }

    /// Gives the lock back, but keeps the name locked for `rest` ("at least so long").
    ///
    /// Where grants live with the process, the process keeps it for that time, if it lives so long.
    ///
    /// # Errors
    /// As [`release`](Self::release).
    pub fn leave_for(self, rest: Duration) -> Op<Released> {
        let engine = self.engine();
        if self.hold().core.backend.info().capabilities.keep_for {
            return Op::new(&engine, self.part(Some(rest)));
        }
        Op::new(&engine, self.linger(rest))
    }

    /// Gives it back for one whose work is done: waits for the answer, but not for long. How it was lost, if it was.
    pub(crate) async fn end(self) -> Option<Lost> {
        let (core, signal) = (self.hold().core.clone(), self.lost());
        let parting = self.release();
        let released = tokio::select! {
            biased;
            released = parting => released,
            () = core.clock().sleep_until(core.now() + LAST_WORD) => return None,
        };
        match released {
            Ok(Released::AlreadyLost) => Some(signal.await),
            _ => None,
        }
    }

    async fn part(self, keep_for: Option<Duration>) -> Result<Released> {
        let fixed = !self.hold().lease.renewed;
        let (hold, token) = (self.hold().clone(), self.token);
        match give_back(&hold, self.into_serial(), keep_for) {
            Returned::StillHeld(n) => {
                if fixed {
                    extend(&hold, token, hold.lease.ttl).await?;
                }
                Ok(Released::StillHeld(n))
            }
            Returned::Passed => Ok(Released::Yes),
            Returned::AlreadyLost(LossCause::Forked) => {
                Err(Lost { name: hold.name().clone(), token, cause: LossCause::Forked }.into())
            }
            Returned::AlreadyLost(_) => Ok(Released::AlreadyLost),
            Returned::Send(parting) => parting.await,
        }
    }

    async fn linger(self, rest: Duration) -> Result<Released> {
        // What lives with its process may have gone without a word: the store is asked before it is kept.
        if self.hold().count() == 1 && self.is_valid() {
            ask_to_extend(self.hold(), rest).await?;
        }
        if self.hold().count() > 1 || !self.is_valid() {
            return self.part(None).await;
        }
        let core = self.hold().core.clone();
        let wake = core.clock().sleep_until(core.now() + rest);
        in_background(&core, async move {
            wake.await;
            drop(self);
        });
        Ok(Released::Yes)
    }

    /// Takes the guard apart; whoever does it gives the serial back.
    pub(crate) fn into_serial(mut self) -> u32 {
        self.hold = None;
        self.serial
    }

    /// The guard as it stands in the memory of a forked child.
    #[cfg(test)]
    pub(crate) fn copy_in(&self, child: &Arc<Core>) -> Self {
        let hold = self.hold();
        let copy = Hold::new(child, &hold.line, hold.grant.clone(), hold.lease);
        let (serial, token) = copy.next_turn(None).expect("a grant has a turn");
        Self::new(copy, serial, token)
    }

    pub(crate) fn hold(&self) -> &Arc<Hold> {
        self.hold.as_ref().expect("a guard that is taken apart is not used")
    }

    pub(crate) fn engine(&self) -> Arc<Engine> {
        self.hold().core.engine.clone()
    }
}

/// So long the end of a piece of work waits for the answer to its release.
const LAST_WORD: Duration = Duration::from_secs(2);

async fn extend(hold: &Arc<Hold>, token: FencingToken, ttl: Duration) -> Result<()> {
    let core = &hold.core;
    core.usable()?;
    check_ttl(ttl, core.backend.info().capabilities.min_ttl)?;
    hold.check(token)?;
    ask_to_extend(hold, ttl).await?;
    if hold.lost().is_none() {
        hold.prolong(ttl);
    }
    core.engine.agenda().moved(hold);
    Ok(hold.check(token)?)
}

/// Asks the store, and takes in what it answers: more time, or that the grant is lost.
async fn ask_to_extend(hold: &Arc<Hold>, ttl: Duration) -> Result<()> {
    let asked = hold.clone();
    let extend = async move { Ok(asked.core.backend.extend(&[&asked.grant], ttl).await) };
    match hold.core.on_engine(extend).await?.pop() {
        Some(Ok(Extension::Extended { as_of, ttl: given })) => {
            hold.extended(as_of, given);
            Ok(())
        }
        Some(Ok(Extension::Lost(cause))) => {
            hold.lose(cause);
            Ok(())
        }
        Some(Err(e)) => Err(hold.core.at_the_server(e).with_name(hold.name())),
        None => Err(Error::new(ErrorKind::Protocol, "no answer for the grant").with_name(hold.name())),
    }
}

async fn put_note(hold: &Arc<Hold>, token: FencingToken, key: String, bytes: Vec<u8>) -> Result<()> {
    let core: &Core = &hold.core;
    core.usable()?;
    check_key(hold.name(), &key)?;
    check_size(hold.name(), &bytes)?;
    hold.check(token)?;
    let at = hold.next_note();
    let asked = hold.clone();
    let store = async move {
        let at = NoteAt { key: &key, token: token.get(), sequence: at };
        asked.core.notes()?.store(&asked.grant, at, &bytes).await
    };
    match core.on_engine(store).await? {
        Some(_) => Ok(()),
        None => {
            // The store knows why, where it knows it.
            let shortest = core.backend.info().capabilities.min_ttl;
            let _ = ask_to_extend(hold, shortest).await;
            hold.lose(LossCause::Gone);
            hold.check(token)?;
            Err(Error::not_ours(hold.grant.claim.id).with_name(hold.name()))
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let Some(hold) = self.hold.take() else { return };
        if let Returned::Send(parting) = give_back(&hold, self.serial, None) {
            parting.detach();
        }
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard")
            .field("name", self.name())
            .field("token", &self.token)
            .field("mode", &self.mode())
            .field("remaining", &self.remaining())
            .finish_non_exhaustive()
    }
}
