//! What an operator does: listing and evicting locks, tickets of others, examining and preparing the store.

use crate::api::listing::Records;
use crate::api::trial::trial;
use crate::backend::EvictOrder;
use crate::engine::{Core, extend_ticket, release_ticket};
use crate::{Eviction, Filter, Finding, Name, Op, PruneOrder, Pruning, Released, Ticket};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The calls of an operator, from [`Client::admin`](crate::Client::admin). Cheap to clone.
///
/// ```
/// # use cotter::{Client, Filter};
/// # fn main() -> cotter::Result<()> {
/// let client = Client::connect("memory:").wait()?;
/// let guard = client.mutex("orders:cleanup").lock().wait()?;
/// let mut locks = client.admin().list(Filter::default());
/// while let Some(record) = locks.blocking_next()? {
///     println!("{} is held by {}", record.name, record.holders[0].label);
/// }
/// # drop(guard); Ok(()) }
/// ```
#[derive(Clone)]
pub struct Admin(Arc<Core>);

impl Admin {
    pub(crate) fn new(core: Arc<Core>) -> Self {
        Self(core)
    }

    /// Lists the locks that match a filter, reading page by page.
    pub fn list(&self, filter: Filter) -> Records {
        Records::new(self.0.clone(), filter)
    }

    /// Takes the lock away from its holder, which finds out at its next renewal; the lock is free when the lease ends.
    ///
    /// The holder sees [`LossCause::Evicted`](crate::LossCause::Evicted) and can write no more notes.
    ///
    /// Cancel safety: if the call is dropped, the holder may or may not have been evicted.
    ///
    /// # Errors
    /// [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable) if the store did not answer; the holder may have been
    /// evicted. [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) where the store cannot do it.
    pub fn evict(&self, name: impl AsRef<str>) -> Op<Eviction> {
        self.evict_with(name, EvictOrder::default())
    }

    /// Like [`evict`](Self::evict), but optionally only for the holder that [owns](crate::backend::Holder::owns) a certain token,
    /// or at once. The latter
    /// voids the exclusion: the holder may continue to work for up to its ttl.
    ///
    /// ```
    /// # use cotter::{Client, EvictOrder, Eviction};
    /// # fn main() -> cotter::Result<()> {
    /// # let client = Client::connect("memory:").wait()?;
    /// # let guard = client.mutex("backup").lock().wait()?;
    /// if let Some(record) = client.holder("backup").wait()? {
    ///     // Not a later holder, should another process have the lock by now.
    ///     let order = EvictOrder::new().only(record.holders[0].token);
    ///     match client.admin().evict_with("backup", order).wait()? {
    ///         Eviction::Evicted { token } => println!("evicted {token}"),
    ///         Eviction::HolderMustExit { pid } => println!("stop process {pid}"),
    ///         _ => println!("it is free already"),
    ///     }
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// Cancel safety: as for [`evict`](Self::evict).
    ///
    /// # Errors
    /// As [`evict`](Self::evict).
    pub fn evict_with(&self, name: impl AsRef<str>, order: EvictOrder) -> Op<Eviction> {
        let (core, name) = (self.0.clone(), Name::new(name));
        Op::new(&self.0.engine, async move {
            core.usable()?;
            let (asked, name) = (core.clone(), name?);
            let evicted = name.clone();
            let evict = async move { asked.admin()?.evict(&evicted, order).await };
            core.on_engine(evict).await.map_err(|e| e.with_name(&name))
        })
    }

    /// Deletes what is left of names that are no longer in use, on stores that would otherwise keep it: the files of
    /// `file:`. A name that is held or waited for is left alone, and a lock that is taken meanwhile is not lost. An
    /// attempt to take a name without waiting may find it busy at the moment at which the name is deleted.
    ///
    /// Nothing happens until the [results](Pruning) are requested.
    pub fn prune(&self, order: PruneOrder) -> Pruning {
        Pruning::new(self.0.clone(), order)
    }

    /// Extends the lease of a ticket to at least `ttl` from now. Never shortens it.
    ///
    /// Cancel safety: if the call is dropped, the store may or may not have extended the lease.
    ///
    /// # Errors
    /// As [`Client::resume`](crate::Client::resume), and [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for a ttl outside the
    /// store's limits.
    pub fn extend_ticket(&self, ticket: &Ticket, ttl: Duration) -> Op<()> {
        Op::new(&self.0.engine, extend_ticket(self.0.clone(), ticket.clone(), ttl))
    }

    /// Frees the lock of a ticket. Never returns [`StillHeld`](Released::StillHeld).
    ///
    /// Cancel safety: if the call is dropped, the store may or may not have freed the lock.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) where the store has no tickets,
    /// [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable) if the store did not answer. The call can be repeated.
    pub fn release_ticket(&self, ticket: &Ticket) -> Op<Released> {
        Op::new(&self.0.engine, release_ticket(self.0.clone(), ticket.clone()))
    }

    /// Examines the store: what it promises, and what in its setup weakens that. Takes a lock of a reserved name
    /// (`cotter:doctor`) and gives it back: settings and rights do not tell whether locks work.
    ///
    /// Cancel safety: if the call is dropped, what it has written in the store disappears in the background.
    ///
    /// # Errors
    /// [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable) if the store did not answer,
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) where it cannot be examined.
    pub fn diagnose(&self) -> Op<Vec<Finding>> {
        let core = self.0.clone();
        Op::new(&self.0.engine, async move {
            core.usable()?;
            let asked = core.clone();
            let mut findings = core.on_engine(async move { asked.admin()?.diagnose().await }).await?;
            findings.extend(trial(&core).await);
            Ok(findings)
        })
    }

    /// Prepares a new store for use where only an operator knows that no lock is held: the members of a new
    /// [quorum](crate::quorum) vote at once, instead of only after the longest lease that they might have granted
    /// before. On a store that is in use, this may admit a second holder.
    ///
    /// Cancel safety: if the call is dropped, it may or may not be carried out.
    ///
    /// # Errors
    /// [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable) if a member did not answer,
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) where there is nothing to do.
    pub fn initialize(&self) -> Op<()> {
        let core = self.0.clone();
        Op::new(&self.0.engine, async move {
            core.usable()?;
            let asked = core.clone();
            core.on_engine(async move { asked.admin()?.initialize().await }).await
        })
    }
}

impl fmt::Debug for Admin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admin").field("store", &self.0.backend.info().instance).finish_non_exhaustive()
    }
}
