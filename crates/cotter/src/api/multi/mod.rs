//! Several locks at once, all or nothing.
//!
//! | file | concept |
//! |---|---|
//! | `guard` | several locks that are held together |

mod guard;

pub use guard::MultiGuard;

use crate::backend::Until;
use crate::engine::Wait;
use crate::join::First;
use crate::{Error, ErrorKind, Guard, Mutex, Name, Op, Result};
use std::fmt;
use std::future::Future;
use std::time::Duration;

/// Several mutexes that are locked together; created by [`multi`].
///
/// ```
/// # use cotter::Client;
/// # fn main() -> cotter::Result<()> {
/// # let client = Client::connect("memory:").wait()?;
/// let both = cotter::multi([&client.mutex("account:1"), &client.mutex("account:2")]);
/// let guard = both.lock().wait()?;
/// assert!(client.mutex("account:2").try_lock().wait()?.is_none());
/// guard.finish().wait()?;
/// # Ok(()) }
/// ```
#[must_use = "a handle holds nothing; call lock() or one of its siblings"]
#[derive(Clone)]
pub struct Multi(Result<Vec<Mutex>>);

/// Combines several mutexes, of one or more clients, to be locked all or none.
///
/// They are locked one after the other, in an order that is the same everywhere: by store, then by name. Tasks and
/// processes that lock several names only in this way therefore never wait for each other in a cycle, whatever order
/// they pass them in.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> cotter::Result<()> {
/// # let accounts = cotter::Client::connect("memory:").await?;
/// # let ledger = cotter::Client::connect("memory:").await?;
/// let (from, to) = (accounts.mutex("account:1"), accounts.mutex("account:2"));
/// let entry = ledger.mutex("entry:2026-11");
/// let guard = cotter::multi([&from, &to, &entry]).lock().await?;
/// if let Err(lost) = guard.scope(async { /* transfer */ }).await {
///     eprintln!("stop: {lost}");
/// }
/// guard.finish().await?;
/// # Ok(()) }
/// ```
///
/// **Is this what you want?** Yes, if the work needs several things that are also locked individually elsewhere. No, if
/// they are always locked together: one name for all is cheaper and is lost as a whole. No, if it is meant to make a
/// lock safer by keeping it on several servers: if one of them is down, nothing can be locked. Nor does it make work on
/// two stores atomic: that work can fail half-way.
///
/// Each name may be given once. Mutexes count as belonging to the same store if
/// [`Info::instance`](crate::Info::instance) of their clients is equal, so use the same URL for a store everywhere. The same name in
/// another mode or under another prefix is another lock.
/// Each mutex keeps its own lease and owner. While waiting for one of the mutexes, the call holds those before it in
/// the order, and with a lease that is not renewed may lose them meanwhile.
pub fn multi<'a>(mutexes: impl IntoIterator<Item = &'a Mutex>) -> Multi {
    Multi(in_order(mutexes.into_iter().cloned().collect()))
}

/// Which lock a mutex is, among all stores: at which instance, in which mode, under which prefix, and its name.
type Key = (String, &'static str, String, Option<Name>);

fn in_order(mutexes: Vec<Mutex>) -> Result<Vec<Mutex>> {
    let mut keyed = Vec::with_capacity(mutexes.len());
    for mutex in mutexes {
        keyed.push((key(&mutex)?, mutex));
    }
    keyed.sort_by(|(one, _), (other, _)| one.cmp(other));
    if let Some([_, ((.., name), mutex)]) = keyed.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        let why = match name {
            Some(_) => "this name was given twice; a task would wait for itself",
            None => "all names of this store are one lock; a task would wait for itself",
        };
        return Err(Error::new(ErrorKind::InvalidInput, why).with_name(mutex.name()?));
    }
    if keyed.is_empty() {
        return Err(Error::new(ErrorKind::InvalidInput, "there is nothing to lock"));
    }
    Ok(keyed.into_iter().map(|(_, mutex)| mutex).collect())
}

fn key(mutex: &Mutex) -> Result<Key> {
    let (info, name) = (mutex.core().backend.info(), mutex.name()?);
    let name = info.capabilities.names.then(|| name.clone());
    Ok((info.instance.clone(), info.variant, info.place.clone(), name))
}

impl Multi {
    /// Locks all mutexes, waiting until all are held.
    ///
    /// Cancel safety: dropping the call releases the mutexes that it has locked, and undoes the acquisition in
    /// progress.
    ///
    /// # Errors
    /// As [`Mutex::lock`], for the first mutex that fails: the others are released. [`ErrorKind::Lost`] if one was lost
    /// while the call waited for another, [`ErrorKind::InvalidInput`] if there is no mutex, or if two are of the same
    /// lock.
    pub fn lock(&self) -> Op<MultiGuard> {
        self.op(async move |mutexes| {
            let locked = lock_all(&mutexes, Wait::Forever).await?;
            locked.ok_or_else(|| Error::new(ErrorKind::Protocol, "the store gave up a wait without end"))
        })
    }

    /// Tries once to lock all mutexes. Returns `None` if one of them is busy, in which case none is held.
    ///
    /// Cancel safety: as for [`lock`](Self::lock).
    ///
    /// # Errors
    /// As [`lock`](Self::lock).
    pub fn try_lock(&self) -> Op<Option<MultiGuard>> {
        self.op(async move |mutexes| lock_all(&mutexes, Wait::No).await)
    }

    /// Locks all mutexes, waiting for at most `wait` in total. Returns `None` if one of them was busy all that time, in
    /// which case none is held.
    ///
    /// Cancel safety: as for [`lock`](Self::lock).
    ///
    /// # Errors
    /// As [`lock`](Self::lock); [`ErrorKind::Unavailable`] if a store did not answer within `wait`.
    pub fn try_lock_for(&self, wait: Duration) -> Op<Option<MultiGuard>> {
        self.op(async move |mutexes| lock_all(&mutexes, Wait::For(wait)).await)
    }

    /// Locks all mutexes, runs `work` in [`MultiGuard::scope`], and releases them.
    ///
    /// Cancel safety: as far as `work` is cancel safe; the locks are released.
    ///
    /// # Errors
    /// As [`lock`](Self::lock) and [`MultiGuard::finish`]; [`ErrorKind::Lost`] if one of the locks was lost before
    /// `work` returned, in which case `work` was dropped at the point that it had reached.
    pub async fn with<T>(&self, work: impl AsyncFnOnce(&MultiGuard) -> T) -> Result<T> {
        let guard = self.lock().await?;
        let done = guard.scope(work(&guard)).await?;
        guard.finish().await?;
        Ok(done)
    }

    fn op<T, F>(&self, work: impl FnOnce(Vec<Mutex>) -> F + Send + 'static) -> Op<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let mutexes = self.0.clone();
        let engine = mutexes.as_ref().ok().and_then(|m| m.first()).map(|m| m.core().engine.clone());
        let op = async move { work(mutexes?).await };
        match engine {
            Some(engine) => Op::new(&engine, op),
            None => Op::detached(op),
        }
    }
}

/// Locks one after the other. Returning or being dropped early releases what was locked.
async fn lock_all(mutexes: &[Mutex], wait: Wait) -> Result<Option<MultiGuard>> {
    // Each by the clock of its own client.
    let ends: Vec<Until> = mutexes.iter().map(|mutex| mutex.core().until(wait)).collect();
    let mut held: Vec<Guard> = Vec::with_capacity(mutexes.len());
    for (mutex, end) in mutexes.iter().zip(ends) {
        let lost = First(held.iter().map(Guard::lost).collect());
        let guard = tokio::select! {
            biased;
            lost = lost => return Err(lost.into()),
            guard = lock_one(mutex, end) => guard?,
        };
        match guard {
            Some(guard) => held.push(guard),
            None => return Ok(None),
        }
    }
    let all = MultiGuard::new(held);
    all.check()?;
    Ok(Some(all))
}

async fn lock_one(mutex: &Mutex, end: Until) -> Result<Option<Guard>> {
    match end {
        Until::Now => mutex.try_lock().await,
        Until::Moment(end) => mutex.try_lock_for(end.since(mutex.core().now())).await,
        _ => mutex.lock().await.map(Some),
    }
}

impl fmt::Debug for Multi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Multi").field(&self.0).finish()
    }
}
