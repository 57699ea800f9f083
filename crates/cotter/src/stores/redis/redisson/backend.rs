//! The contract with Redisson's locks.

use super::fair::Place;
use super::names;
use super::recipe::Recipe;
use super::waiting::Waiting;
use crate::backend::pace::Pauses;
use crate::backend::{
    Acquired, Admin, Backend, Capabilities, Claim, ClaimId, Extension, Grant, Info, Leave, Mode, Release,
    Until, poll,
};
use crate::stores::redis::batch::extend_all;
use crate::stores::redis::connection::Link;
use crate::stores::redis::wake::Subscription;
use crate::stores::redis::{SCHEME, Shared, doctor};
use crate::{Name, Result};
use async_trait::async_trait;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// A connection that speaks Redisson's protocol.
#[derive(Debug)]
pub(in crate::stores::redis) struct Redisson {
    pub(super) link: Arc<Link>,
    pub(super) shared: Arc<Shared>,
    pub(super) subscription: Subscription,
    /// How long this process leaves a lock to others after it has held it.
    pub(super) rests: Pauses,
    info: Info,
}

/// A shorter lease could end before its holder has read the answer.
const MIN_TTL: Duration = Duration::from_millis(5);
/// A process rests for about as long after it has held a lock that others want: they are woken, and ask within that time.
const REST: Duration = Duration::from_millis(10);
/// The field in place of an evicted holder. It belongs to nobody and ends with the lease.
pub(super) const EVICTED: &str = "cotter: evicted";
/// The field that keeps a lock for a time after its release.
pub(super) const LEFT_BEHIND: &str = "cotter: left behind";

impl Redisson {
    pub(in crate::stores::redis) fn new(link: Arc<Link>, shared: Arc<Shared>) -> Self {
        let instance = format!("{} (redisson)", shared.options.instance);
        let mut info = Info::new(SCHEME, instance);
        let recipe = shared.options.recipe;
        info.variant = recipe.variant();
        info.capabilities = Capabilities {
            leases: true,
            ordered: recipe == Recipe::Fair,
            names: true,
            distinct: true,
            shared: recipe == Recipe::RwLock,
            permits: recipe == Recipe::Permits,
            per_runtime: true,
            keep_for: recipe != Recipe::Permits,
            min_ttl: MIN_TTL,
            ..Capabilities::default()
        };
        info.names_are_given = true;
        // The subscription begins with a channel of its own, on which nobody publishes.
        let channel = format!("{}:{{cotter:{}}}", names::channels(recipe), ClaimId::random());
        let subscription = Subscription::new(&link, &shared.waiters, channel, String::new());
        Self { subscription, rests: Pauses::up_to(REST), info, link, shared }
    }

    pub(super) fn recipe(&self) -> Recipe {
        self.shared.options.recipe
    }

    /// The owner of what a claim holds.
    pub(super) fn owner(&self, claim: &Claim) -> String {
        self.shared.uuid.owner(self.recipe(), claim)
    }
}

#[async_trait]
impl Backend for Redisson {
    fn info(&self) -> &Info {
        &self.info
    }

    async fn acquire(&self, claim: &Claim, until: Until) -> Result<Acquired> {
        self.info.supports(claim.mode)?;
        match until.moment() {
            None => self.try_once(claim, Place::Outside).await.map(|tried| tried.granted().into()),
            Some(_) if self.recipe() == Recipe::Fair => {
                let waiting = Waiting::new(self, claim);
                Box::pin(poll::in_queue(self, &**self.link.clock(), claim, until, waiting)).await
            }
            // Boxed, or the future of a single attempt would have room for it.
            Some(_) => {
                let mut waiting = Waiting::new(self, claim);
                let granted = Box::pin(poll::until(&**self.link.clock(), until, &mut waiting));
                granted.await.map(Acquired::from)
            }
        }
    }

    async fn extend(&self, grants: &[&Grant], ttl: Duration) -> Vec<Result<Extension>> {
        extend_all(grants, |batch| self.extend_batch(batch, ttl)).await
    }

    async fn release(&self, claim: &Claim, leave: Leave) -> Result<Release> {
        match claim.mode {
            Mode::Exclusive | Mode::Permits { .. } => self.free(claim, leave).await,
            _ => self.leave(claim, leave).await,
        }
    }

    async fn set_limit(&self, name: &Name, of: u32) -> Result<()> {
        self.info.supports(Mode::Permits { take: 1, of }).map_err(|e| e.with_name(name))?;
        self.limit_permits(name, of).await
    }

    async fn time(&self) -> Result<Option<SystemTime>> {
        doctor::time(&self.link).await.map(|(now, _)| Some(now))
    }

    async fn close(&self) {
        self.subscription.close();
        self.link.close();
    }

    fn admin(&self) -> Option<&dyn Admin> {
        Some(self)
    }
}
