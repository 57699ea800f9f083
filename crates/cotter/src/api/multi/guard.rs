//! Several locks that are held together.

use crate::api::guard::until_lost;
use crate::join::{First, all};
use crate::{Error, Expiring, Guard, Lost, Op, Released, Result};
use std::fmt;
use std::future::Future;
use std::time::Duration;

/// Several locks that are held together as one: the loss of one is the loss of all. Dropping this releases them in the
/// background.
///
/// When one is lost, [`check`](Self::check), [`lost`](Self::lost) and [`scope`](Self::scope) report it. The others stay
/// locked until this is dropped or released, so that no other holder starts beside work that has not stopped yet.
///
/// ```
/// # use cotter::Client;
/// # fn main() -> cotter::Result<()> {
/// # let client = Client::connect("memory:").wait()?;
/// let guard = cotter::multi([&client.mutex("account:1"), &client.mutex("account:2")]).lock().wait()?;
/// for lock in guard.guards() {
///     println!("{} under token {}", lock.name(), lock.token());
/// }
/// guard.check()?; // stops here once one of them is lost
/// guard.finish().wait()?;
/// # Ok(()) }
/// ```
///
/// Each lock has its own [token](Guard::token); pass a resource the token of the lock that protects it.
#[must_use = "a guard that is dropped at once frees the locks at once"]
pub struct MultiGuard(Vec<Guard>);

impl MultiGuard {
    pub(super) fn new(guards: Vec<Guard>) -> Self {
        Self(guards)
    }

    /// Returns the guard of each lock, with its name and token, in the order in which they were locked.
    pub fn guards(&self) -> &[Guard] {
        &self.0
    }

    /// Returns true if all locks are still held as far as this process can know. Reads the clock, and makes no request.
    pub fn is_valid(&self) -> bool {
        self.0.iter().all(Guard::is_valid)
    }

    /// Returns how long all locks stay valid without another renewal: the shortest time. Zero once one is lost; `None`
    /// if all live with the process or a session.
    pub fn remaining(&self) -> Option<Duration> {
        self.0.iter().filter_map(Guard::remaining).min()
    }

    /// Returns `Ok` while all locks are held. Reads the clock first, so that a process that was paused finds out here.
    ///
    /// # Errors
    /// [`Lost`], with the name of the lock and the cause.
    pub fn check(&self) -> Result<(), Lost> {
        self.0.iter().try_for_each(Guard::check)
    }

    /// Returns a future that completes when the first of the locks is lost, at its deadline at the latest. After a
    /// release, it completes once the store has answered the release.
    pub fn lost(&self) -> impl Future<Output = Lost> + Clone + Send + Unpin + use<> {
        First(self.0.iter().map(Guard::lost).collect())
    }

    /// Returns a future that completes `margin` before the first deadline, while all locks are still held; see
    /// [`Guard::expiring`].
    pub fn expiring(
        &self,
        margin: Duration,
    ) -> impl Future<Output = Result<Expiring, Lost>> + Clone + Send + Unpin + use<> {
        First(self.0.iter().map(|guard| guard.expiring(margin)).collect())
    }

    /// Runs `work` until it is done or one of the locks is lost, whichever comes first. `Ok` means that all locks were
    /// still valid when `work` returned.
    ///
    /// Cancel safety: as far as `work` is cancel safe; the locks stay held. A `work` that never yields is never stopped.
    ///
    /// # Errors
    /// [`Lost`]; `work` was dropped at the point that it had reached.
    pub async fn scope<F: Future>(&self, work: F) -> Result<F::Output, Lost> {
        until_lost(work, self.lost()).await.and_then(|done| self.check().map(|()| done))
    }

    /// Releases all locks, at once. Returns [`Released::AlreadyLost`] if one of them was lost before.
    ///
    /// Cancel safety: the release is carried out even if the call is dropped or never polled.
    ///
    /// # Errors
    /// As [`Guard::release`], for the first lock that was not released; the others are released all the same.
    pub fn release(self) -> Op<Released> {
        self.part(Guard::release, |answers| {
            let held = answers.iter().copied().max_by_key(|answer| match answer {
                Released::Yes => 0,
                Released::StillHeld(n) => *n,
                Released::AlreadyLost => usize::MAX,
            });
            held.unwrap_or(Released::Yes)
        })
    }

    /// Releases all locks at the end of the work that needed them: `Ok` means that all were held until now.
    ///
    /// Cancel safety: as for [`release`](Self::release).
    ///
    /// # Errors
    /// [`ErrorKind::Lost`](crate::ErrorKind::Lost) if one of them was lost before; otherwise as [`release`](Self::release).
    pub fn finish(self) -> Op<()> {
        self.part(Guard::finish, |_| ())
    }

    fn part<T: Send + 'static, A>(self, how: fn(Guard) -> Op<T>, sum: fn(Vec<T>) -> A) -> Op<A>
    where
        A: Send + 'static,
    {
        let engine = self.0.first().map(Guard::engine);
        let parting = async move {
            let mut answers = all(self.0.into_iter().map(how)).await;
            // The loss of one must not hide behind another that is only not released yet.
            answers.sort_by_key(|answer| answer.as_ref().err().is_none_or(|e| e.lost().is_none()));
            answers.into_iter().collect::<Result<Vec<T>, Error>>().map(sum)
        };
        match engine {
            Some(engine) => Op::new(&engine, parting),
            None => Op::detached(parting),
        }
    }
}

impl fmt::Debug for MultiGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MultiGuard").field(&self.0).finish()
    }
}
