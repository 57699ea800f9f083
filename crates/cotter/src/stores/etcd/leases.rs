//! The leases of this process: one for each length in seconds, kept alive once for all claims of that length.
//!
//! # What proves a lease
//! The lease lasts for its ttl after the *sending* of a keepalive that the leader has answered. A member that was the leader
//! until a moment ago, and does not know better yet, answers too, and what it extends does not count. So a read follows each
//! keepalive, on the same connection: only a majority can answer it, and if both answers are of one term, the member that
//! has extended the lease was the leader when it did.
//!
//! # A lease for each term
//! A former leader is dangerous even if nobody believes what it answers. It remembers the end of each lease as it knew it. If
//! that has passed when it goes on after a long stop, it asks for the lease to be revoked before it learns that it leads no
//! more, and its successor carries that out, whatever has been answered since. So a lease is proved only in the term in
//! which it was granted. Then its end is not earlier for any leader than it was proved here: leaders of earlier terms never
//! had it, that of its own term has extended it, and those of later terms begin it anew. In the next term the process gets
//! another lease and moves its entries to it (`moving`). Until an entry was moved, its holder has what was proved before.
//!
//! The term of a lease is the one that the member knew *before* it was asked for the lease. The lease may be of a later one;
//! then it is never proved again, and replaced as well. This takes a connection that leads to one member.
//!
//! # Requests in doubt
//! A put whose answer never came may be carried out at any time later, as long as its lease lives, and here a lease lives as
//! long as the process. So each put depends on the version of a key that counts the doubts about its lease. Whoever releases
//! a claim whose put is in doubt increments it: after that, no put that was sent before can succeed.

use super::SCHEME;
use super::connection::Link;
use super::errors::{Failure, unexpected};
use super::messages::{
    Header, LeaseGrantRequest, LeaseGrantResponse, LeaseKeepAliveRequest, LeaseKeepAliveResponse,
    LeaseRevokeRequest, LeaseRevokeResponse, RangeRequest, RangeResponse,
};
use super::names::Keys;
use super::patience::Patience;
use crate::backend::flight::Flight;
use crate::sync::lock;
use crate::{Error, ErrorKind, Moment, Result};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The leases, by their length in seconds.
pub(super) struct Leases {
    link: Arc<Link>,
    keys: Arc<Keys>,
    /// How long that of those who wait is.
    patience: Patience,
    classes: Mutex<BTreeMap<u64, Class>>,
    /// How often puts of each lease were in doubt; 0 for leases that are not listed.
    doubts: Mutex<BTreeMap<i64, i64>>,
}

#[derive(Default)]
struct Class {
    proof: Option<Proof>,
    proving: Option<Flight<Proof>>,
    /// The lease of an earlier term. Entries are moved from it as soon as something is done about them.
    former: Option<i64>,
}

/// A lease that lives for `ttl` after `as_of`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Proof {
    pub(super) lease: i64,
    pub(super) as_of: Moment,
    pub(super) ttl: Duration,
    /// The term in which it was granted, as far as it is known.
    term: u64,
    /// The newest revision of the cluster that was seen with it; 0 for none.
    revision: i64,
}

/// How often a keepalive is repeated whose login has ended.
const TRIES: usize = 3;

/// Whole seconds, as the server counts leases.
pub(super) fn seconds(ttl: Duration) -> u64 {
    ttl.as_secs() + u64::from(ttl.subsec_nanos() > 0)
}

impl Leases {
    pub(super) fn new(link: Arc<Link>, keys: Arc<Keys>) -> Self {
        Self {
            link,
            keys,
            patience: Patience::default(),
            classes: Mutex::default(),
            doubts: Mutex::default(),
        }
    }

    /// Returns the lease of this length, proved no longer ago than a sixth of it.
    pub(super) async fn proved(self: &Arc<Self>, seconds: u64) -> Result<Proof> {
        self.proved_within(seconds, 6).await
    }

    /// The same, proved no longer ago than this part of it.
    pub(super) async fn proved_within(self: &Arc<Self>, seconds: u64, part: u32) -> Result<Proof> {
        let proving = {
            let mut classes = lock(&self.classes);
            let class = classes.entry(seconds).or_default();
            let now = self.link.now();
            if let Some(proof) = class.proof.filter(|proof| now.since(proof.as_of) < proof.ttl / part) {
                return Ok(proof);
            }
            let old = class.proof;
            class.proving.get_or_insert_with(|| Flight::new(self.clone().prove(seconds, old))).clone()
        };
        proving.land().await
    }

    /// The length of the lease of those who wait, in seconds.
    pub(super) fn of_waiters(&self) -> u64 {
        self.patience.seconds(self.link.now())
    }

    /// Somebody has lost its place, which had a lease of so many seconds.
    pub(super) fn was_too_short(&self, seconds: u64) {
        self.patience.was_too_short(seconds, self.link.now());
    }

    /// The end of the lease of this length as it was last proved.
    pub(super) fn proved_end(&self, seconds: u64) -> Moment {
        let classes = lock(&self.classes);
        let proof = classes.get(&seconds).and_then(|class| class.proof);
        proof.map_or(Moment::ZERO, |proof| proof.as_of + proof.ttl)
    }

    /// The length of a lease, if it is still known.
    pub(super) fn length_of(&self, lease: i64) -> Option<u64> {
        let classes = lock(&self.classes);
        let mut lengths = classes.iter().filter(|(_, class)| class.leases().any(|id| id == lease));
        lengths.next().map(|(seconds, _)| *seconds)
    }

    /// Forgets a lease that has ended.
    pub(super) fn forget(&self, lease: i64) {
        let mut classes = lock(&self.classes);
        let is_it = |class: &&mut Class| class.proof.is_some_and(|proof| proof.lease == lease);
        if let Some(class) = classes.values_mut().find(is_it) {
            class.proof = None;
            lock(&self.doubts).remove(&lease);
        }
    }

    /// Replaces a lease that lives on, as if its term were over. A move of an entry away from it may be carried out late, and must
    /// not find the entry on it once more.
    pub(super) fn leave(&self, lease: i64) {
        let mut classes = lock(&self.classes);
        let is_it = |class: &&mut Class| class.proof.is_some_and(|proof| proof.lease == lease);
        if let Some(class) = classes.values_mut().find(is_it) {
            (class.proof, class.former) = (None, Some(lease));
        }
    }

    /// Whether a lease was left while it was being proved.
    fn was_left(&self, seconds: u64, lease: i64) -> bool {
        lock(&self.classes).get(&seconds).is_some_and(|class| class.former == Some(lease))
    }

    pub(super) fn doubts(&self, lease: i64) -> i64 {
        lock(&self.doubts).get(&lease).copied().unwrap_or_default()
    }

    /// Records how often puts of a lease were in doubt. The number never goes back.
    pub(super) fn doubted(&self, lease: i64, times: i64) {
        let mut doubts = lock(&self.doubts);
        let known = doubts.entry(lease).or_default();
        *known = times.max(*known);
    }

    async fn prove(self: Arc<Self>, seconds: u64, old: Option<Proof>) -> Result<Proof> {
        let proved = match old.filter(|old| self.link.now() < old.as_of + old.ttl) {
            None => self.grant(seconds).await,
            Some(old) => match self.keep_alive(old).await {
                Ok(Some(proof)) if !self.was_left(seconds, proof.lease) => Ok(proof),
                Ok(_) => self.grant(seconds).await,
                Err(e) => Err(e),
            },
        };
        let mut classes = lock(&self.classes);
        let class = classes.entry(seconds).or_default();
        class.proving = None;
        if let Ok(proof) = &proved {
            let before = class.proof.replace(*proof).map(|before| before.lease);
            class.former = before.filter(|before| *before != proof.lease).or(class.former);
        }
        proved
    }

    async fn grant(&self, seconds: u64) -> Result<Proof> {
        let as_of = self.link.now();
        let ttl = i64::try_from(seconds).unwrap_or(i64::MAX);
        let question = LeaseGrantRequest { ttl };
        let (answer, term): (LeaseGrantResponse, _) =
            self.link.ask_in_term("/etcdserverpb.Lease/LeaseGrant", question).await?;
        if !answer.error.is_empty() || answer.ttl < ttl {
            return Err(unexpected("a lease shorter than requested"));
        }
        Ok(Proof { lease: answer.id, as_of, ttl: whole(answer.ttl), term, revision: 0 })
    }

    /// `None` if the lease has ended, or this is no longer the term in which it can be proved.
    async fn keep_alive(&self, old: Proof) -> Result<Option<Proof>> {
        for _ in 0..TRIES {
            let live = self.link.live().await?;
            let (as_of, id) = (self.link.now(), old.lease);
            let question = LeaseKeepAliveRequest { id };
            let answer: LeaseKeepAliveResponse =
                live.ask_once("/etcdserverpb.Lease/LeaseKeepAlive", question).await?;
            if answer.id != id {
                return Err(unexpected("a keepalive response for another lease"));
            }
            // A lease that has ended is no error, it has no time left.
            if answer.ttl <= 0 {
                return Ok(None);
            }
            let key = self.keys.doubt(id);
            let question = RangeRequest { key, keys_only: true, ..RangeRequest::default() };
            let read: Result<RangeResponse, Failure> = live.ask("/etcdserverpb.KV/Range", question).await;
            // The next connection has another login.
            if read.as_ref().is_err_and(Failure::is_stale_login) {
                continue;
            }
            let (kept, read) = (answer.header.unwrap_or_default(), read?.header.unwrap_or_default());
            live.has_reached(kept.raft_term.max(read.raft_term));
            let ttl = whole(answer.ttl).min(old.ttl);
            let proof = Proof { as_of, ttl, revision: read.revision, ..old };
            return Ok(Some(proof).filter(|_| old.is_proved_by(&kept, &read)));
        }
        let why = "the cluster keeps ending logins; try again";
        Err(Error::new(ErrorKind::Unavailable, why).with_backend(SCHEME))
    }

    /// Ends all leases, and with them whatever is left of their claims.
    pub(super) async fn end(&self) {
        let classes = std::mem::take(&mut *lock(&self.classes));
        let ids: Vec<_> = classes.values().flat_map(Class::leases).collect();
        for id in ids {
            let question = LeaseRevokeRequest { id };
            let revoked: Result<LeaseRevokeResponse, Failure> =
                self.link.ask("/etcdserverpb.Lease/LeaseRevoke", question).await;
            if revoked.is_err_and(|failure| !failure.is_lease_not_found()) {
                return;
            }
        }
    }
}

impl Class {
    fn leases(&self) -> impl Iterator<Item = i64> {
        [self.former, self.proof.map(|proof| proof.lease)].into_iter().flatten()
    }
}

impl Proof {
    /// Whether a keepalive and the read behind it are of the term in which the lease was granted, and of the cluster that has
    /// granted it: one that was put back to an older state has the lease too, and entries on it that have been removed.
    fn is_proved_by(&self, kept: &Header, read: &Header) -> bool {
        [kept.raft_term, read.raft_term] == [self.term; 2] && read.revision >= self.revision
    }
}

fn whole(seconds: i64) -> Duration {
    Duration::from_secs(u64::try_from(seconds).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_proved_in_its_own_term_and_by_its_own_cluster() {
        let of = |raft_term, revision| Header { raft_term, revision, ..Header::default() };
        let (as_of, ttl) = (Moment::ZERO, Duration::from_secs(2));
        let proof = Proof { lease: 1, as_of, ttl, term: 4, revision: 70 };
        assert!(proof.is_proved_by(&of(4, 71), &of(4, 71)));
        assert!(proof.is_proved_by(&of(4, 0), &of(4, 70)));
        // A former leader has answered; its successor; another term; an older state.
        for (kept, read) in [(4, 5), (3, 4), (5, 5), (3, 3), (0, 0)] {
            assert!(!proof.is_proved_by(&of(kept, 71), &of(read, 71)), "{kept}, {read}");
        }
        assert!(!proof.is_proved_by(&of(4, 71), &of(4, 69)));
    }
}
