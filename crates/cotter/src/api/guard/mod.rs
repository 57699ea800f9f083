//! A lock that is held.
//!
//! | file | concept |
//! |---|---|
//! | `release` | giving it back |
//! | `rest` | keeping the name locked after that |
//! | `extend` | asking for more time |
//! | `note` | writing notes as a holder |
//! | `ticket` | passing it on to another process |
//! | `newtype` | what guards of other names have in common |

mod extend;
mod newtype;
mod note;
mod release;
mod rest;
mod ticket;

use extend::ask_to_extend;
pub(crate) use newtype::guard_newtype;
pub use release::Released;

use crate::backend::ClaimId;
use crate::engine::{Engine, Hold, Returned, give_back};
use crate::{ExpirySignal, FencingToken, Lease, LossSignal, Lost, Mode, Name, Result, Votes};
use std::fmt;
use std::future::Future;
#[cfg(unix)]
use std::os::fd::OwnedFd;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

/// A lock that is held. Dropping it releases the lock in the background; no runtime is needed for that.
///
/// A guard is not a proof: the process can be paused for longer than the lease, and others may hold the lock when it
/// resumes. Therefore:
/// - call [`check`](Self::check) before each step that must not be done twice, or run the work in
///   [`scope`](Self::scope), or wait for [`lost`](Self::lost) beside it;
/// - end with [`finish`](Self::finish), which fails if the lock was lost on the way;
/// - pass the [`token`](Self::token) to the resource and let it reject smaller ones ([`Fence`](crate::Fence)).
///
/// ```
/// # use cotter::Client;
/// # fn main() -> cotter::Result<()> {
/// # let client = Client::connect("memory:").wait()?;
/// let guard = client.mutex("report").lock().wait()?;
/// for page in 1..=3 {
///     guard.check()?; // stops here once the lock is lost
///     println!("page {page} under token {}", guard.token());
/// }
/// guard.finish().wait()?;
/// # Ok(()) }
/// ```
///
/// A process that ends right after the drop, as at the end of `main`, may end before the release is sent: the lock is then free when
/// its lease ends. Before such an end, call `finish` or [`release`](Self::release), or
/// [`Client::close`](crate::Client::close), and wait for the answer.
///
/// `mem::forget` on a guard with a renewed lease keeps the lock for as long as the process lives.
#[must_use = "a guard that is dropped at once frees the lock at once"]
pub struct Guard {
    /// `None` only while it is taken apart.
    hold: Option<Arc<Hold>>,
    serial: u32,
    token: FencingToken,
}

impl Guard {
    pub(crate) fn new(hold: Arc<Hold>, serial: u32, token: FencingToken) -> Self {
        Self { hold: Some(hold), serial, token }
    }

    /// Returns the name of the lock.
    pub fn name(&self) -> &Name {
        self.hold().name()
    }

    /// Returns the id of the claim that was granted, for logs.
    pub fn id(&self) -> ClaimId {
        self.hold().grant.claim.id
    }

    /// Returns the fencing token: larger than that of every earlier holder of this name.
    pub fn token(&self) -> FencingToken {
        self.token
    }

    /// Returns whether the name is held exclusively or shared.
    pub fn mode(&self) -> Mode {
        self.hold().grant.claim.mode
    }

    /// Returns the lease that was requested.
    pub fn lease(&self) -> Lease {
        self.hold().lease
    }

    /// Returns how many members of a quorum have confirmed the lock: when it was acquired, and since then at each
    /// renewal; `None` for other stores. Makes no request.
    ///
    /// A lock that a bare majority has confirmed is as valid as any other, but does not survive the loss of one of
    /// those members. Renewals ask the members that are missing.
    ///
    /// ```
    /// # use cotter::{Client, memory, quorum};
    /// # fn main() -> cotter::Result<()> {
    /// # let members = [memory::Store::new(), memory::Store::new(), memory::Store::new()];
    /// let client = Client::builder().connect_to(quorum::Store::new(members)?).wait()?;
    /// let guard = client.mutex("orders").lock().wait()?;
    /// assert_eq!(guard.votes().expect("it is a quorum").to_string(), "3 of 3");
    /// # Ok(()) }
    /// ```
    pub fn votes(&self) -> Option<Votes> {
        self.hold().grant.votes.clone()
    }

    /// Returns the number of guards that the same owner has on this lock.
    pub fn holds(&self) -> usize {
        self.hold().count()
    }

    /// Returns true if the lock is still held as far as this process can know. Reads the clock, and makes no request.
    pub fn is_valid(&self) -> bool {
        self.hold().lost().is_none()
    }

    /// Returns how long the lock stays valid without another renewal: zero once it is lost, `None` where it lives with
    /// the process. Where it lives with a session, that is the time until the server ends the session if no further
    /// request of it is answered.
    pub fn remaining(&self) -> Option<Duration> {
        if !self.is_valid() {
            return Some(Duration::ZERO);
        }
        Some(self.hold().deadline()?.since(self.hold().core.now()))
    }

    /// Returns `Ok` while the lock is held. Reads the clock first, so that a process that was paused finds out here.
    ///
    /// # Errors
    /// [`Lost`], with the cause.
    pub fn check(&self) -> Result<(), Lost> {
        self.hold().check(self.token)
    }

    /// Returns a signal that completes when the lock is lost, at the deadline at the latest. After a release, it
    /// completes once the store has answered the release.
    pub fn lost(&self) -> LossSignal {
        LossSignal::new(self.hold().clone(), self.serial, self.token)
    }

    /// Returns a signal that completes `margin` before the [deadline](Self::remaining), while the lock is still held:
    /// for work that needs time to stop.
    ///
    /// A renewal moves the deadline, so with a renewed lease the signal completes only while renewals fail, or before
    /// [`Lease::max_hold`] ends the hold. While a renewal can still move the deadline, it completes no earlier than half
    /// of the time between that renewal and the deadline: a lease is renewed when a third of it has passed, so at most
    /// the last third is left. Where the grant lives with a session, it completes only while the session's requests
    /// fail, and no earlier than a third of the session's time limit before its end. Where the grant lives with the
    /// process, there is no deadline, and the signal never completes before the loss.
    ///
    /// If the lock is lost or released first, the signal completes with [`Lost`].
    ///
    /// Other clients report such states for a connection: *suspended* is when this signal completes, *lost* is
    /// [`lost`](Self::lost), and *reconnected* is [`remaining`](Self::remaining) growing again.
    ///
    /// ```
    /// # use cotter::Client;
    /// # use std::time::Duration;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> cotter::Result<()> {
    /// # let client = Client::connect("memory:").await?;
    /// # async fn pause() {}
    /// # async fn work() {}
    /// let guard = client.mutex("report").lock().await?;
    /// tokio::select! {
    ///     told = guard.expiring(Duration::MAX) => match told {
    ///         Ok(_) => pause().await, // the store is silent, and the lock still held
    ///         Err(lost) => println!("{lost}"),
    ///     },
    ///     () = work() => {}
    /// }
    /// # Ok(()) }
    /// ```
    pub fn expiring(&self, margin: Duration) -> ExpirySignal {
        ExpirySignal::new(self.lost(), margin)
    }

    /// Runs `work` until it is done or the lock is lost, whichever comes first. `Ok` means that the lock was still valid
    /// when `work` returned.
    ///
    /// Cancel safety: as far as `work` is cancel safe; the lock stays held. A `work` that never yields is never stopped.
    ///
    /// # Errors
    /// [`Lost`]; `work` was dropped at the point that it had reached.
    pub async fn scope<F: Future>(&self, work: F) -> Result<F::Output, Lost> {
        until_lost(work, self.lost()).await.and_then(|done| self.check().map(|()| done))
    }

    /// Runs `work` in a scope and releases: the second half of every `with`.
    pub(crate) async fn run<T>(self, work: impl AsyncFnOnce(&Self) -> T) -> Result<T> {
        let done = self.scope(work(&self)).await?;
        match self.end().await {
            Some(lost) => Err(lost.into()),
            None => Ok(done),
        }
    }

    /// Returns duplicates of the descriptors that the grant lives on; none where it does not live on descriptors.
    ///
    /// Meant for a process that must keep the lock when this one is killed: it receives the descriptors over a socket
    /// (`SCM_RIGHTS`), and as long as it keeps them open, no other process gets the lock. It must open them in this
    /// order and close them in the opposite one: closing the last one wakes waiters, and by then the lock has to be
    /// free. A [`release`](Self::release) frees the lock even while duplicates exist, but it wakes waiters at once only
    /// if all duplicates were closed before.
    ///
    /// # Errors
    /// The process has no descriptors left.
    #[cfg(unix)]
    pub fn descriptors(&self) -> std::io::Result<Vec<OwnedFd>> {
        let hold = self.hold();
        hold.core.backend.descriptors(&hold.grant)
    }

    /// Takes the guard apart; the caller gives the serial back.
    pub(crate) fn into_serial(mut self) -> u32 {
        self.hold = None;
        self.serial
    }

    /// The guard as it is in the memory of a forked child.
    #[cfg(test)]
    pub(crate) fn copy_in(&self, child: &Arc<crate::engine::Core>) -> Self {
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

/// Runs `work` until it is done or `lost` completes, whichever comes first.
pub(crate) async fn until_lost<F: Future>(
    work: F,
    lost: impl Future<Output = Lost>,
) -> Result<F::Output, Lost> {
    let mut work = pin!(work);
    tokio::select! {
        biased;
        lost = lost => Err(lost),
        done = &mut work => Ok(done),
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let Some(hold) = self.hold.take() else { return };
        if let Some(rest) = Self::has_to_linger(&hold) {
            return Self::new(hold, self.serial, self.token).linger_unheard(rest);
        }
        if let Returned::Send(parting) | Returned::Evicted(parting) = give_back(&hold, self.serial, None) {
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
