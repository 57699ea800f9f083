//! The connections of one runtime: one, and more of them while requests would wait for each other.
//!
//! A connection carries out one statement after the other, and each of them is a commit, which may wait for a disk. Several
//! connections wait for it together.

use super::connector::{Connector, Link};
use crate::backend::ClaimId;
use crate::net::Live;
use crate::sync::lock;
use crate::{Clock, Moment, Result};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The connections of one runtime.
#[derive(Debug)]
pub(super) struct Pool {
    first: Arc<Link>,
    more: Vec<Spare>,
}

/// A connection that is opened when there is work for it.
#[derive(Debug)]
struct Spare {
    link: Link,
    /// When it may be tried again: the server may have no session to spare.
    next_try: Mutex<Moment>,
}

/// The pause between two attempts to open a connection that could be done without.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

impl Pool {
    /// Connects for the first time. The caller's runtime drives the connections from now on.
    pub(super) async fn open(connector: &Connector, clock: &Arc<dyn Clock>) -> Result<Self> {
        let first = Link::open(connector.clone(), clock).await?;
        let spare =
            |_| Spare { link: Link::later(connector.clone(), clock), next_try: Mutex::new(Moment::ZERO) };
        Ok(Self { first, more: (1..connector.connections()).map(spare).collect() })
    }

    /// The connection that is always there.
    pub(super) fn first(&self) -> &Arc<Link> {
        &self.first
    }

    /// The connection for a claim: the same one for all its requests, as far as possible, because only there they stay in
    /// order. Nobody waits for a connection to be opened.
    pub(super) fn of(&self, id: ClaimId) -> &Link {
        let slot = (id.bits() % (self.more.len() as u128 + 1)) as usize;
        let Some(spare) = slot.checked_sub(1).map(|at| &self.more[at]) else { return &self.first };
        if spare.link.current().is_some_and(|live| live.is_usable()) {
            return &spare.link;
        }
        if self.first.current().is_some_and(|live| live.is_busy()) {
            spare.prepare();
        }
        &self.first
    }

    pub(super) fn close(&self) {
        self.more.iter().for_each(|spare| spare.link.close());
        self.first.close();
    }
}

impl Spare {
    /// Opens it in the background.
    fn prepare(&self) {
        let (now, mut next_try) = (self.link.now(), lock(&self.next_try));
        if now >= *next_try {
            *next_try = now + RETRY_PAUSE;
            self.link.prepare();
        }
    }
}
