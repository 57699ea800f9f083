//! The connections of one runtime: one, and more of them while requests would wait for each other.
//!
//! A connection carries out one statement after the other, and each of them is a commit, which may wait for a disk. Several
//! connections wait for it together.

use super::{Link, Live, Load, Open};
use crate::backend::ClaimId;
use crate::sync::lock;
use crate::{Clock, Moment, Result};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Opens the connections of a pool.
pub(crate) trait Pooled: Open {
    /// The most connections that one runtime has for requests.
    fn connections(&self) -> usize;

    /// The requests that a connection has not answered yet.
    fn load(live: &Self::Live) -> &Load;
}

/// The connections of one runtime.
pub(crate) struct Pool<C: Pooled> {
    first: Arc<Link<C>>,
    more: Vec<Spare<C>>,
}

/// A connection that is opened when there is work for it.
struct Spare<C: Pooled> {
    link: Link<C>,
    /// When it may be tried again: the server may have no session to spare.
    next_try: Mutex<Moment>,
}

/// The pause between two attempts to open a connection that could be done without.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

impl<C: Pooled> Pool<C> {
    /// Connects for the first time. The caller's runtime drives the connections from now on.
    pub(crate) async fn open(connector: &C, clock: &Arc<dyn Clock>) -> Result<Self> {
        let first = Link::open(connector.clone(), clock).await?;
        let spare =
            |_| Spare { link: Link::later(connector.clone(), clock), next_try: Mutex::new(Moment::ZERO) };
        Ok(Self { first, more: (1..connector.connections()).map(spare).collect() })
    }

    /// The connection that is always there.
    pub(crate) fn first(&self) -> &Arc<Link<C>> {
        &self.first
    }

    /// The connection for a claim: the same one for all its requests, as far as possible, because only there they stay in
    /// order. Nobody waits for a connection to be opened.
    pub(crate) fn of(&self, id: ClaimId) -> &Link<C> {
        let slot = (id.bits() % (self.more.len() as u128 + 1)) as usize;
        let Some(spare) = slot.checked_sub(1).map(|at| &self.more[at]) else { return &self.first };
        if spare.link.current().is_some_and(|live| live.is_usable()) {
            return &spare.link;
        }
        if self.first.current().is_some_and(|live| C::load(&live).is_busy()) {
            spare.prepare();
        }
        &self.first
    }

    pub(crate) fn close(&self) {
        self.more.iter().for_each(|spare| spare.link.close());
        self.first.close();
    }
}

impl<C: Pooled> Spare<C> {
    /// Opens it in the background.
    fn prepare(&self) {
        let (now, mut next_try) = (self.link.now(), lock(&self.next_try));
        if now >= *next_try {
            *next_try = now + RETRY_PAUSE;
            self.link.prepare();
        }
    }
}

impl<C: Pooled> fmt::Debug for Pool<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("first", &self.first).finish_non_exhaustive()
    }
}
