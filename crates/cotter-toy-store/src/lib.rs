//! A minimal backend, for authors of backends to start from.
//!
//! It keeps leases in a map of this process and polls, without a queue. It uses nothing but the published API of cotter,
//! and passes the conformance suite: `tests/conformance.rs` is all that takes.
//!
//! ```
//! # use cotter_toy_store::ToyStore;
//! # fn main() -> cotter::Result<()> {
//! let client = cotter::Client::builder().connect_to(ToyStore::default()).wait()?;
//! let guard = client.mutex("orders").lock().wait()?;
//! guard.finish().wait()?;
//! # Ok(()) }
//! ```

mod locks;
mod waiting;

use cotter::backend::{
    Acquired, Backend, Claim, Connect, Extension, Grant, Host, Info, Leave, Mode, Release, Until,
    async_trait, poll,
};
use cotter::clock::{Clock, Moment};
use cotter::{Error, LossCause, Result};
use locks::Locks;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use waiting::Waiting;

/// A store in the memory of this process. Clones share it, and all clients on them must have the same clock.
#[derive(Debug, Clone, Default)]
pub struct ToyStore(Arc<Mutex<Locks>>);

impl ToyStore {
    fn lock(&self) -> MutexGuard<'_, Locks> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Connect for ToyStore {
    async fn connect(&self, host: &Host) -> Result<Arc<dyn Backend>> {
        let mut info = Info::new("toy", "a map in this process");
        info.capabilities.leases = true;
        info.capabilities.names = true;
        info.capabilities.distinct = true;
        info.capabilities.keep_for = true;
        info.capabilities.immediate = true;
        info.capabilities.min_ttl = Duration::from_millis(10);
        Ok(Arc::new(Toy { store: self.clone(), clock: host.clock().clone(), info }))
    }
}

/// One connection to the store.
#[derive(Debug)]
struct Toy {
    store: ToyStore,
    clock: Arc<dyn Clock>,
    info: Info,
}

impl Toy {
    /// Asks the store; the moment is the one before the request, as the contract demands.
    fn ask<T>(&self, question: impl FnOnce(&mut Locks, Moment) -> T) -> T {
        let now = self.clock.now();
        question(&mut self.store.lock(), now)
    }
}

#[async_trait]
impl Backend for Toy {
    fn info(&self) -> &Info {
        &self.info
    }

    async fn acquire(&self, claim: &Claim, until: Until) -> Result<Acquired> {
        if claim.mode != Mode::Exclusive {
            let refused = Error::unsupported("anything but an exclusive lock", self.info.variant);
            return Err(refused.with_name(&claim.name));
        }
        let mut waiting = Waiting::new(self, claim);
        Ok(poll::until(&*self.clock, until, &mut waiting).await?.flatten().into())
    }

    async fn extend(&self, grants: &[&Grant], ttl: Duration) -> Vec<Result<Extension>> {
        let extend = |grant: &&Grant| {
            let extended = self.ask(|locks, now| Some((now, locks.extend(&grant.claim, now, ttl)?)));
            Ok(match extended {
                Some((now, left)) => Extension::extended(now, Some(left)),
                None => Extension::Lost(LossCause::Gone),
            })
        };
        grants.iter().map(extend).collect()
    }

    async fn release(&self, claim: &Claim, leave: Leave) -> Result<Release> {
        let was_held = self.ask(|locks, now| locks.release(claim, now, leave));
        Ok(if was_held { Release::Freed } else { Release::NotHeld })
    }

    async fn close(&self) {}
}
